"""How long steps took, told by trainings and remembered for plans; and what a plan makes of it."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bakeoff.experiments.planning.step_time import Pace, pace_key, pace_of, remember, remembered, seconds_of
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.lr.decays import Constant, Cosine
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.plan.phases import Span, TrainingPhase
from bakeoff.learning.plan.train_settings import Train

SPAN = Span("all", first_step=0, steps=100, first_example=0, batch_size=8, rate_factor=1.0)
LEG = TrainingPhase(SPAN, Constant(0.1), (), "last")
TRAIN = Train(batch_size=8, steps=100)
MODEL = Cnn()


def line(step: int, speed: float | None) -> LogLine:
    return LogLine(step, {} if speed is None else {"examples_per_second": speed})


def test_the_pace_is_the_median_of_a_legs_own_lines_without_the_one_that_compiled() -> None:
    history = [line(10, 1.0), line(20, 80.0), line(25, None), line(30, 40.0), line(40, 20.0), line(110, 999.0)]
    assert pace_of(LEG, history, 8) == pytest.approx(8 / 40)
    second = replace(LEG, span=replace(SPAN, first_step=100, steps=50))
    assert pace_of(second, history, 8) is None


def test_a_leg_that_logged_hardly_anything_has_no_pace() -> None:
    assert pace_of(LEG, [line(50, 10.0), line(100, 20.0)], 8) is None


def test_the_median_of_the_newest_five_paces_of_a_kind_of_step_is_remembered(tmp_path: Path) -> None:
    file = tmp_path / "folder/paces.jsonl"
    assert remembered(file, "a") is None
    for key, seconds in (("a", 99.0), ("a", 98.0), ("b", 7.0), ("a", 0.5), ("a", 60.0), ("a", 0.25), ("a", 0.75)):
        remember(file, key, seconds)
    assert remembered(file, "a") == 0.75  # of 98, 0.5, 60, 0.25, 0.75
    assert (remembered(file, "b"), remembered(file, "c")) == (7.0, None)


def test_lines_that_a_crash_cut_off_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "paces.jsonl"
    remember(file, "a", 0.5)
    with file.open("a", encoding="utf-8") as lines:
        lines.write('{"key": "a", "seco\n[1]\n{"key": "a"}\n')
    assert remembered(file, "a") == 0.5


def test_a_time_limit_cuts_a_training_short_whose_pace_is_known_or_not() -> None:
    def seconds(minutes: float | None, pace: Pace | None) -> float | None:
        spans = [replace(SPAN, name="head", steps=10), replace(SPAN, name="whole", steps=4)]
        train, derived = replace(TRAIN, max_minutes=minutes), SimpleNamespace(phases=spans)
        return seconds_of(SimpleNamespace(train=train, derived=derived), pace)  # type: ignore[arg-type]

    pace = Pace({"head": 0.5, "whole": 20.0}, "before")
    assert (seconds(None, pace), seconds(1, pace), seconds(2, pace)) == (85.0, 60.0, 85.0)
    assert (seconds(None, None), seconds(1, None)) == (None, 60.0)


def test_the_rate_does_not_change_how_long_a_step_takes_but_what_is_trained_does() -> None:
    def key(model: Cnn = MODEL, leg: TrainingPhase = LEG, train: Train = TRAIN) -> str:
        return pace_key(model, 10, train, leg)

    assert key() == key(leg=replace(LEG, schedule=Cosine(1.0))) == key(train=replace(TRAIN, steps=7))
    others = [
        key(model=Cnn(width=2.0)), key(leg=replace(LEG, trainable=("head",))), pace_key(MODEL, 11, TRAIN, LEG),
        key(leg=replace(LEG, span=replace(SPAN, batch_size=16))), key(train=replace(TRAIN, accumulate_batches=2)),
    ]  # fmt: skip
    assert len({key(), *others}) == 6
