"""The presets of three phases, and what a list of phases may not say."""

from typing import Any

import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.lr.decays import Constant
from bakeoff.learning.plan.train_settings import Init, Phase, Train
from bakeoff.learning.run_file.parse import Problems, parse, settings_tree
from bakeoff.learning.run_file.yaml_file import read_mapping
from support.imports import ROOT


@pytest.mark.parametrize(
    ("option", "first", "rates"),
    [
        ("three_phase", ("head",), (0.1, 0.001, 0.00001)),
        ("transfer", ("head",), (0.003, 0.001, 0.0001)),
        ("transfer_detector", ("neck", "head"), (0.003, 0.001, 0.0001)),
    ],
)
def test_presets_train_what_is_new_then_everything_then_everything_slowly(
    option: str, first: tuple[str, ...], rates: tuple[float, ...]
) -> None:
    problems = Problems(lambda key: option)
    tree: dict[str, Any] = {}
    for name in ("transfer", option) if option == "transfer_detector" else (option,):
        tree |= read_mapping(ROOT / f"conf/train/{name}.yaml")
    train = parse(Train, {key: value for key, value in tree.items() if key != "defaults"}, "train", problems)
    problems.raise_any()
    assert [(phase.lr, phase.trainable, phase.start) for phase in train.phases] == [
        (Constant(rates[0]), first, "last"), (Constant(rates[1]), (), "last"), (Constant(rates[2]), (), "last"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Phase, {"name": "head/1", "steps": 1}, r"^name: .*- and _.*'head/1'$"),
        (Phase, {"name": "head", "steps": 1, "epochs": 2.0},
         r"^steps: .*null.*epochs\D+2\.0.*\b1$"),
        (Train, {"batch_size": 1, "phases": (Phase("a"),)}, r"^steps: .*epochs is null.*None$"),
        (Train, {"batch_size": 1, "phases": (Phase("a", 1), Phase("b"))},
         r"^phases: .*length.*\[True, False\]$"),
        (Phase, {"name": "head", "steps": 1, "batch_size": 0}, r"^batch_size:\D+1\D+null\D+0$"),
        (Train, {"batch_size": 1, "steps": 3, "phases": (Phase("a", 1),)},
         r"^steps: .*null.*phase.*\b3$"),
        (Train, {"batch_size": 1, "phases": (Phase("a", 1), Phase("a", 2))},
         r"^phases: .*names.*\['a', 'a'\]$"),
        (Train, {"batch_size": 1, "phases": (Phase("a", 1, start="best"),)},
         r"^phases: .*`start`.*first.*init\.weights.*'best'$"),
        (Train, {"batch_size": 1, "steps": 1, "ema_decay": 1.0},
         r"^ema_decay:\D+0\D+1\D+1\.0$"),
        (Train, {"batch_size": 1, "steps": 1, "accumulate_batches": 0},
         r"^accumulate_batches:\D+1\D+0$"),
        (Train, {"batch_size": 1, "steps": 1, "checkpoint_every_steps": 0},
         r"^checkpoint_every_steps:\D+1\D+0$"),
        (Train, {"batch_size": 1, "steps": 1, "keep_every_steps": 150},
         r"^keep_every_steps:\D+0\D+checkpoint_every_steps=100\D+150$"),
        (Train, {"batch_size": 1, "steps": 1, "keep_every_steps": -100},
         r"^keep_every_steps:\D+0\D.*-100$"),
        (Train, {"batch_size": 1, "steps": 1, "steps_per_call": 0},
         r"^steps_per_call:\D+1\D+auto\D+0$"),
        (Train, {"batch_size": 1, "steps": 1, "validate_every_epochs": 0.0},
         r"^validate_every_epochs:\D+0\D+null\D+0\.0$"),
        (Train, {"batch_size": 1, "steps": 1, "validate_every_epochs": 1.0, "validate_every_steps": 5},
         r"^validate_every_steps:\D+0\D+validate_every_epochs\D+5$"),
        (Train, {"batch_size": 1, "steps": 1, "validate_examples": 0},
         r"^validate_examples:\D+1\D+null\D+0$"),
        (Train, {"batch_size": 1, "steps": 1, "samples": 65}, r"^samples:\D+0\D+64\D+65$"),
        (Train, {"batch_size": 1, "steps": 1, "samples_mb": 0.0}, r"^samples_mb:\D+0\D.*\b0\.0$"),
        (
            Train,
            {"batch_size": 1, "steps": 1, "gradient_histograms": True},
            r"^gradient_histograms: .*false.*tensorboard: true.*True$",
        ),
        (Train, {"batch_size": 1, "steps": 1, "devices": 0}, r"^devices:\D+1\D+all\D+gpu\D+cpu\D+0$"),
        (Init, {"weights": " "}, r"^weights: .*none.*imagenet.*path.*run.*' '$"),
    ],
)  # fmt: skip
def test_senseless_phases_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"phases": (Phase("a", 1, quantize=True), Phase("b", 1))}, r"^phases\[0\]\.quantize: .*false.*b.*a.*True$"),
        ({"phases": (Phase("a", 1, quantize=True),), "mixed_precision": True}, r"^mixed_precision: .*false.*True$"),
    ],
)
def test_only_the_last_phase_can_learn_in_eight_bits_and_only_in_full_precision(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(OutOfRange, match=message):
        Train(1, **fields)
    with pytest.raises(OutOfRange, match=r"^steps: .*1 or more.*\b0$"):
        Phase("a", 0, quantize=True)


def test_a_phase_without_eight_bits_is_written_as_before() -> None:
    plain, eight = (settings_tree(Train(1, phases=(Phase("a", 1, quantize=one),))) for one in (False, True))
    assert "quantize" not in plain["phases"][0] and eight["phases"][0]["quantize"] is True
    problems = Problems(lambda key: "run.yaml")
    assert parse(Train, eight, "train", problems).quantizes and not parse(Train, plain, "train", problems).quantizes
