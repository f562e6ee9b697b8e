"""What users write, and what they are told: through the same function that the stage runs."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bakeoff.config.run import as_tree, fitting_manifest, load
from bakeoff.errors import ConfigError
from bakeoff.records.manifest import Manifest, Shard, Split
from bakeoff.stages.render_config import render_config
from imports import ROOT

Render = Callable[..., Path]


def words(text: str) -> str:
    """A pattern for exactly this text; `…` stands for anything."""
    return re.escape(text).replace("…", ".*")


PARAMS = """\
data: {use: digits}
model: {use: ssd_small}
memory: {use: medium}
lr: {use: cosine}
optimizer: {use: adam}
train: {use: demo, steps: 400}
evaluate: {use: standard}
export: {use: saved_model}
track: {use: none}
seed: 0
"""


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """Render a variant of the shipped options with some lines of params.yaml or files of conf/ replaced."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "conf", "conf")
    Path("records").mkdir()
    shard = Shard("train-00000-of-00001", 600, 100, "00")
    split = Split(600, 600 * 176 * 176 * 3, 1, {"0": 600}, (shard,))
    Manifest("detection", tuple("0123456789"), {"train": split, "validation": split}).write(Path("records"))

    def run(lines: dict[str, str] | None = None, files: dict[str, str] | None = None, params: str = PARAMS) -> Path:
        for key, line in (lines or {}).items():
            params = re.sub(rf"^{key}:.*\n", line and f"{line}\n", params, flags=re.MULTILINE)
            if line and f"{line}\n" not in params:
                params += f"{line}\n"
        Path("params.yaml").write_text(params, encoding="utf-8")
        for name, text in (files or {}).items():
            Path(name).write_text(text, encoding="utf-8")
        render_config(Path("params.yaml"), Path("conf"), Path("records"), Path("out/run.yaml"))
        return Path("out/run.yaml")

    return run


def test_a_bare_name_means_the_option_as_it_stands(render: Render) -> None:
    mapping = render().read_text()
    assert render({"lr": "lr: cosine"}).read_text() == mapping


def test_a_value_in_params_wins_over_the_option(render: Render) -> None:
    run, _ = load(render({"lr": "lr: {use: cosine, peak: 0.5}"}))
    assert as_tree(run)["lr"]["peak"] == 0.5


def test_a_value_that_the_option_leaves_to_its_default_can_be_set(render: Render) -> None:
    run, _ = load(render({"model": "model: {use: ssd_small, loss: {focal_gamma: 1.5}}"}))
    assert as_tree(run)["model"]["loss"]["focal_gamma"] == 1.5


def test_an_option_can_build_on_another(render: Render) -> None:
    run, _ = load(render({"lr": "lr: {use: slow}"}, {"conf/lr/slow.yaml": "defaults: [cosine]\npeak: 0.0001\n"}))
    assert as_tree(run)["lr"] == {
        "kind": "cosine", "peak": 0.0001, "warmup_steps": 50, "hold_steps": 0, "total_steps": 400,
    }  # fmt: skip


def test_numbers_without_a_dot_before_the_exponent_are_numbers(render: Render) -> None:
    run, _ = load(render({"lr": "lr: {use: cosine, peak: 3e-4}"}))
    assert as_tree(run)["lr"]["peak"] == 3e-4


def test_epochs_become_steps(render: Render) -> None:
    lines = {"train": "train: {use: demo, steps: null, epochs: 2.5, batch_size: 32}", "lr": "lr: {use: constant}"}
    _, derived = load(render(lines))
    assert derived.steps == 47  # 2.5 * 600 / 32 = 46.9


def test_what_is_written_reads_back_as_the_same_variant(render: Render) -> None:
    path = render()
    run, _ = load(path)
    assert as_tree(run) == yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_written_variant_has_every_value_of_every_group(render: Render) -> None:
    """A default that is missing from run.yaml could change behind its back."""
    tree = yaml.safe_load(render().read_text(encoding="utf-8"))
    assert {"steps", "epochs", "deterministic", "augment"} <= set(tree["train"])
    assert set(tree["model"]["suppression"]) == {"min_score", "max_overlap", "max_detections"}
    assert tree["lr"]["total_steps"] == tree["derived"]["steps"] == 400


BROKEN = {
    "no such option": (
        {"lr": "lr: {use: cosin}"},
        "params.yaml: lr.use: no such option 'cosin' in conf/lr/; did you mean 'cosine'? "
        "one of: constant, cosine, exponential",
    ),
    "no such bare option": ({"memory": "memory: hihg"}, "params.yaml: memory.use: no such option 'hihg' …'high'?"),
    "option is a number": ({"lr": "lr: 3"}, "params.yaml: lr.use: no such option 3 in conf/lr/; one of: constant"),
    "path as option": ({"lr": "lr: ../model/ssd_small"}, "lr.use: no such option '../model/ssd_small'"),
    "no use": ({"lr": "lr: {peak: 1.0}"}, "params.yaml: lr.use: is missing; one of: constant, cosine, exponential"),
    "empty group": ({"lr": "lr:"}, "params.yaml: lr: is missing; one of: constant"),
    "missing group": ({"lr": ""}, "params.yaml: lr: is missing; one of: constant"),
    "no such group": ({"modle": "modle: {use: ssd_small}"}, "params.yaml: modle: no such key; did you mean 'model'?"),
    "no such key": (
        {"lr": "lr: {use: cosine, paek: 0.1}"},
        "params.yaml: lr.paek: no such key; did you mean 'peak'? one of: hold_steps, peak, total_steps, warmup_steps",
    ),
    "no such key below": (
        {"model": "model: {use: ssd_small, loss: {focal_gama: 1}}"},
        "params.yaml: model.loss.focal_gama: no such key; did you mean 'focal_gamma'?",
    ),
    "text for a number": ({"lr": "lr: {use: cosine, peak: high}"}, "params.yaml: lr.peak: must be a number, got 'high'"),
    "yes for a number": ({"lr": "lr: {use: cosine, peak: yes}"}, "lr.peak: must be a number, got True"),
    "nothing": ({"lr": "lr: {use: cosine, peak: }"}, "lr.peak: must be a number, got nothing"),
    "infinite": ({"lr": "lr: {use: cosine, peak: .inf}"}, "lr.peak: must be a number, got inf"),
    "not a number": ({"lr": "lr: {use: cosine, peak: .nan}"}, "lr.peak: must be a number, got nan"),
    "fraction of a step": ({"lr": "lr: {use: cosine, warmup_steps: 1.5}"}, "warmup_steps: must be a whole number, got 1.5"),
    "list for a number": ({"lr": "lr: {use: cosine, peak: [1]}"}, "lr.peak: must be a number, got [1]"),
    "mapping for a number": ({"lr": "lr: {use: cosine, peak: {a: 1}}"}, "lr.peak: must be a number, got {'a': 1}"),
    "number for a mapping": ({"model": "model: {use: ssd_small, loss: 3}"}, "model.loss: must be a mapping, got 3"),
    "wrong item": (
        {"model": "model: {use: ssd_small, anchors: {aspect_ratios: [1, wide]}}"},
        "params.yaml: model.anchors.aspect_ratios[1]: must be a number, got 'wide'",
    ),
    "no such choice": (
        {"evaluate": "evaluate: {use: standard, weights: last}"},
        "params.yaml: evaluate.weights: no such choice 'last'; …one of: best, final",
    ),
    "out of range": ({"lr": "lr: {use: cosine, peak: -1}"}, "params.yaml: lr.peak: must be above 0, got -1.0"),
    "steps and epochs": ({"train": "train: {use: demo, epochs: 3}"}, "train.steps: must be given, or else epochs, not both"),
    "neither": ({"train": "train: {use: demo, steps: null}"}, "train.steps: must be given, or else epochs, not both"),
    "warm-up beyond the end": (
        {"lr": "lr: {use: cosine, warmup_steps: 400}"},
        "conf/lr/cosine.yaml: lr.total_steps: must be above warm-up and hold, 400, got the run's 400 steps",
    ),
    "not a size": ({"memory": "memory: {use: low, budget: lots}"}, "memory.budget: must be a size such as 2GB…got 'lots'"),
    "budget too small": (
        {"memory": "memory: {use: low, budget: 500MB}"},
        "params.yaml: memory.budget: must be at least …MB for train.batch_size=8 (or a smaller batch), got '500MB'",
    ),
    "no seed": ({"seed": ""}, "params.yaml: seed: is missing; it must be a whole number"),
    "seed is a text": ({"seed": "seed: lucky"}, "params.yaml: seed: must be a whole number, got 'lucky'"),
    "negative seed": ({"seed": "seed: -1"}, "params.yaml: seed: must be between 0 and 2**31 - 1, got -1"),
    "another task's network": (
        {"model": "model: {use: cnn_small}"},
        "model: 'cnn_small' is for classification, the records are for detection; choose an option of kind ssd",
    ),
    "interpolation": ({"lr": "lr: {use: cosine, peak: '${nowhere.value}'}"}, "Interpolation key 'nowhere.value' not found"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_a_mistake_is_said_with_file_and_key_and_nothing_is_written(case: str, render: Render) -> None:
    lines, message = BROKEN[case]
    with pytest.raises(ConfigError, match=words(message)) as error:
        render(lines)
    assert "\n" not in str(error.value)
    assert not Path("out").exists()


BROKEN_FILES = {
    "not YAML": ({"conf/lr/cosine.yaml": "kind: cosine\npeak: [1\n"}, "conf/lr/cosine.yaml:3: not valid YAML"),
    "a tab": ({"conf/lr/cosine.yaml": "kind: cosine\n\tpeak: 1\n"}, "conf/lr/cosine.yaml:2: not valid YAML"),
    "a key twice": ({"conf/lr/cosine.yaml": "kind: cosine\npeak: 1\npeak: 2\n"}, "cosine.yaml:3: …'peak' is there twice"),
    "a list": ({"conf/lr/cosine.yaml": "- 1\n"}, "conf/lr/cosine.yaml: must be a mapping of keys to values, got a list"),
    "empty": ({"conf/lr/cosine.yaml": ""}, "conf/lr/cosine.yaml: must be a mapping of keys to values, got nothing"),
    "no kind": ({"conf/lr/cosine.yaml": "peak: 1\n"}, "conf/lr/cosine.yaml: lr.kind: is missing; one of: constant, cosine, exponential"),
    "wrong kind": ({"conf/lr/cosine.yaml": "kind: cosin\n"}, "conf/lr/cosine.yaml: lr.kind: …did you mean 'cosine'?"),
    "missing value": ({"conf/lr/cosine.yaml": "kind: cosine\n"}, "cosine.yaml: lr.peak: is missing; it must be a number"),
    "an object": ({"conf/lr/cosine.yaml": "!!python/object:os.system {}\n"}, "cosine.yaml:1: not valid YAML"),
    "no base": ({"conf/lr/cosine.yaml": "defaults: [cosinus]\nkind: cosine\npeak: 1\n"}, "conf: …lr/cosinus"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(BROKEN_FILES))
def test_a_mistake_in_a_file_is_said_with_its_line(case: str, render: Render) -> None:
    files, message = BROKEN_FILES[case]
    with pytest.raises(ConfigError, match=words(message)) as error:
        render(files=files)
    assert "\n" not in str(error.value)
    assert not Path("out").exists()


def test_all_mistakes_of_a_variant_come_in_one_go(render: Render) -> None:
    with pytest.raises(ConfigError) as error:
        render({"lr": "lr: {use: cosine, peak: -1}", "train": "train: {use: demo, steps: 0, bath_size: 3}"})
    assert [line.split(":")[1].strip() for line in str(error.value).splitlines()] == ["lr.peak", "train.bath_size"]


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_bytes(b"lr: \xff\n")
    with pytest.raises(ConfigError, match="params.yaml: not UTF-8 text, byte 4 cannot be read"):
        render_config(Path("params.yaml"), ROOT / "conf", Path("records"), Path("out"))


def test_a_hand_edited_run_yaml_is_checked_like_any_other(render: Render) -> None:
    path = render()
    path.write_text(path.read_text().replace("peak: 0.003", "peak: fast"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"out/run.yaml: lr.peak: must be a number, got 'fast'"):
        load(path)


def test_records_that_a_variant_was_not_rendered_for_are_refused(render: Render) -> None:
    _, derived = load(render())
    split = Split(4, 100, 1, {"a": 4}, (Shard("train-00000-of-00001", 4, 100, "00"),))
    Manifest("classification", ("a", "b"), {"train": split, "validation": split}).write(Path("records"))
    message = "was rendered for 10 classes and detection, records has 2 and classification; run `dvc repro`"
    with pytest.raises(ConfigError, match=message):
        fitting_manifest(Path("records"), derived)


def test_a_missing_run_yaml_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run.yaml: missing; run `dvc repro render_config`"):
        load(tmp_path / "run.yaml")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "conf").glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_every_option_that_is_shipped_parses(path: Path, render: Render) -> None:
    group, name = path.parent.name, path.stem
    lines = {group: f"{group}: {{use: {name}}}"}
    try:
        render(lines)
    except ConfigError as error:  # right in itself, for data of another task or for a run of another length
        assert re.search(r"is for (classification|video), the records are for detection|the run's 6 steps", str(error))
