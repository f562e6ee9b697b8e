"""First weights: what is loaded by layer name, what is skipped, what is refused."""

import json
from pathlib import Path

import h5py
import keras
import pytest

from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained import load_report
from bakeoff.learning.pretrained.load_report import in_words
from bakeoff.learning.pretrained.weight_source import origin_of
from support.first_weights import (
    BACKBONE,
    HEAD,
    SAVED,
    Famous,
    Small,
    firsts,
    numbered,
    own_checkpoint,
    start,
    whole_model,
)
from support.messages import missing_in


@pytest.mark.parametrize("name", SAVED)
def test_weights_load_by_layer_name(name: str, tmp_path: Path) -> None:
    SAVED[name](tmp_path / name, numbered(Small().build(3)))
    network, report = start(tmp_path / name)
    assert firsts(network) == {path: number for number, path in enumerate(BACKBONE + HEAD, start=1)}
    assert sorted(report["loaded"]) == sorted(BACKBONE + HEAD)
    assert (report["skipped"], report["left_random"], report["unused"]) == ([], [], [])


@pytest.mark.parametrize("name", SAVED)
def test_a_head_of_other_classes_is_skipped_and_said_with_both_shapes(name: str, tmp_path: Path) -> None:
    SAVED[name](tmp_path / name, numbered(Small().build(5)))
    network, report = start(tmp_path / name)
    assert firsts(network)["Conv1/kernel"] == 1.0 and firsts(network)["logits/kernel"] != 6.0
    assert report["skipped"] == [
        {"name": "logits/kernel", "here": [4, 3], "there": [4, 5]},
        {"name": "logits/bias", "here": [3], "there": [5]},
    ]
    loaded, skipped = in_words(report, Init(name))
    assert missing_in(loaded, (tmp_path / name).as_posix(), "5", "loaded") == []
    assert missing_in(skipped, "2 skipped", "logits/kernel [4, 3]", "[4, 5]", "logits/bias [3]", "[5]") == []


def test_only_what_is_named_is_loaded_and_statistics_come_along(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "one.weights.h5")
    network, report = start(tmp_path / "one.weights.h5", warm_start=("bn_Conv1/gamma",))
    assert sorted(report["loaded"]) == ["bn_Conv1/gamma", "bn_Conv1/moving_mean", "bn_Conv1/moving_variance"]
    assert firsts(network)["bn_Conv1/moving_variance"] == 5.0 and firsts(network)["Conv1/kernel"] != 1.0
    assert "Conv1/kernel" in report["left_random"] and len(report["unused"]) == 4
    left, unused = in_words(report, Init("one.weights.h5"))[1:]
    assert missing_in(left, "4 left random", "Conv1/kernel", "bn_Conv1/beta", "logits/kernel", "1 more") == []
    assert missing_in(unused, "4 not used", "bn_Conv1/1", "Conv1/0", "logits/0", "1 more") == []


def test_what_is_named_must_fit(tmp_path: Path) -> None:
    numbered(Small().build(5)).save_weights(tmp_path / "one.weights.h5")
    message = r"/one\.weights\.h5: logits/kernel .*\[4, 5\].*\[4, 3\].*train\.init\.warm_start"
    with pytest.raises(DataError, match=message):
        start(tmp_path / "one.weights.h5", warm_start=("head",))


def test_a_name_of_nothing_is_refused_with_the_nearest(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(ConfigError, match=r"^train\.init\.warm_start: .*'bakbone'.*'backbone'"):
        start(tmp_path / "one.weights.h5", warm_start=("bakbone",))


def test_weights_of_another_architecture_are_refused(tmp_path: Path) -> None:
    given = keras.Input((2,))
    keras.Model(given, keras.layers.Dense(2, name="other")(given)).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(DataError, match=r"/one\.weights\.h5: .*nothing that fits"):
        start(tmp_path / "one.weights.h5")


def test_a_head_that_happens_to_fit_makes_no_file_one_of_this_architecture(tmp_path: Path) -> None:
    """MobileNetV2 and EfficientNetV2-B0 both end in 1,280 channels and a layer called `logits`."""
    given = keras.Input((4,))
    keras.Model(given, keras.layers.Dense(3, name="logits")(given)).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(DataError, match=r"fits 0 of the 5 variables\b.*\bbackbone\b"):
        start(tmp_path / "one.weights.h5")
    assert start(tmp_path / "one.weights.h5", warm_start=("head",))[1]["loaded"] == HEAD


def test_a_layer_that_the_file_has_only_in_part_is_refused(tmp_path: Path) -> None:
    """As a file of Keras 2 lost its depthwise kernels, and a training went on with random ones."""
    whole_model(tmp_path / "one.h5", numbered(Small().build(3)))
    with h5py.File(tmp_path / "one.h5", "a") as file:
        file["model_weights/outer"].attrs["weight_names"] = [
            name for name in file["model_weights/outer"].attrs["weight_names"] if "bn_Conv1/beta" not in str(name)
        ]
    with pytest.raises(DataError, match=r"/one\.h5: holds no bn_Conv1/beta\b.*\b5\b.*backbone\b.*random"):
        start(tmp_path / "one.h5")
    with pytest.raises(DataError, match=r"/one\.h5: holds no bn_Conv1/beta\b.*train\.init\.warm_start"):
        start(tmp_path / "one.h5", warm_start=("bn_Conv1",))


def test_a_head_without_its_bias_is_refused(tmp_path: Path) -> None:
    network = Small().build(3)
    given = keras.Input((4,))
    head = keras.layers.Dense(3, use_bias=False, name="logits")
    layers = [*network.layers[:-1], keras.Model(given, head(given)).layers[-1]]
    keras.Sequential(layers).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(DataError, match=r"holds no logits/bias\b.*rest of the.*train\."):
        start(tmp_path / "one.weights.h5")


def test_a_variable_of_a_shared_layer_that_finds_no_place_is_refused(tmp_path: Path) -> None:
    image = keras.Input((8, 8, 3))
    x = keras.layers.Conv2D(4, 3, name="Conv1")(image)  # with a bias
    keras.Model(image, keras.layers.BatchNormalization(name="bn_Conv1")(x)).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(DataError, match=r"/one\.weights\.h5: holds Conv1/1\b.*no place"):
        start(tmp_path / "one.weights.h5")


def test_what_is_named_must_be_there(tmp_path: Path) -> None:
    given = keras.Input((8, 8, 3))
    keras.Model(given, keras.layers.Conv2D(4, 3, use_bias=False, name="Conv1")(given)).save_weights(
        tmp_path / "one.weights.h5"
    )
    message = r"/one\.weights\.h5: holds no bn_Conv1/gamma\b.*\b3 more\D+\b5\b.*train\.init\.warm_start"
    with pytest.raises(DataError, match=message):
        start(tmp_path / "one.weights.h5", warm_start=("backbone",))
    with pytest.raises(DataError, match=r"holds no bn_Conv1/gamma\b.*\b2 more\D+\b3\b.*train\.init"):
        start(tmp_path / "one.weights.h5", warm_start=("bn_Conv1/gamma",))  # its statistics are missing, too


def test_the_folder_of_a_run_means_its_best_weights(tmp_path: Path) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "best.weights.h5")
    Small().build(3).save_weights(tmp_path / "final.weights.h5")
    network, report = start(tmp_path)
    assert firsts(network)["Conv1/kernel"] == 1.0 and report["source"].endswith("/best.weights.h5")


def test_work_in_flight_means_the_best_weights_of_its_last_leg(tmp_path: Path) -> None:
    for leg, step in (("1-head", 300), ("2-whole", 500)):
        (tmp_path / leg).mkdir()
        own_checkpoint(tmp_path / leg / f"best-{step:08d}", Small().build(3))
    assert start(tmp_path)[1]["source"].endswith("/2-whole/best-00000500")


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no best\.weights\.h5, final\.weights\.h5\b.*TensorFlow checkpoint"):
        start(tmp_path)


def zoo_of(place: Path, *names: str) -> Path:
    folder = place / "data/weights/zoo/net"
    folder.mkdir(parents=True)
    for name in ("about.yaml", "config.json", *names):
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.mark.parametrize("name", ["w.h5", "net.ckpt", "dfine_n_coco.pth", "model.safetensors"])
def test_the_only_file_of_weights_in_a_folder_of_the_zoo_is_the_start(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = zoo_of(tmp_path, name)
    (folder / "kept.pth").mkdir()
    monkeypatch.chdir(tmp_path)
    assert origin_of(Init("zoo/net"), Path).path == Path("data/weights/zoo/net", name)


@pytest.mark.parametrize("names", [("a.pth", "b.pth"), ("a.h5", "model.safetensors"), ("a.ckpt", "b.h5", "c.pth")])
def test_of_several_files_of_weights_in_a_folder_one_must_be_named(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo_of(tmp_path, *names)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^train\.init\.weights: data/weights/zoo/net\b") as caught:
        origin_of(Init("zoo/net"), Path)
    assert missing_in(str(caught.value), *names) == []
    assert origin_of(Init(f"zoo/net/{names[0]}"), Path).path == Path("data/weights/zoo/net", names[0])


def test_the_id_of_an_mlflow_run_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered(Small().build(3)).save_weights(tmp_path / "best.weights.h5")
    asked: list[str] = []

    def fetch(run_id: str) -> Path:
        asked.append(run_id)
        return tmp_path / "best.weights.h5"

    origin = origin_of(Init("0f" * 16), fetch)
    assert asked == ["0f" * 16] and origin.path == tmp_path / "best.weights.h5"


def test_a_path_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^train\.init\.weights: .*none, imagenet, .*'modls/train'"):
        start("modls/train")


def test_other_content_is_another_origin(tmp_path: Path) -> None:
    digests = set()
    for content in (b"one", b"two"):
        (tmp_path / "w.h5").write_bytes(content)
        digests.add(origin_of(Init(str(tmp_path / "w.h5")), Path).digest)
    assert len(digests | {origin_of(Init("none"), Path).digest, origin_of(Init("imagenet"), Path).digest}) == 4


def test_random_weights_are_all_left_random_and_nothing_is_said() -> None:
    _, report = start("none")
    assert report["left_random"] == BACKBONE + HEAD and in_words(report, Init()) == []
    [printed] = in_words(report, Init(meant="weights of COCO"))
    assert missing_in(printed, "random", "weights of COCO", "train.init.weights") == []


# ImageNet.


def test_imagenet_weights_load_by_layer_name() -> None:
    network, report = start("imagenet", model=Famous())
    assert sorted(report["loaded"]) == sorted(BACKBONE) and firsts(network)["bn_Conv1/moving_mean"] == 4.0


def test_without_a_network_connection_imagenet_says_so() -> None:
    with pytest.raises(DataError, match=r"^train\.init\.weights: ImageNet.*\(URL fetch failure\)"):
        start("imagenet", model=Famous(failure="URL fetch failure"))


def test_a_network_that_keras_has_no_weights_of_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"must not be imagenet\b.*Small$"):
        start("imagenet")


def test_a_report_is_kept(tmp_path: Path) -> None:
    load_report.write_report({"source": "none", "loaded": []}, tmp_path)
    assert json.loads((tmp_path / "init.json").read_text()) == {"source": "none", "loaded": []}
