"""Files of torch: the same tensors, and nothing but tensors."""

import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.yolox import Yolox
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.torch_files import OLD_START, read_tensors
from bakeoff.learning.pretrained.weight_files import open_weights
from bakeoff.learning.pretrained.weight_source import origin_of
from support.messages import missing_in
from support.torch_archives import change_member, write_torch, yolox_arrays

NANO = Yolox(input_size=32, width=0.0625, depth=0.1)
DRAW = np.random.default_rng(3)


def load(network: keras.Model, path: Path, *warm_start: str) -> dict[str, Any]:
    init = Init(str(path), warm_start=warm_start)
    return load_first_weights(network, NANO, init, origin_of(init, Path))


def test_every_tensor_has_its_place_and_its_axes(tmp_path: Path) -> None:
    network = NANO.build(3)
    arrays = yolox_arrays(network)
    write_torch(tmp_path / "net.pth", arrays, {"curr_ap": np.float64(0.25)})
    report = load(network, tmp_path / "net.pth")
    assert (report["left_random"], report["skipped"], report["unused"]) == ([], [], [])
    read = {weight.path: weight.numpy() for weight in network.weights}
    depthwise, ordinary = "backbone.backbone.dark2.0.dconv.conv", "head.cls_preds.1"
    np.testing.assert_array_equal(read[f"{depthwise}/kernel"][1, 2, :, 0], arrays[f"{depthwise}.weight"][:, 0, 1, 2])
    np.testing.assert_array_equal(read[f"{ordinary}/kernel"][0, 0], arrays[f"{ordinary}.weight"][:, :, 0, 0].T)
    norm = "backbone.backbone.stem.conv.bn"
    np.testing.assert_array_equal(read[f"{norm}/moving_variance"], arrays[f"{norm}.running_var"])


def test_the_first_convolution_sees_the_pixels_that_its_four_parts_see(tmp_path: Path) -> None:
    """YOLOX' own first layer by hand: every second pixel in channels of its own, blue first, then 3 x 3."""
    network = NANO.build(3)
    arrays = yolox_arrays(network)
    write_torch(tmp_path / "net.pth", arrays)
    load(network, tmp_path / "net.pth")
    image = DRAW.uniform(0, 255, (1, 32, 32, 3)).astype(np.float32)
    first = "backbone.backbone.stem.conv.conv"
    seen = keras.Model(network.input, network.get_layer(first).output)(image).numpy()[0]
    colours = image[0, ..., ::-1].transpose(2, 0, 1)
    parts = [colours[:, y::2, x::2] for y, x in ((0, 0), (1, 0), (0, 1), (1, 1))]
    padded = np.pad(np.concatenate(parts), ((0, 0), (1, 1), (1, 1)))
    kernel = arrays[f"{first}.weight"]
    for row, column in ((0, 0), (7, 3), (15, 15)):
        wanted = (kernel * padded[:, row : row + 3, column : column + 3]).sum(axis=(1, 2, 3))
        np.testing.assert_allclose(seen[row, column], wanted, rtol=1e-4, atol=1e-2)


def test_of_a_file_with_averaged_weights_these_are_read(tmp_path: Path) -> None:
    last, average = ({"layer.weight": np.full((2, 3), value, np.float32)} for value in (1, 2))
    write_torch(tmp_path / "net.pth", last, average=average)
    np.testing.assert_array_equal(read_tensors(tmp_path / "net.pth")["layer.weight"][1](), average["layer.weight"])


def test_half_precision_and_parts_of_a_storage_are_read(tmp_path: Path) -> None:
    whole = DRAW.normal(size=(4, 6)).astype(np.float32)
    write_torch(tmp_path / "net.pth", {"a.weight": whole.astype("<f2"), "b.weight": whole.T})
    with open_weights(tmp_path / "net.pth") as layers:
        half, turned = layers["a"]["kernel"].read(), layers["b"]["kernel"].read()
    assert half.dtype == np.float32 and (half == whole.astype(np.float16).astype(np.float32).T).all()
    assert turned.shape == (4, 6) and (turned == whole).all()


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("ran",)


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def other_program(program: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", program)

    return change


def shorter_numbers(path: Path) -> None:
    change_member(path, "/0", lambda content: content[:-4])


def huge_shape(path: Path) -> None:
    change_member(path, "data.pkl", lambda content: content.replace(b"K\x04K\x06\x86", b"K\xffK\xff\x86", 1))


HOSTILE: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "code": (other_program(pickle.dumps({"model": Evil()}, protocol=2)), ("mkdir", "no tensor", "state_dict")),
    "code of a newer protocol": (other_program(pickle.dumps(Evil(), protocol=4)), ("mkdir", "no tensor")),
    "an object": (other_program(pickle.dumps({"model": Path("x")}, protocol=2)), ("pathlib", "no tensor")),
    "a place beyond memory": (other_program(b"\x80\x02}r\xff\xff\xff\xff."), ("no tensors by name",)),
    "no end": (other_program(b"\x80\x02}q\x00"), ("cannot be read",)),
    "an empty stack": (other_program(b"\x80\x02\x85."), ("cannot be read",)),
    "no dict": (other_program(b"\x80\x02]."), ("no dict of weights",)),
    "half of a file": (cut, ("cannot be read",)),
    "numbers that are cut": (shorter_numbers, ("a.weight", "92 bytes", "cut")),
    "a shape of more numbers": (huge_shape, ("a.weight", "more numbers than there are")),
    "a file of an old torch": (lambda path: path.write_bytes(OLD_START + bytes(64)), ("before 1.6",)),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_file_of_tensors_is_one_line_and_nothing_runs(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, (spoil, parts) = tmp_path / "net.pth", HOSTILE[case]
    write_torch(path, {"a.weight": np.zeros((4, 6), np.float32)})
    assert list(read_tensors(path)) == ["a.weight"]
    spoil(path)
    with pytest.raises(DataError) as raised, open_weights(path):
        pass
    assert missing_in(str(raised.value), "net.pth", *parts) == [] and "\n" not in str(raised.value)
    assert not Path("ran").exists()


def test_another_network_and_numbers_that_are_none_are_named(tmp_path: Path) -> None:
    network = NANO.build(3)
    write_torch(tmp_path / "other.pth", {"layer1.0.conv1.weight": np.zeros((8, 3, 3, 3), np.float32)})
    with pytest.raises(DataError, match=r"other\.pth: holds nothing that fits this network"):
        load(network, tmp_path / "other.pth")
    arrays = yolox_arrays(network)
    arrays["head.stems.0.bn.weight"][1] = np.nan
    write_torch(tmp_path / "nan.pth", arrays)
    with pytest.raises(DataError, match=r"head\.stems\.0\.bn/gamma .*not finite"):
        load(network, tmp_path / "nan.pth")


def test_other_classes_keep_all_but_the_last_layer_of_classes(tmp_path: Path) -> None:
    arrays = yolox_arrays(NANO.build(3))
    write_torch(tmp_path / "net.pth", arrays)
    report = load(NANO.build(5), tmp_path / "net.pth")
    assert {one["name"].rpartition(".")[0] for one in report["skipped"]} == {"head.cls_preds"}
    assert report["left_random"] == []
