"""Presets: what each recipe is, and how params.yaml, a preset and an option decide together."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.config.compose.compose import Composed, compose
from bakeoff.config.compose.variant import KINDS, parse_variant
from bakeoff.config.compose.whole_run import Draft
from bakeoff.export.devices import DEVICES
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.pretrained.weight_source import origin_of
from support.imports import ROOT
from support.messages import missing_in

CONF = ROOT / "conf"
PRESETS = sorted(file.stem for file in (CONF / "experiment").glob("*.yaml"))


def composed(tmp_path: Path, text: str, conf: Path = CONF) -> Composed:
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    return compose(tmp_path / "params.yaml", conf)


def draft(tmp_path: Path, text: str) -> Draft:
    composition = composed(tmp_path, text)
    parsed = parse_variant(composition.tree, composition.problems)
    composition.problems.raise_any()
    return parsed


def test_the_shipped_params_take_everything_but_the_data_from_the_demo() -> None:
    shipped = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    assert shipped == {
        "experiment": "demo", "data": {"use": "digits"}, "seed": 0,
        **{group: {"use": "preset"} for group in KINDS if group != "data"},
    }  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_a_shipped_preset_is_a_choice_for_every_group_but_the_data_and_how_pictures_fit(name: str) -> None:
    tree = yaml.safe_load((CONF / "experiment" / f"{name}.yaml").read_text(encoding="utf-8"))
    chosen = {next(iter(entry)).removeprefix("override /") for entry in tree.pop("defaults")}
    assert chosen == set(KINDS) - {"data"}
    assert tree in ({}, {"model": {"fit": "letterbox"}})


# Preset -> batch, steps, network, optimizer, rates at some steps: the numbers of the systems' own files and code.
RECIPES: dict[str, tuple[int, int | None, str, str, dict[int, float]]] = {
    "frc_exponential": (32, 200_000, "SsdMultibox", "RmsProp", {0: 0.0008, 9_999: 0.0008, 20_000: 0.0008 * 0.95**2}),
    "frc_cosine": (12, 200_000, "SsdMultibox", "Momentum", {0: 0.026666, 2000: 0.1, 113_500: 0.05, 225_000: 0}),
    "ftc_ssd_mobilenet_v2_320": (32, 3000, "SsdMultibox", "Momentum", {0: 0.1333, 2000: 0.8, 2500: 0.4, 3000: 0}),
    "ftc_ssd_mobilenet_v2_fpnlite_320": (32, 3000, "SsdFpn", "Momentum", {0: 0.02667, 1000: 0.08, 2000: 0.04}),
    "ftc_ssd_mobilenet_v1_fpn_640": (16, 3000, "SsdFpn", "Momentum", {0: 0.01333, 2000: 0.04, 2500: 0.02}),
    "ftc_ssd_mobilenet_v2_fpnlite_640": (16, 3000, "SsdFpn", "Momentum", {0: 0.02667, 1000: 0.08, 2000: 0.04}),
    # 3,170 flowers at batch 32: int(3170 / 32 * 30) = 2,971 steps to a stair
    "inception_flowers": (32, 2000, "InceptionV3", "RmsProp", {0: 0.001, 2_970: 0.001, 2_971: 0.00016}),
    # inception_train.py: the same network, and rate 0.1 for 10,000,000 steps
    "inception_from_scratch": (32, 10_000_000, "InceptionV3", "RmsProp", {0: 0.1, 2_970: 0.1, 2_971: 0.016}),
    "s3dg_three_phases": (1, None, "S3dG", "Momentum", {}),
}


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_has_the_numbers_of_the_system_that_it_comes_from(name: str, tmp_path: Path) -> None:
    batch, steps, network, optimizer, rates = RECIPES[name]
    run: Any = draft(tmp_path, f"experiment: {name}\ndata: digits\nseed: 0\n")
    assert (run.train.batch_size, run.train.steps) == (batch, steps)
    assert (type(run.model).__name__, type(run.optimizer).__name__) == (network, optimizer)
    schedule = run.lr.over(steps or 100, steps_per_epoch=3170 / 32)
    assert {step: schedule(step) for step in rates} == pytest.approx(rates, abs=1e-12)


def test_the_four_models_of_ftc_ml_differ_in_input_focal_loss_and_anchors(tmp_path: Path) -> None:
    expected = {
        "ftc_ssd_mobilenet_v2_320": (300, 0.75, 1_917),
        "ftc_ssd_mobilenet_v2_fpnlite_320": (320, 0.25, 12_804),
        "ftc_ssd_mobilenet_v1_fpn_640": (640, 0.25, 51_150),
        "ftc_ssd_mobilenet_v2_fpnlite_640": (640, 0.25, 51_150),
    }
    actual = {}
    for name in expected:
        model: Any = draft(tmp_path, f"experiment: {name}\ndata: digits\nseed: 0\n").model
        actual[name] = (model.input_size, model.loss.focal_alpha, len(model.anchor_boxes()))
    assert actual == expected


def test_the_phases_of_s3dg_are_logits_at_a_tenth_and_then_everything_more_and_more_slowly(tmp_path: Path) -> None:
    run: Any = draft(tmp_path, "experiment: s3dg_three_phases\ndata: digits_motion\nseed: 0\n")
    printed = [(phase.batch_size, phase.trainable, phase.lr.peak) for phase in run.train.phases]
    assert printed == [(2, ("logits",), 0.1), (None, (), 0.001), (None, (), 0.00001)]
    assert (run.model.frames, run.model.input_size, run.model.dropout) == (64, 224, 0.2)
    assert (run.optimizer.momentum, run.optimizer.nesterov, run.optimizer.weight_decay) == (0.9, False, 1e-7)


def test_inceptions_recipe_starts_both_heads_afresh_and_averages_its_weights(tmp_path: Path) -> None:
    run: Any = draft(tmp_path, "experiment: inception_flowers\ndata: digits_single\nseed: 0\n")
    assert (run.train.init.weights, run.train.init.warm_start, run.train.ema_decay) == (
        "zoo/keras_inception_v3",
        ("backbone",),
        0.9999,
    )
    model = run.model
    assert (model.input_size, model.label_smoothing, model.auxiliary_weight, model.dropout) == (299, 0.1, 0.4, 0.2)
    assert (run.optimizer.rho, run.optimizer.momentum, run.optimizer.epsilon) == (0.9, 0.9, 1.0)
    assert model.background and math.isclose(run.lr.decay_factor, 0.16) and model.l2_weight == 0.00004


def test_inceptions_recipe_from_scratch_is_the_same_without_first_weights(tmp_path: Path) -> None:
    run, tuned = (
        draft(tmp_path, f"experiment: {name}\ndata: digits_single\nseed: 0\n")
        for name in ("inception_from_scratch", "inception_flowers")
    )
    assert (run.model, run.optimizer) == (tuned.model, tuned.optimizer)
    assert run.train and tuned.train and (run.train.init.weights, run.train.init.warm_start) == ("none", ())
    assert (run.train.augment, run.train.ema_decay) == (tuned.train.augment, 0.9999)


def test_memory_options_of_the_seed_systems_have_their_numbers(tmp_path: Path) -> None:
    options = {
        name: draft(tmp_path, f"experiment: demo\ndata: digits\nmemory: {name}\nseed: 0\n").memory
        for name in ("frc", "inception", "inception_4")
    }
    frc = options.pop("frc")
    assert frc and (frc.shuffle_buffer_size, frc.min_after_dequeue, frc.queue_capacity) == (256, 1000, 1000)
    queues = {name: memory.queue(batch_size=32) for name, memory in options.items() if memory}
    assert queues == {"inception": 16 * 1024 + 96, "inception_4": 4 * 1024 + 96}


@pytest.mark.parametrize("name", ["frc_cosine", "frc_exponential"])
def test_frcs_presets_have_the_three_lines_of_its_readers(name: str, tmp_path: Path) -> None:
    memory = draft(tmp_path, f"experiment: {name}\ndata: digits\nseed: 0\n").memory
    assert memory and (memory.shuffle_buffer_size, memory.min_after_dequeue, memory.queue_capacity) == (256, 1000, 1000)


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "experiment").glob("[fis][rtn3]*.yaml")))
def test_every_preset_of_a_predecessor_writes_events_for_tensorboard(name: str, tmp_path: Path) -> None:
    train = draft(tmp_path, f"experiment: {name}\ndata: digits\nseed: 0\n").train
    assert train and train.tensorboard


def test_the_recipe_for_clips_judges_every_epoch_and_writes_tensorboard(tmp_path: Path) -> None:
    train = draft(tmp_path, "experiment: s3dg_three_phases\ndata: digits_motion\nseed: 0\n").train
    assert train and train.validate_every_epochs == 1 and train.tensorboard


def test_the_recipe_for_photographs_takes_its_steps_from_the_data_and_varies_them(tmp_path: Path) -> None:
    run: Any = draft(tmp_path, "experiment: photographs\ndata: pascal_voc\nseed: 0\n")
    train = run.train
    assert (train.steps, train.epochs, train.validate_every_epochs, train.ema_decay) == (None, 100, 10, 0.99)
    assert train.augment.turn.mirror == 0.5 and train.augment.colour and train.augment.crop
    assert train.init.lacks and (run.lr.peak, run.model.input_size, run.export.formats[1]) == (0.001, 128, "dynamic")


def test_the_recipe_from_scratch_mixes_photographs_until_the_last_tenth(tmp_path: Path) -> None:
    run: Any = draft(tmp_path, "experiment: photographs_from_scratch\ndata: pascal_voc\nseed: 0\n")
    train = run.train
    assert (train.epochs, train.ema_decay) == (300, 0.999)
    assert (train.augment.mosaic.probability, train.augment.until) == (0.5, 0.9)
    assert train.augment.turn.mirror == 0.5 and train.augment.colour and train.augment.crop
    assert not train.init.lacks and (train.init.weights, run.lr.peak, run.model.input_size) == ("none", 0.008, 128)
    assert type(run.model).__name__ == "PointDetector"


# Preset -> network, side, how pictures fit, weights, device.
STARTS: dict[str, tuple[Any, ...]] = {
    "photographs_small": ("Yolox", 416, "letterbox", "zoo/yolox_nano_coco", None),
    "photographs_accurate": ("SetDetector", 640, "stretch", "zoo/dfine_s_coco", None),
    "photonvision_640": ("PointDetector", 640, "letterbox", "zoo/drawn_point_nano", "photonvision_rubik"),
}


@pytest.mark.parametrize("name", sorted(STARTS))
def test_a_recipe_with_a_start_has_its_network_weights_and_device(name: str, tmp_path: Path) -> None:
    network, side, fit, weights, device = STARTS[name]
    run: Any = draft(tmp_path, f"experiment: {name}\ndata: pascal_voc\nseed: 0\n")
    assert (type(run.model).__name__, run.model.input_size, run.model.fit) == (network, side, fit)
    assert (run.train.init.weights, run.export.device) == (weights, device)
    assert not run.train.init.lacks
    if device:
        yolox: Any = draft(tmp_path, f"experiment: {name}\ndata: pascal_voc\nmodel: yolox_s\nseed: 0\n").model
        obstacles = [DEVICES[device].find_obstacle(model) for model in (run.model, yolox)]
        assert (obstacles, yolox.fit) == (["", ""], "letterbox")


@pytest.mark.parametrize("name", ["photographs_small", "photographs_accurate"])
def test_without_its_weights_such_a_recipe_says_how_to_get_them_and_how_to_do_without(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    init = draft(tmp_path, f"experiment: {name}\ndata: pascal_voc\nseed: 0\n").train.init  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match=rf"bakeoff weights get {init.weights.removeprefix('zoo/')}`.*weights: none"):
        origin_of(init, fetch=Path)
    none = "train: {use: preset, init: {weights: none}}"
    run: Any = draft(tmp_path, f"experiment: {name}\ndata: pascal_voc\n{none}\nseed: 0\n")
    assert run.train.init.lacks == "weights that have seen other pictures"


# How params.yaml, the preset and the options decide together.


def test_an_option_in_params_wins_over_the_presets(tmp_path: Path) -> None:
    composition = composed(tmp_path, "experiment: demo\ndata: digits\nlr: constant\nseed: 0\n")
    assert composition.tree["variant"]["lr"] == "constant" and composition.tree["lr"]["kind"] == "constant"
    assert composition.tree["variant"]["model"] == "ssd_small"


def test_a_value_in_params_changes_the_presets_option(tmp_path: Path) -> None:
    composition = composed(tmp_path, "experiment: demo\ndata: digits\nlr: {use: preset, peak: 0.5}\nseed: 0\n")
    assert (composition.tree["lr"]["kind"], composition.tree["lr"]["peak"]) == ("cosine", 0.5)


def test_a_preset_and_the_same_options_by_name_are_the_same_variant(tmp_path: Path) -> None:
    by_preset = composed(tmp_path, "experiment: demo\ndata: digits\nseed: 0\n").tree
    names = "\n".join(f"{group}: {option}" for group, option in by_preset["variant"].items())
    assert composed(tmp_path, f"{names}\nseed: 0\n").tree == by_preset


@pytest.fixture
def own_conf(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CONF, tmp_path / "conf"))


def test_a_preset_can_set_values_of_its_own(tmp_path: Path, own_conf: Path) -> None:
    demo = (CONF / "experiment/demo.yaml").read_text(encoding="utf-8")
    (own_conf / "experiment/slow.yaml").write_text(f"{demo}\nlr: {{peak: 0.0001, warmup_steps: 7}}\n", encoding="utf-8")
    composition = composed(tmp_path, "experiment: slow\ndata: digits\nlr: {warmup_steps: 9}\nseed: 0\n", own_conf)
    assert (composition.tree["lr"]["peak"], composition.tree["lr"]["warmup_steps"]) == (0.0001, 9)
    assert composition.place_of("lr.peak").endswith("experiment/slow.yaml:13")
    assert composition.place_of("lr.warmup_steps").endswith("params.yaml:3")
    assert composition.place_of("lr.kind").endswith("conf/lr/cosine.yaml:2")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("  - override /data: digits", (": data: ", "open", "params.yaml")),
        ("  - override /modle: ssd_small", (": modle: ", "group", "'model'")),
        ("  - lr: cosine", (": defaults: ", "`override /lr: cosine`", "{'lr': 'cosine'}")),
        ("lrr: {peak: 1}", (": lrr: ", "key", "'lr'")),
        ("data: {seed: 1}", (": data: ", "no key")),
        ("lr: 3", (": lr: ", "mapping", "3")),
    ],
)
def test_a_mistake_in_a_preset_is_said_with_its_line(
    line: str, parts: tuple[str, ...], tmp_path: Path, own_conf: Path
) -> None:
    demo = (CONF / "experiment/demo.yaml").read_text(encoding="utf-8").rstrip("\n")
    (own_conf / "experiment/mine.yaml").write_text(f"{demo}\n{line}\n", encoding="utf-8")
    composition = composed(tmp_path, "experiment: mine\ndata: digits\nseed: 0\n", own_conf)
    with pytest.raises(ConfigError) as caught:
        composition.problems.raise_any()
    assert missing_in(str(caught.value), f"mine.yaml:{len(demo.splitlines()) + 1}{parts[0]}", *parts[1:]) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# @package _global_", "", r"mine\.yaml:1: .*`# @package _global_`"),
        ("# @package _global_", "# Late.\n# @package _global_", r"mine\.yaml:1: .*`# @package _global_`"),
        ("/lr: cosine_short", "/lr: cosinus", r"mine\.yaml: lr: .*'cosinus' .*conf/lr/.*'cosine'"),
    ],
)
def test_a_preset_that_hydra_would_not_compose_is_refused(
    old: str, new: str, message: str, tmp_path: Path, own_conf: Path
) -> None:
    demo = (CONF / "experiment/demo.yaml").read_text(encoding="utf-8").replace(old, new)
    (own_conf / "experiment/mine.yaml").write_text(demo, encoding="utf-8")
    composition = composed(tmp_path, "experiment: mine\ndata: digits\nseed: 0\n", own_conf)
    with pytest.raises(ConfigError, match=message):
        composition.problems.raise_any()
