"""`bakeoff import-config`: files of conf/ that compose, and nothing overwritten."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bakeoff.app.cli import parse
from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.variant import parse_variant
from bakeoff.config.compose.whole_run import Run
from bakeoff.foundation.errors import ConfigError
from bakeoff.importing.api_config.options import list_differences
from support.imports import ROOT
from support.messages import missing_in

FILES = Path(__file__).parent / "files"
TF2 = FILES / "tf2.config"
PARAMS = "experiment: NAME\ndata: {use: digits}\nseed: 0\n"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*typed: str) -> None:
    parse(["import-config", *typed]).run()


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.yaml")}


def test_the_options_of_a_file_compose_to_its_variant(workspace: Path, variant: Callable[..., Run]) -> None:
    run(str(TF2), "--name", "coco")
    preset = "# @package _global_\n# "
    assert (workspace / "conf/experiment/coco.yaml").read_text().startswith(preset)
    others = "".join(f"{group}: {option}\n" for group, option in OTHERS.items())
    Path("params.yaml").write_text(PARAMS.replace("NAME", "coco") + others)
    composed = compose(Path("params.yaml"), Path("conf"))
    draft = parse_variant(composed.tree, composed.problems)
    composed.problems.raise_any()
    assert draft.variant["model"] == draft.variant["lr"] == "coco"
    assert draft.model == variant(model="ssd_mobilenet_v2_fpnlite_320").model
    assert draft.train is not None and (draft.train.batch_size, draft.train.steps) == (128, 50000)
    assert draft.lr is not None and draft.lr.over(50000, steps_per_epoch=10)(1000) == pytest.approx(0.08)


OTHERS = {"memory": "medium", "evaluate": "standard", "export": "saved_model", "track": "none"}


def test_ways_to_crop_are_in_the_option_each_with_what_is_not_the_default(workspace: Path) -> None:
    text = TF2.with_name("tf1.config").read_text()
    crop = "ssd_random_crop { operations { min_area: 0.5 max_area: 1 min_aspect_ratio: 0.75 max_aspect_ratio: 1.33 } }"
    Path("mine.config").write_text(text.replace("ssd_random_crop { }", crop))
    run("mine.config", "--name", "mine")
    way = {"min_object_covered": 0.0, "min_area": 0.5, "min_seen": 0.0, "when_empty": "keep"}
    assert yaml.safe_load(Path("conf/train/mine.yaml").read_text())["augment"] == {
        "crop": {"kind": "ssd", "ways": [way]},
        "turn": {"mirror": 0.5},
    }


def test_pictures_of_the_evaluation_become_an_option_where_they_are_not_the_usual(workspace: Path) -> None:
    text = TF2.read_text()
    Path("usual.config").write_text(text.replace("eval_config: {", "eval_config: { num_visualizations: 12"))
    run("usual.config")
    assert not Path("conf/evaluate/usual.yaml").exists()
    more = "eval_config: { num_visualizations: 30 min_score_threshold: 0.25"
    Path("more.config").write_text(text.replace("eval_config: {", more))
    run("more.config")
    assert yaml.safe_load(Path("conf/evaluate/more.yaml").read_text()) == {"pictures": 30, "picture_min_score": 0.25}
    assert "  - override /evaluate: more\n" in Path("conf/experiment/more.yaml").read_text()


def test_the_nearest_network_is_taken_where_that_is_wanted(workspace: Path) -> None:
    Path("large.config").write_text(TF2.read_text().replace("ssd_mobilenet_v2_fpn_keras", "ssd_resnet101_v2_fpn_keras"))
    before = files(workspace)
    with pytest.raises(ConfigError, match=r"large\.config:\d+: .*nearest .*'ssd_resnet50_v1_fpn_keras'.*--nearest"):
        run("large.config")
    assert files(workspace) == before
    run("large.config", "--nearest")
    assert yaml.safe_load(Path("conf/model/large.yaml").read_text())["backbone"] == {"name": "resnet50"}


@pytest.mark.parametrize(("file", "memory"), [("tf1", "mine"), ("tf2", "high")])
def test_options_say_only_what_is_not_the_default(file: str, memory: str, workspace: Path) -> None:
    """And the preset names an option of each group; where the file says nothing of one, a shipped option."""
    run(str(FILES / f"{file}.config"), "--name", "mine")
    expected = yaml.safe_load((FILES / f"{file}.yaml").read_text())
    written = {path.parent.name: path.read_text() for path in Path("conf").glob("*/mine.yaml")}
    preset = written.pop("experiment")
    assert {group: yaml.safe_load(text) for group, text in written.items()} == expected
    head = f"# From {file}.config, by `bakeoff import-config`.\n"
    assert all(text.startswith(head) for text in written.values())
    assert f"  - override /memory: {memory}\n" in preset


def test_what_was_written_and_what_was_lost_is_said(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(str(TF2), "--name", "coco")
    output = capsys.readouterr().out.splitlines()
    assert output[0].startswith("tf2.config:") and "not carried over" in output[0]
    assert output[-6].startswith(f"{len(output) - 6} lines ")
    assert output[-5:] == [
        f"written: conf/{group}/coco.yaml" for group in ("model", "lr", "optimizer", "train", "experiment")
    ]


def test_nothing_is_overwritten_unless_forced(workspace: Path) -> None:
    Path("conf/lr/mine.yaml").write_text("# by hand\n")
    before = files(workspace)
    with pytest.raises(ConfigError, match=r"conf/lr/mine\.yaml: .*already.*--name.*--force"):
        run(str(TF2), "--name", "mine")
    assert files(workspace) == before
    run(str(TF2), "--name", "mine", "--force")
    assert yaml.safe_load(Path("conf/lr/mine.yaml").read_text())["kind"] == "cosine"


def test_a_file_with_a_mistake_writes_nothing(workspace: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.config"
    wrong.write_text(TF2.read_text().replace("num_steps: 50000", "num_steps: -5"))
    before = files(workspace)
    with pytest.raises(ConfigError, match=r"wrong.config:\d+:\d+: train_config.num_steps: .*whole number.*-5"):
        run(str(wrong))
    assert files(workspace) == before


def test_values_that_this_project_forbids_are_refused_at_once(workspace: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.config"
    text = TF2.read_text().replace("gamma: 2.0", "gamma: -2").replace("batch_size: 128", "batch_size: 0")
    wrong.write_text(text)
    with pytest.raises(ConfigError) as refused:
        run(str(wrong))
    gamma, size = str(refused.value).splitlines()
    assert missing_in(gamma, "wrong.config: model.loss.focal_gamma: ", "0", "-2.0") == []
    assert missing_in(size, "wrong.config: train.batch_size: ", "1", "auto", "0") == []


@pytest.mark.parametrize(
    "place, name",
    [
        ("ssd_mobilenet_v2_320x320_coco17_tpu-8.config", "ssd_mobilenet_v2_320x320_coco17_tpu-8"),
        ("my model (2).config", "my_model_2"),
        ("2022_v3.config", "imported_2022_v3"),
        ("fpnlite/pipeline.config", "fpnlite"),
    ],
)
def test_options_are_named_after_the_file_or_its_folder(place: str, name: str, workspace: Path) -> None:
    path = workspace / place
    path.parent.mkdir(exist_ok=True)
    shutil.copy(TF2, path)
    run(place)
    assert Path(f"conf/experiment/{name}.yaml").is_file()


@pytest.mark.parametrize("name", ["../lr", "", "1", "a b", "a.yaml", "preset"])
def test_a_name_that_is_no_option_is_refused(name: str, workspace: Path) -> None:
    with pytest.raises(ConfigError, match=rf"--name: .*- and _.*'preset'.*{re.escape(repr(name))}"):
        run(str(TF2), "--name", name)


def test_a_file_name_cannot_put_words_into_an_option(workspace: Path) -> None:
    path = workspace / "a\nmodel: evil\n.config"
    shutil.copy(TF2, path)
    run(str(path), "--name", "tame")
    assert yaml.safe_load(Path("conf/lr/tame.yaml").read_text()).keys() == {
        "kind",
        "peak",
        "warmup_steps",
        "warmup_from",
    }
    assert Path("conf/lr/tame.yaml").read_text().startswith("# From a?model: evil?.config, by")


def test_a_file_that_is_not_there_is_reported(workspace: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.config: .*No such file"):
        run("nowhere.config")
    with pytest.raises(ConfigError, match="conf: .*Is a directory"):
        run("conf")


def test_a_file_without_a_length_has_no_end(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "open.config"
    path.write_text(
        "model { ssd { feature_extractor { type: 'ssd_mobilenet_v2_keras' } } } train_config { optimizer { use_moving_average: false momentum_optimizer { "
        "learning_rate { constant_learning_rate { learning_rate: 0.1 } } } } }"
    )
    run(str(path))
    assert yaml.safe_load(Path("conf/train/open.yaml").read_text()) == {
        "batch_size": 32,
        "steps": "unlimited",
    }


def test_settings_that_hold_settings_are_told_from_their_defaults(variant: Callable[..., Run]) -> None:
    model = {"kind": "ssd_fpn", "input_size": 320, "mining": {}}
    assert list_differences(variant(model=model).model) == {"input_size": 320, "mining": {}}
