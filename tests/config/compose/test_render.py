"""What users write, and what they are told: through the same function that the stage runs."""

import dataclasses
import itertools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.data_source import choose_source
from bakeoff.config.compose.variant import parse_variant, read_variant
from bakeoff.config.compose.whole_run import as_tree, load
from bakeoff.dataset.records.manifest import BoxTable, Manifest, Shard, Split, read_manifest
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.plan.phases import plan_phases
from bakeoff.learning.run_file.parse import flat
from bakeoff.learning.run_file.read_write import fitting_manifest
from bakeoff.stages.render_config import render_config
from support.imports import ROOT
from support.messages import missing_in

Render = Callable[..., Path]


def words(text: str) -> str:
    """A pattern for exactly this text; `…` stands for anything but more digits of a number."""
    pattern = re.sub(r"\.\*(?=\d)", r".*(?<!\\d)", re.escape(text).replace("…", ".*"))
    return re.sub(r"(?<=\d)(?=\.\*|$)", r"(?!\\d)", pattern)


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
BOXES = np.array([[0.2, 0.3, 0.45, 0.48], [0.1, 0.1, 0.4, 0.3]], np.float32)


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is known of networks, told once for all tests."""
    return tmp_path_factory.mktemp("facts")


def write_records(
    folder: Path,
    task: str = "detection",
    examples: int = 600,
    boxes: np.ndarray = BOXES,
    *,
    multi_label: bool = False,
    kinds: int = 1,
) -> None:
    folder.mkdir(exist_ok=True)
    counts = {str(number): examples for number in range(kinds)}
    split = Split(examples, examples * 176 * 176 * 3, 1, counts, (Shard("train-00000-of-00001", examples, 1, "0"),))
    sha256 = None
    if task == "detection":
        with BoxTable(folder) as table:
            table.add_rows(boxes)
        sha256 = table.sha256()
    Manifest(task, tuple("0123456789"), {"train": split, "validation": split}, multi_label, sha256).write(folder)


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: Path) -> Render:
    """Render a variant of the shipped options with some lines of params.yaml or files of conf/ replaced."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "conf", "conf")
    write_records(Path("records"))
    for file in ("data/weights/w.h5", "elsewhere/w.h5", "data/raw/photos/1.jpg", "elsewhere/photos/1.jpg"):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    Path("data/raw/linked").symlink_to(tmp_path / "elsewhere/photos")
    Path("data/weights/linked.h5").symlink_to(tmp_path / "elsewhere/w.h5")  # as DVC makes it with cache.type symlink

    def run(lines: dict[str, str] | None = None, files: dict[str, str] | None = None, params: str = PARAMS) -> Path:
        for key, line in (lines or {}).items():
            params = re.sub(rf"^{key}:.*\n", line and f"{line}\n", params, flags=re.MULTILINE)
            if line and f"{line}\n" not in params:
                params += f"{line}\n"
        Path("params.yaml").write_text(params, encoding="utf-8")
        for name, text in (files or {}).items():
            Path(name).write_text(text, encoding="utf-8")
        render_config(Path("params.yaml"), Path("conf"), Path("records"), Path("out/run.yaml"), facts=facts)
        return Path("out/run.yaml")

    return run


def test_a_bare_name_means_the_option_as_it_stands(render: Render) -> None:
    mapping = render().read_text()
    assert render({"lr": "lr: cosine"}).read_text() == mapping


VALUES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {  # lines of params.yaml -> values of run.yaml
    "a value in params wins over the option": ({"lr": "lr: {use: cosine, peak: 0.5}"}, {"lr.peak": 0.5}),
    "a value that the option leaves to its default can be set": (
        {"model": "model: {use: ssd_small, loss: {focal_gamma: 1.5}}"}, {"model.loss.focal_gamma": 1.5},
    ),
    "an option can build on another": (
        {"lr": "lr: {use: slow}"},
        {"lr.kind": "cosine", "lr.peak": 0.0001, "lr.warmup_steps": 10, "lr.total_steps": 400},
    ),
    "a number without a dot before the exponent": ({"lr": "lr: {use: cosine, peak: 3e-4}"}, {"lr.peak": 3e-4}),
    "epochs become steps": (  # 2.5 * 600 / 32 = 46.9
        {"train": "train: {use: demo, steps: null, epochs: 2.5, batch_size: 32}", "lr": "lr: {use: constant}"},
        {"derived.steps": 47},
    ),
    "epochs take the place of an option's steps": (
        {"train": "train: {use: demo, epochs: 2.5, batch_size: 32}"},
        {"train.steps": None, "train.epochs": 2.5, "derived.steps": 47},
    ),
    "a small network has one thread in an operation": ({}, {"train.threads": "auto", "derived.threads": 1}),
    "a large batch has one for each core": (
        {"train": "train: {use: demo, steps: 400, batch_size: 64}"}, {"derived.threads": None},
    ),
    "threads in an operation can be stated": (
        {"train": "train: {use: demo, steps: 400, threads: 3}"}, {"derived.threads": 3},
    ),
    "phases without a length share the run's steps": (
        {"train": "train: {use: demo, steps: 100, phases: [{name: a}, {name: b}, {name: c}]}", "lr": "lr: constant"},
        {f"derived.phases[{place}].steps": steps for place, steps in enumerate((33, 33, 34))},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), VALUES.values(), ids=list(VALUES))
def test_run_yaml_has_the_values_that_params_ask_for(
    lines: dict[str, str], expected: dict[str, Any], render: Render
) -> None:
    rendered = flat(as_tree(load(render(lines, {"conf/lr/slow.yaml": "defaults: [cosine]\npeak: 0.0001\n"}))))
    assert {key: rendered[key] for key in expected} == expected


@pytest.mark.parametrize("steps, warmup", [(6, 0), (30, 0), (40, 1), (2000, 50)])
@pytest.mark.parametrize("option", ["cosine", "exponential", "polynomial"])
def test_an_option_warms_up_for_a_fortieth_of_a_run_of_any_length(
    render: Render, option: str, steps: int, warmup: int
) -> None:
    run = load(render({"lr": f"lr: {option}", "train": f"train: {{use: smoke, steps: {steps}}}"}))
    assert as_tree(run)["lr"]["warmup_steps"] == warmup


def test_a_share_of_the_training_set_is_what_an_epoch_is(render: Render) -> None:
    run = load(render({"train": "train: {use: demo, epochs: 4, batch_size: 16, share: 0.25}"}))
    assert (run.derived.train_examples, run.derived.left_out_examples, run.derived.validation_examples) == (
        150,
        450,
        600,
    )
    assert run.derived.steps == 38  # 4 * 150 / 16 = 37.5
    fitting_manifest(Path("records"), run.derived)


def test_what_is_written_reads_back_as_the_same_variant(render: Render) -> None:
    path = render()
    run = load(path)
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert len(tree.pop("digest")) == 64
    assert as_tree(run) == tree


def test_the_written_variant_has_every_value_of_every_group(render: Render) -> None:
    """A default that is missing from run.yaml could change behind its back."""
    tree = yaml.safe_load(render().read_text(encoding="utf-8"))
    assert {"steps", "epochs", "deterministic", "augment"} <= set(tree["train"])
    assert {"min_score", "max_overlap", "max_detections"} <= set(tree["model"]["suppression"])
    assert tree["lr"]["total_steps"] == tree["derived"]["steps"] == 400


BROKEN = {
    "no such option": (
        {"lr": "lr: {use: cosin}"},
        "params.yaml:4: lr.use: …'cosin' …conf/lr/…'cosine'…constant, cosine, ",
    ),
    "no such bare option": ({"memory": "memory: hihg"}, "params.yaml:3: memory.use: …'hihg' …'high'"),
    "option is a number": ({"lr": "lr: 3"}, "params.yaml:4: lr.use: …option 3 …conf/lr/…constant"),
    "path as option": ({"lr": "lr: ../model/ssd_small"}, "params.yaml:4: lr.use: …'../model/ssd_small'"),
    "no use": ({"lr": "lr: {peak: 1.0}"}, "params.yaml:4: lr.use: …missing…constant, cosine, cosine_short"),
    "empty group": ({"lr": "lr:"}, "params.yaml:4: lr: …missing…constant"),
    "missing group": ({"lr": ""}, "params.yaml: lr: …missing…constant"),
    "no such group": ({"modle": "modle: {use: ssd_small}"}, "params.yaml:11: modle: …'model'"),
    "no such key": (
        {"lr": "lr: {use: cosine, paek: 0.1}"},
        "params.yaml:4: lr.paek: …'peak'…hold_steps, peak, scale_with_batch, total_steps, warmup_from, warmup_steps",
    ),
    "no such key below": (
        {"model": "model: {use: ssd_small, loss: {focal_gama: 1}}"},
        "params.yaml:2: model.loss.focal_gama: …'focal_gamma'",
    ),
    "text for a number": ({"lr": "lr: {use: cosine, peak: high}"}, "params.yaml:4: lr.peak: …number…'high'"),
    "true for a number": ({"lr": "lr: {use: cosine, peak: true}"}, "params.yaml:4: lr.peak: …number…True"),
    "nothing": ({"lr": "lr: {use: cosine, peak: }"}, "params.yaml:4: lr.peak: …number…nothing"),
    "infinite": ({"lr": "lr: {use: cosine, peak: .inf}"}, "params.yaml:4: lr.peak: …number…inf"),
    "not a number": ({"lr": "lr: {use: cosine, peak: .nan}"}, "params.yaml:4: lr.peak: …number…nan"),
    "fraction of a step": (
        {"lr": "lr: {use: cosine, warmup_steps: 1.5}"}, "params.yaml:4: lr.warmup_steps: …whole…1.5",
    ),
    "list for a number": ({"lr": "lr: {use: cosine, peak: [1]}"}, "params.yaml:4: lr.peak: …number…[1]"),
    "mapping for a number": ({"lr": "lr: {use: cosine, peak: {a: 1}}"}, "4: lr.peak: …number…{'a': 1}"),
    "number for a mapping": ({"model": "model: {use: ssd_small, loss: 3}"}, "2: model.loss: …mapping…3"),
    "wrong item": (
        {"model": "model: {use: ssd_small, anchors: {aspect_ratios: [1, wide]}}"},
        "params.yaml:2: model.anchors.aspect_ratios[1]: …number…'wide'",
    ),
    "no such choice": (
        {"evaluate": "evaluate: {use: standard, weights: last}"},
        "params.yaml:7: evaluate.weights: …'last'…best, final",
    ),
    "neither a number nor all": (
        {"train": "train: {use: demo, steps: 400, devices: both}"},
        "params.yaml:6: train.devices: …number…all, gpu, cpu…'both'",
    ),
    "out of range": ({"lr": "lr: {use: cosine, peak: -1}"}, "params.yaml:4: lr.peak: …0…-1.0"),
    "steps and epochs": (
        {"train": "train: {use: demo, steps: 30, epochs: 3}"},
        "params.yaml:6: train.steps: …null…epochs …3.0…30",
    ),
    "neither": ({"train": "train: {use: demo, steps: null}"}, "params.yaml:6: train.steps: …number…epochs …null"),
    "warm-up as long as the run": (
        {"lr": "lr: {use: cosine, warmup_steps: 400}"},
        "params.yaml:4: lr.warmup_steps: …400 steps…400",
    ),
    "warm-up and hold as long as the run": (
        {"lr": "lr: {use: cosine, hold_steps: 390}"},
        "conf/lr/cosine.yaml: lr.total_steps: …hold, 400…400",
    ),
    "cosine over before the run": (
        {"lr": "lr: {use: cosine, total_steps: 300}"},
        "params.yaml:4: lr.total_steps: …400 steps…null…300…step 300",
    ),
    "decay by steps and by epochs": (
        {"lr": "lr: {use: exponential, decay_epochs: 3}"},
        "conf/lr/exponential.yaml:…: lr.decay_steps: …null…decay_epochs…100",
    ),
    "manual with too few rates": (
        {"lr": "lr: {use: manual, rates: [0.1]}"}, "params.yaml:4: lr.rates: …3 …boundaries…[0.1]",
    ),
    "what a recipe was made for is empty": (
        {"train": "train: {use: frc, batch_size: 8, steps: 2000, init: {meant: ' '}}"},
        "params.yaml:6: train.init.meant: …200…null…' '",
    ),
    "not a size": ({"memory": "memory: {use: low, budget: lots}"}, "memory.budget: …2GB…'lots'"),
    "budget too small": (
        {"memory": "memory: {use: low, budget: 500MB}"},
        "params.yaml:3: memory.budget: …MB …train.batch_size=8…'500MB'",
    ),
    "input too small": (
        {"model": "model: {use: ssd_mobilenet_v2_320, input_size: 16}"}, "params.yaml:2: model.input_size: …16",
    ),
    "batch that the devices can't share": (
        {"train": "train: {use: demo, steps: 400, devices: 3}"},
        "conf/train/demo.yaml:2: train.batch_size: …train.devices=3…8",
    ),
    "a batch cut to what the devices can't share": (
        {"train": "train: {use: demo, steps: 400, batch_size: 630, devices: 10}"},
        "params.yaml:6: train.batch_size: …train.devices=10…315",
    ),
    "checkpoints further apart than the run is long": (
        {"train": "train: {use: demo, steps: 400, checkpoint_every_steps: 401}"},
        "params.yaml:6: train.checkpoint_every_steps: …400…401",
    ),
    "more phases than steps": (
        {"train": "train: {use: demo, steps: 2, phases: [{name: a}, {name: b}, {name: c}]}", "lr": "lr: constant"},
        "params.yaml:6: train.phases: …2 steps…3",
    ),
    "two phases of one name": (
        {"train": "train: {use: demo, steps: 400, phases: [{name: a}, {name: a}]}"},
        "params.yaml:6: train.phases: …names…['a', 'a']",
    ),
    "phases with and without a length": (
        {"train": "train: {use: demo, steps: 400, phases: [{name: a, steps: 3}, {name: b}]}"},
        "params.yaml:6: train.phases: …length…[True, False]",
    ),
    "phases with a length, and the run": (
        {"train": "train: {use: demo, steps: 400, phases: [{name: a, steps: 3}]}"},
        "params.yaml:6: train.steps: …null…phase…400",
    ),
    "a phase's own schedule": (
        {"train": "train: {use: demo, steps: 400, phases: [{name: a, lr: {kind: constant, peak: 1, peek: 1}}]}"},
        "params.yaml:6: train.phases[0].lr.peek: …'peak'",
    ),
    "a phase's schedule of no kind": (
        {"train": "train: {use: demo, steps: 400, phases: [{name: a, lr: {peak: 1}}]}"},
        "params.yaml:6: train.phases[0].lr.kind: …missing…constant, cosine",
    ),
    "a phase's warm-up as long as the phase": (
        {"train": "train: {use: demo, steps: 90, phases: [{name: a}, {name: b}]}", "lr": "lr: {use: cosine, warmup_steps: 50}"},
        "params.yaml:4: lr.warmup_steps: …45 steps…50",
    ),
    "trainable that matches nothing": (
        {"train": "train: {use: demo, steps: 400, trainable: [hed, backbone]}"},
        "params.yaml:6: train.trainable: 'hed' …head, …backbone, neck, head",
    ),
    "a phase's trainable that matches nothing": (
        {"train": "train: {use: demo, steps: 400, phases: [{name: a}, {name: b, trainable: [backbone.stride9*]}]}"},
        "params.yaml:6: train.phases[1].trainable: 'backbone.stride9*' …backbone.stride",
    ),
    "warm start that matches nothing": (
        {"train": "train: {use: demo, steps: 400, init: {weights: data/weights/linked.h5, warm_start: [logits]}}"},
        "params.yaml:6: train.init.warm_start: 'logits' …backbone",
    ),
    "first weights that are not there": (
        {"train": "train: {use: demo, steps: 400, init: {weights: a.weights.h5}}"},
        "params.yaml:6: train.init.weights: …none, imagenet, …'a.weights.h5'…not there",
    ),
    "first weights whose name no file can have": (
        {"train": f"train: {{use: demo, steps: 400, init: {{weights: {'a' * 300}}}}}"},
        f"params.yaml:6: train.init.weights: …none, imagenet, …{'a' * 190}…not there",
    ),
    "first weights in the home of nobody": (
        {"train": "train: {use: demo, steps: 400, init: {weights: ~nobody-at-all/a.weights.h5}}"},
        "params.yaml:6: train.init.weights: …none, imagenet, …~nobody-at-all/a.weights.h5…not there",
    ),
    "first weights that DVC does not watch": (
        {"train": "train: {use: demo, steps: 400, init: {weights: elsewhere/w.h5}}"},
        "params.yaml:6: train.init.weights: …data/weights/…'elsewhere/w.h5'…`cp -r elsewhere/w.h5 data/weights/`",
    ),
    "a table of slices that is not there": (
        {"evaluate": "evaluate: {use: standard, slices: {table: data/raw/facts.csv}}"},
        "evaluate.slices.table: …no such file…'data/raw/facts.csv'…data/raw/…none",
    ),
    "a table of slices that DVC does not watch": (
        {"evaluate": "evaluate: {use: standard, slices: {table: params.yaml}}"},
        "evaluate.slices.table: …data/raw/…'params.yaml'…`cp -r params.yaml data/raw/`",
    ),
    "data that DVC does not watch": (
        {"data": "data: {use: image_folders, path: elsewhere/photos}"},
        "params.yaml:1: data.path: …data/raw/…'elsewhere/photos'…`cp -r elsewhere/photos data/raw/`",
    ),
    "data above the folder that DVC watches": (
        {"data": "data: {use: image_folders, path: data/raw/../photos}"},
        "params.yaml:1: data.path: …data/raw/…'data/raw/../photos'",
    ),
    "a link to data that DVC does not watch": (
        {"data": "data: {use: image_folders, path: data/raw/linked}"},
        "params.yaml:1: data.path: …data/raw/…'data/raw/linked'…link …elsewhere/photos…"
        "`rm data/raw/linked && cp -r …/elsewhere/photos data/raw/linked`",
    ),
    "first weights that the network does not have": (
        {"train": "train: {use: demo, steps: 400, init: {weights: imagenet}}"},
        "params.yaml:6: train.init.weights: …no weights …ImageNet",
    ),
    "warm start from nothing": (
        {"train": "train: {use: demo, steps: 400, init: {warm_start: [backbone]}}"},
        "params.yaml:6: train.init.warm_start: …empty…init.weights …none…['backbone']",
    ),
    "a key that is null": ({"null": "null: 3"}, "params.yaml:11: not valid YAML: …null"),
    "a key that is empty": ({"''": "'': 3"}, "params.yaml:11: …''…one of"),
    "no seed": ({"seed": ""}, "params.yaml: seed: …number…nothing"),
    "seed is a text": ({"seed": "seed: lucky"}, "params.yaml:10: seed: …number…'lucky'"),
    "negative seed": ({"seed": "seed: -1"}, "params.yaml:10: seed: …0 …2**31 - 1…-1"),
    "another task's network": (
        {"model": "model: {use: cnn_small}"},
        "params.yaml:2: model: …classification…detection…point_detector, set_detector, ssd, ssd_fpn",
    ),
    "interpolation": (
        {"lr": "lr: {use: cosine, peak: '${nowhere.value}'}"},
        "params.yaml:4: lr.peak: …'nowhere.value' not found",
    ),
    "a variable of the environment": (
        {"track": "track: {use: mlflow, experiment: '${oc.env:AWS_SECRET_ACCESS_KEY}'}"},
        "params.yaml:9: track.experiment: …$AWS_SECRET_ACCESS_KEY …BAKEOFF_VARIABLES",
    ),
    "a variable of the environment within a resolver": (
        {"track": "track: {use: mlflow, experiment: \"${oc.decode:'${oc.env:AWS_SECRET_ACCESS_KEY,x}'}\"}"},
        "params.yaml:9: track.experiment: …$AWS_SECRET_ACCESS_KEY …BAKEOFF_VARIABLES",
    ),
    "a password in an address": (
        {"track": "track: {use: mlflow, uri: 'https://me:s3cr3t@mlflow.example'}"},
        "params.yaml:9: track.uri: …password…MLFLOW_TRACKING_USERNAME",
    ),
    "mandatory value": ({"lr": "lr: {use: cosine, peak: '???'}"}, "params.yaml:4: lr.peak: …???"),
    "yes": (
        {"train": "train: {use: demo, deterministic: yes}"},
        "params.yaml:6: not valid YAML: yes …true or false",
    ),
    "octal": ({"seed": "seed: 010"}, "params.yaml:10: not valid YAML: 010 …octal"),
    "base 60": ({"seed": "seed: 1:30"}, "params.yaml:10: not valid YAML: 1:30 …base 60"),
    "date": ({"track": "track: {use: mlflow, experiment: 2026-01-31}"}, "params.yaml:9: not valid YAML: 2026-01-31 …date"),
    "alias": ({"lr": "lr: &a {use: cosine, more: *a}"}, "params.yaml:4: not valid YAML: …(*name)"),
    "preset without an experiment": (
        {"lr": "lr: {use: preset}"}, "params.yaml:4: lr.use: 'preset' …experiment…constant",
    ),
    "no such experiment": (
        {"experiment": "experiment: dmeo"},
        "params.yaml:11: experiment: …'dmeo' …conf/experiment/…'demo'…demo",
    ),
    "preset for the data": (
        {"experiment": "experiment: demo", "data": "data: preset"},
        "params.yaml:1: data.use: …'demo' …digits",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_a_mistake_is_said_with_file_and_key_and_nothing_is_written(case: str, render: Render) -> None:
    lines, message = BROKEN[case]
    with pytest.raises(ConfigError, match=words(message)) as error:
        render(lines)
    assert "\n" not in str(error.value)
    assert not Path("out").exists()


COSINE = "conf/lr/cosine.yaml"
BROKEN_FILES = {
    "not YAML": ({COSINE: "kind: cosine\npeak: [1\n"}, "conf/lr/cosine.yaml:3: not valid YAML"),
    "a tab": ({COSINE: "kind: cosine\n\tpeak: 1\n"}, "conf/lr/cosine.yaml:2: not valid YAML"),
    "a key twice": ({COSINE: "kind: cosine\npeak: 1\npeak: 2\n"}, "cosine.yaml:3: …'peak' …twice"),
    "a key of several words": ({COSINE: "? {a: b}\n: 1\n"}, "conf/lr/cosine.yaml:1: not valid YAML: …key …one word"),
    "a list": ({COSINE: "- 1\n"}, "conf/lr/cosine.yaml: …mapping …list"),
    "empty": ({COSINE: ""}, "conf/lr/cosine.yaml: …mapping …nothing"),
    "bottomless": ({COSINE: "a: " + "[" * 5000}, "conf/lr/cosine.yaml: not valid YAML: …nested"),
    "no kind": ({COSINE: "peak: 1\n"}, "conf/lr/cosine.yaml: lr.kind: …missing…constant, cosine, exponential"),
    "wrong kind": ({COSINE: "kind: cosin\n"}, "conf/lr/cosine.yaml:1: lr.kind: …'cosin'…'cosine'"),
    "mandatory value": ({COSINE: "kind: cosine\npeak: ???\n"}, "conf/lr/cosine.yaml:2: lr.peak: …Missing mandatory"),
    "missing value": ({COSINE: "kind: cosine\n"}, "conf/lr/cosine.yaml: lr.peak: …missing…number"),
    "an object": ({COSINE: "!!python/object:os.system {}\n"}, "cosine.yaml:1: not valid YAML"),
    "no base": (
        {COSINE: "# one\ndefaults: [cosinus]\nkind: cosine\npeak: 1\n"},
        "conf/lr/cosine.yaml:2: lr: …'cosinus' …build on…'cosine'",
    ),
    "kind is a list": ({COSINE: "kind: [cosine]\npeak: 1\n"}, "cosine.yaml:1: lr.kind: …['cosine']…'cosine'…one of"),
    "defaults is a text": (
        {COSINE: "kind: cosine\npeak: 1\ndefaults: constant\n"}, "cosine.yaml:3: lr.defaults: …list…'constant'",
    ),
    "a package of Hydra's": (
        {COSINE: "# @package foo\nkind: cosine\npeak: 1\n"}, "conf/lr/cosine.yaml:1: # @package foo: must go",
    ),
    "a package of many words": (
        {COSINE: "# @package foo bar\nkind: cosine\npeak: 1\n"}, "conf/lr/cosine.yaml:1: # @package foo bar: must go",
    ),
    "a list in the place of the groups": (
        {"conf/variant.yaml": "defaults: [{}]\n"}, "conf/variant.yaml: defaults: …groups",
    ),
    "each other as base": (
        {COSINE: "defaults: [constant]\n", "conf/lr/constant.yaml": "defaults: [cosine]\n"},
        "conf/lr/constant.yaml:1: lr: …'cosine' …build on",
    ),
    "itself as base": (
        {COSINE: "defaults: [cosine]\n"}, "conf/lr/cosine.yaml:1: lr: …'cosine' …build on",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(BROKEN_FILES))
def test_a_mistake_in_a_file_is_said_with_its_line(case: str, render: Render) -> None:
    files, message = BROKEN_FILES[case]
    with pytest.raises(ConfigError, match=words(message)) as error:
        render(files=files)
    assert "\n" not in str(error.value)
    assert not Path("out").exists()


def test_all_mistakes_of_a_variant_come_in_one_go(render: Render) -> None:
    """Choices, files, values and checks across keys, wherever the mistake leaves enough to look at."""
    lines = {
        "memory": "memory: hihg",
        "lr": "lr: {use: cosine, warmup_steps: 500}",
        "train": "train: {use: demo, steps: 400, batch_size: 1000, devices: 3, trainable: [hed]}",
        "evaluate": "evaluate: {use: standard, weihgts: best}",
        "optimizer": "optimizer: broken",
        "seed": "seed: -3",
    }
    with pytest.raises(ConfigError) as error:
        render(lines, {"conf/optimizer/broken.yaml": "kind: [\n"})
    assert [line.split(": ")[0:2] for line in str(error.value).splitlines()] == [
        ["params.yaml:3", "memory.use"],
        ["conf/optimizer/broken.yaml:2", "not valid YAML"],
        ["params.yaml:7", "evaluate.weihgts"],
        ["params.yaml:10", "seed"],
        ["params.yaml:4", "lr.warmup_steps"],
        ["params.yaml:6", "train.batch_size"],
        ["params.yaml:6", "train.trainable"],
    ]


def test_a_typo_is_said_before_the_network_is_built(render: Render, tmp_path: Path) -> None:
    unknown = tmp_path / "nothing_known"
    render()  # writes the workspace; the facts of its network stand elsewhere
    Path("params.yaml").write_text(PARAMS.replace("steps: 400", "stepz: 400"), encoding="utf-8")
    variant = read_variant(Path("params.yaml"), Path("conf"), Path("records"), facts=unknown)
    assert missing_in("\n".join(variant.problems.lines), "params.yaml:6", "train.stepz", "steps") == []
    assert not unknown.exists() or not list(unknown.iterdir())


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_bytes(b"lr: \xff\n")
    with pytest.raises(ConfigError, match=r"params\.yaml: .*UTF-8.*\b4\b"):
        render_config(Path("params.yaml"), ROOT / "conf", Path("records"), Path("out"), facts=tmp_path)


def test_records_that_a_variant_was_not_rendered_for_are_refused(render: Render) -> None:
    derived = load(render()).derived
    write_records(Path("records"), "classification")
    with pytest.raises(ConfigError, match=r"10 .*detection.*records.*10 .*classification.*`dvc repro`"):
        fitting_manifest(Path("records"), derived)


def test_a_missing_run_yaml_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run.yaml: missing; run `dvc repro render_config`"):
        load(tmp_path / "run.yaml")


def test_records_that_are_missing_are_said_with_the_other_mistakes(render: Render) -> None:
    shutil.rmtree("records")
    with pytest.raises(ConfigError) as error:
        render({"lr": "lr: {use: cosine, peak: 0}"})
    peak, records = str(error.value).splitlines()
    assert missing_in(peak, "params.yaml:4", "lr.peak", "0.0") == []
    assert missing_in(records, "records/manifest.json", "missing", "`dvc repro build_records`") == []


def test_a_background_class_and_several_labels_an_example_contradict_each_other(render: Render) -> None:
    write_records(Path("records"), "classification", multi_label=True)
    with pytest.raises(ConfigError, match=r"model\.background: .*false.*labels"):
        render({"model": "model: {use: inception_v3, background: true, input_size: 75}"})


def test_a_layout_that_the_network_does_not_have_is_said_before_training(render: Render) -> None:
    printed = words(
        "params.yaml:8: export.layout: …detections …Ssd…'yolov8'…point_detector, yolox …{use: point_nano, input_size: 160}"
    )
    export = "export: {use: onnx, layout: yolov8}"
    with pytest.raises(ConfigError, match=printed):
        render({"model": "model: {use: ssd_small, input_size: 160}", "export": export})
    render({"model": "model: {use: point_nano_128}", "export": export})


def test_only_examples_with_boxes_are_mixed(render: Render) -> None:
    write_records(Path("records"), "classification")
    train = "train: {use: demo, steps: 400, augment: {mosaic: {}, mixup: {alpha: 2}}}"
    with pytest.raises(ConfigError) as error:
        render({"model": "model: {use: cnn_small}", "train": train})
    for line, name in zip(str(error.value).splitlines(), ("mosaic", "mixup"), strict=True):
        assert missing_in(line, "params.yaml:6", f"train.augment.{name}", "null", "classification", "boxes") == []
    write_records(Path("records"))
    run = load(render({"train": train}))
    assert run.train.augment.mixed_steps(run.derived.steps) == 360
    assert run.derived.memory_parts.decoding == 5 * load(render()).derived.memory_parts.decoding


def test_a_format_that_the_network_cannot_be_converted_to_is_said_before_training(render: Render) -> None:
    write_records(Path("records"), "video")
    model = "model: {use: s3dg_small, frames: 4, input_size: 32}"
    printed = "params.yaml:8: export.formats: …saved_model, onnx …S3dG…['saved_model', 'float32']…AvgPool3D, MaxPool3D"
    with pytest.raises(ConfigError, match=words(printed)):
        render({"model": model, "export": "export: {use: saved_model, formats: [saved_model, float32]}"})
    render({"model": model, "export": "export: saved_model"})


def test_a_set_of_boxes_is_not_rounded_to_int8(render: Render) -> None:
    model = "model: {use: set_detector_atto, input_size: 64, queries: 20}"
    with pytest.raises(
        ConfigError, match=words("conf/export/every_format.yaml:2: export.formats: …int8…SetDetector…float16")
    ):
        render({"model": model, "export": "export: every_format"})
    render({"model": model, "export": "export: {use: saved_model, formats: [onnx, dynamic]}"})


def test_boxes_that_no_anchor_fits_are_warned_of(render: Render, capsys: pytest.CaptureFixture[str]) -> None:
    thin = np.array([[0.1, 0.1, 0.9, 0.12]], np.float32)
    write_records(Path("records"), boxes=np.concatenate([np.repeat(BOXES, 4, axis=0), thin]))  # 1 of 9 boxes
    render()
    [warning] = capsys.readouterr().err.splitlines()
    assert missing_in(warning, "warning: conf/model/ssd_small.yaml:4", "model.anchors: 11%", "0.5", "no other") == []
    write_records(Path("records"), boxes=np.concatenate([np.repeat(BOXES, 5, axis=0), thin]))  # 1 of 11
    render()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("stated", "cut"), [(600, 600), (601, 300), (1200, 600), (2401, 600), (20_000, 312)])
def test_a_batch_above_the_set_is_halved_until_it_fits_as_ftc_ml_did(
    stated: int, cut: int, render: Render, capsys: pytest.CaptureFixture[str]
) -> None:
    """`while batch > train_frames and batch >= 2: batch /= 2`; the rate is as it was unless it scales with the batch."""
    memory = "memory: {use: very_high, budget: 900GB}"
    run = load(
        render({"memory": memory, "train": f"train: {{use: demo, steps: null, epochs: 100, batch_size: {stated}}}"})
    )
    assert (run.train.batch_size, run.derived.steps, run.derived.phases[0].rate_factor) == (cut, -(-60_000 // cut), 1.0)
    remarks = [line for line in capsys.readouterr().err.splitlines() if "train.batch_size" in line]
    assert len(remarks) == (cut < stated)
    for remark in remarks:
        assert missing_in(remark, "warning: params.yaml:6", "train.batch_size", f"{stated}", "600", f"{cut}") == []
    because = run.derived.batch_size_because
    assert because == "stated" if cut == stated else missing_in(because, "stated", f"{stated}", "cut") == []


def test_a_phases_own_batch_is_cut_likewise(render: Render, capsys: pytest.CaptureFixture[str]) -> None:
    run = load(render({"train": "train: {use: demo, steps: 400, phases: [{name: a, batch_size: 700}, {name: b}]}"}))
    assert [span.batch_size for span in run.derived.phases] == [350, 8]
    assert run.train.phases[0].batch_size == 350 and run.derived.batch_size_because == "stated"
    assert missing_in(capsys.readouterr().err, "train.phases[0].batch_size", "700", "600", "350") == []


def test_a_recipe_made_for_trained_weights_says_that_they_are_missing(
    render: Render, capsys: pytest.CaptureFixture[str]
) -> None:
    frc = "train: {{use: frc, batch_size: 8, steps: 2000, init: {{{}}}}}"
    meant = load(render({"train": frc.format("weights: none")})).train.init.meant
    assert meant and missing_in(capsys.readouterr().err, "train.init.weights", "none", "random weights", meant) == []
    render({"train": frc.format("weights: none, meant: null")})
    render({"train": "train: {use: demo, steps: 400}"})
    assert "random weights" not in capsys.readouterr().err


def test_a_recipe_that_names_its_weights_is_refused_without_them(render: Render) -> None:
    name = "ssd_mobilenet_v2_coco_2018_03_29"
    with pytest.raises(ConfigError) as refused:
        render({"train": "train: {use: frc, batch_size: 8, steps: 2000}"})
    said = ("conf/train/frc.yaml:6: train.init.weights", f"data/weights/zoo/{name}", "not there")
    assert missing_in(str(refused.value), *said, f"`bakeoff weights get {name}`", "`init: {weights: none}`") == []
    assert not Path("out").exists()


def test_the_anchors_that_a_warning_names_fit_more_boxes(render: Render, capsys: pytest.CaptureFixture[str]) -> None:
    tall = np.array([[0.1, 0.1, 0.6, 0.2], [0.3, 0.5, 0.7, 0.59], [0.2, 0.3, 0.9, 0.42]], np.float32)
    write_records(Path("records"), boxes=tall)
    render()
    [keys] = re.findall(r"100%.*\b0\.5\b.*model\.anchors: (\{.*\}).*\b0%", capsys.readouterr().err)
    render({"model": f"model: {{use: ssd_small, anchors: {keys}}}"})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("start", ["data/weights/old", "data/weights/old/best.weights.h5"])
def test_weights_of_a_run_with_other_classes_are_refused_unless_the_head_stays_behind(
    start: str, render: Render
) -> None:
    Path("data/weights/old").mkdir()
    Path("data/weights/old/best.weights.h5").touch()
    Path("data/weights/old/state.json").write_text('{"classes": ["cat", "dog"]}', encoding="utf-8")
    lines = {"train": f"train: {{use: demo, steps: 400, init: {{weights: {start}}}}}"}
    message = "params.yaml:6: train.init.weights: …cat, dog…0, 1, …, 9…init.warm_start: [backbone, neck]"
    with pytest.raises(ConfigError, match=words(message)):
        render(lines)
    render({"train": f"train: {{use: demo, steps: 400, init: {{weights: {start}, warm_start: [backbone, neck]}}}}"})


def test_steps_can_be_rounded_up_to_the_checkpoint_interval(render: Render) -> None:
    write_records(Path("records"), examples=1300)
    train = "use: demo, steps: null, epochs: 100, batch_size: 32"
    assert load(render({"train": f"train: {{{train}}}"})).derived.steps == 4063
    train += ", round_up_steps: true"
    assert load(render({"train": f"train: {{{train}}}"})).derived.steps == 4100
    assert load(render({"train": f"train: {{{train}, checkpoint_every_steps: 17}}"})).derived.steps == 4063  # 17 x 239


def test_phases_lie_one_after_the_other_with_their_own_batch_and_schedule(render: Render) -> None:
    phases = (
        "[{name: a, epochs: 2, batch_size: 4}, {name: b, steps: 70, lr: {kind: cosine, peak: 1, scale_with_batch: 16}}]"
    )
    run = load(render({"train": f"train: {{use: demo, steps: null, phases: {phases}}}", "lr": "lr: constant"}))
    derived = run.derived
    assert [(span.name, span.first_step, span.steps, span.first_example) for span in derived.phases] == [
        ("a", 0, 300, 0),
        ("b", 300, 70, 1200),
    ]
    assert derived.steps == 370 and derived.epochs == round((300 * 4 + 70 * 8) / 600, 3)
    first, second = plan_phases(run)
    assert first.rate(299) == run.lr(299) == 0.001
    assert [second.rate(step) for step in (300, 335, 370)] == pytest.approx([0.5, 0.25, 0])  # batch 8 of 16: half


def options_side_by_side() -> list[dict[str, str]]:
    """Every option of conf/, in few variants; a preset chooses for every group but the data, so it has its own."""
    names = {folder.name: sorted(file.stem for file in folder.glob("*.yaml")) for folder in (ROOT / "conf").iterdir()}
    variants = [{"experiment": preset, "data": "digits"} for preset in names.pop("experiment")]
    groups = {group: options for group, options in names.items() if options}
    for row in itertools.zip_longest(*groups.values()):
        chosen = {group: option for group, option in zip(groups, row, strict=True) if option}
        variants.append({"experiment": "demo", "data": "digits"} | chosen)
    return variants


def test_a_device_that_cannot_run_the_network_is_refused_with_the_nearest_that_can(render: Render) -> None:
    message = words(
        "conf/export/photonvision_rk3588.yaml:2: export.device: photonvision_rk3588 …YOLOv8 …640 x 640…point_detector…"
        "limelight_coral"
    )
    with pytest.raises(ConfigError, match=message):
        render({"export": "export: photonvision_rk3588"})
    message = "export.formats: …with onnx…oak…['saved_model', 'int8']"
    with pytest.raises(ConfigError, match=words(message)):
        render({"export": "export: {use: limelight_coral, device: oak}"})
    point = {"model": "model: {use: point_nano, input_size: 320}", "export": "export: photonvision_rubik"}
    message = "export.device: photonvision_rubik …640 x 640…model.input_size …320…nearest"
    with pytest.raises(ConfigError, match=words(message)):
        render(point)
    rule = "export.layout: …yolov8_corners …photonvision_rubik…'detections'"
    with pytest.raises(ConfigError, match=words(rule)):
        render({"model": "model: point_nano", "export": "export: {use: photonvision_rubik, layout: detections}"})
    write_records(Path("records"), task="video")
    lines = {"model": "model: clip_small", "lr": "lr: {use: constant}", "export": "export: oak"}
    message = "export.device: oak …detection …classification …video…raspb"
    with pytest.raises(ConfigError, match=words(message)):
        render(lines)
    with pytest.raises(ConfigError, match=r"export\.formats: must not .*rknn.*ClipCnn"):
        render(lines | {"export": "export: {use: saved_model, formats: [rknn]}"})
    write_records(Path("records"))
    assert load(render({"export": "export: limelight_coral"})).export.device == "limelight_coral"
    run = load(render({"model": "model: point_nano", "export": "export: photonvision_rk3588"}))
    assert (run.export.layout, run.export.formats[-1]) == ("yolov8_levels", "rknn")


def test_a_layer_that_has_no_form_in_eight_bits_is_named_before_training(render: Render) -> None:
    write_records(Path("records"), task="video")
    phases = "train: {use: smoke, steps: null, phases: [{name: a, steps: 2}, {name: b, steps: 2, quantize: true}]}"
    lines = {"model": "model: clip_small", "lr": "lr: {use: constant}", "train": phases}
    message = "params.yaml:…: train.phases[1].quantize: …ClipCnn…backbone.stage1.space.conv (Conv3D)…"
    with pytest.raises(ConfigError, match=words(message)):
        render(lines)
    export = {"train": "train: smoke", "export": "export: {use: tflite, formats: [int8], ranges: means}"}
    with pytest.raises(ConfigError, match=words("params.yaml:…: export.ranges: …extremes…ClipCnn…(Conv3D)…")):
        render(lines | export)


def test_a_phase_in_eight_bits_keeps_more_for_the_gradients(render: Render) -> None:
    def parts(first: str, second: str) -> Any:
        phases = f"[{{name: a, steps: 2{first}}}, {{name: b, steps: 2{second}}}]"
        return load(render({"train": f"train: {{use: smoke, steps: null, phases: {phases}}}"})).derived.memory_parts

    plain, eight = parts("", ""), parts("", ", quantize: true")
    assert eight.activations == pytest.approx(2.2 * plain.activations, rel=1e-6)
    assert eight.program > plain.program and eight.weights == plain.weights
    larger = parts(", batch_size: 8", ", quantize: true, batch_size: 2")
    assert larger.activations == pytest.approx(parts(", batch_size: 8", "").activations, rel=1e-6)


def test_a_compiler_that_calibrates_needs_pictures_of_more_than_one_kind(render: Render) -> None:
    with pytest.raises(ConfigError, match=words("export.device: hailo8l …class 0 …")):
        render({"export": "export: hailo8l"})
    write_records(Path("records"), kinds=2)
    run = load(render({"export": "export: hailo8l"}))
    assert (run.export.layout, run.export.representative_examples) == ("heads", 1024)
    rule = "conf/export/hailo8l.yaml:2: export.device: hailo8l …64 …63…; add pictures"
    write_records(Path("records"), examples=63, kinds=2)
    with pytest.raises(ConfigError, match=words(rule)):
        render({"export": "export: hailo8l"})
    write_records(Path("records"), examples=64, kinds=2)
    assert load(render({"export": "export: hailo8"})).export.device == "hailo8"
    with pytest.raises(ConfigError, match=words("export.formats: …saved_model and onnx…heads…'int8'")):
        render({"export": "export: {use: hailo8, formats: [onnx, int8]}"})
    with pytest.raises(ConfigError, match=words("export.device: hailo8 …detection…classification…nearest")):
        write_records(Path("records"), task="classification")
        render({"model": "model: cnn_small", "export": "export: hailo8"})


@pytest.mark.parametrize("chosen", options_side_by_side(), ids=lambda chosen: "-".join(chosen.values()))
def test_every_option_that_is_shipped_parses(
    chosen: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And has no other mistake than being for data of another task or a run of another length."""
    monkeypatch.chdir(tmp_path)
    if chosen["data"] == "merged":
        chosen = chosen | {"data": {"use": "merged", "merge": ["one", "other"]}}  # the one thing left to params.yaml
    Path("params.yaml").write_text(yaml.safe_dump(chosen | {"seed": 0}), encoding="utf-8")
    composed = compose(Path("params.yaml"), ROOT / "conf")
    draft = parse_variant(composed.tree, composed.problems)
    assert composed.problems.lines == []
    parts = {field.name for field in dataclasses.fields(draft)} - {"note"}  # which no option has
    assert [name for name in parts if getattr(draft, name) is None] == []


def test_a_plan_with_other_data_says_that_the_records_come_first(render: Render, facts: Path) -> None:
    render()
    here = [Path(name) for name in ("params.yaml", "conf", "records")]
    built = dataclasses.replace(read_manifest(here[2]), source_digest=choose_source(here[0], here[1]).digest)
    built.write(here[2])
    words = ["data=digits_single", "model=cnn_small"]
    lines = read_variant(*here, facts=facts, overrides=words).problems.lines
    other = ("command line: data", "other data", "params.yaml", "`dvc repro build_records`")
    assert missing_in(lines[0], *other) == []
    assert missing_in(lines[1], "command line: model", "classification", "detection") == []
    assert "other data" not in str(read_variant(*here, facts=facts, overrides=words[1:]).problems.lines)
