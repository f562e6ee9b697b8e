"""How long a command takes as a whole, from what earlier ones took: sums by hand."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.evaluation.settings import Evaluate
from bakeoff.experiments.planning import time_estimate as wholes
from bakeoff.experiments.planning.time_estimate import (
    ROUGH,
    ROUGH_VALIDATION,
    Pace,
    TrainingTimes,
    Whole,
    count_validations,
    known_pace,
    pace_key,
    pace_of,
    seconds_of,
    stage_key,
    step_seconds,
)
from bakeoff.export.settings import Export
from bakeoff.foundation import machine, workspace
from bakeoff.foundation.timings import read_durations
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.trained_state import TakenFrom, TrainedLineage, TrainedState
from bakeoff.learning.lr.decays import Constant, Cosine
from bakeoff.learning.lr.schedule import ENDLESS
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.plan.phases import Span, TrainingPhase
from bakeoff.learning.plan.train_settings import Train
from support.messages import missing_in

RUNS, UNCHANGED, CACHED = "runs", "unchanged", "from the cache"
SPAN = Span("all", first_step=0, steps=100, first_example=0, batch_size=8, rate_factor=1.0)
PHASE = TrainingPhase(SPAN, Constant(0.1), (), "last")
PACE = Pace({"all": 0.5}, "before")
ALL = {"build_records": UNCHANGED, "render_config": RUNS, "train": RUNS, "evaluate": RUNS, "export": CACHED}


def variant(**train: Any) -> Any:
    derived = SimpleNamespace(
        threads=None, phases=(SPAN,), steps=100, num_classes=10, train_examples=80, validation_examples=20, parameters=7
    )
    settings = replace(Train(batch_size=8, steps=100, validate_every_steps=50), **train)
    lr: Any = Constant(0.1)
    return SimpleNamespace(
        model=Cnn(), train=settings, lr=lr, derived=derived, evaluate=Evaluate(), export=Export(), memory=lr
    )


@pytest.fixture(autouse=True)
def place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "cores", lambda: 4)
    return place


def tell(what: str, key: str, seconds: float, cores: int = 4, **more: Any) -> None:
    workspace.durations().parent.mkdir(exist_ok=True)
    row = {"what": what, "key": key, "seconds": seconds, "cores": cores, "command": "1"} | more
    with workspace.durations().open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def line(step: int, speed: float | None) -> LogLine:
    return LogLine(step, {} if speed is None else {"examples_per_second": speed})


def test_the_pace_is_the_median_of_a_legs_own_lines_without_the_one_that_compiled() -> None:
    history = [line(10, 1.0), line(20, 80.0), line(25, None), line(30, 40.0), line(40, 20.0), line(110, 999.0)]
    assert pace_of(PHASE, history, 8) == pytest.approx(8 / 40)
    second = replace(PHASE, span=replace(SPAN, first_step=100, steps=50))
    assert pace_of(second, history, 8) is None


def test_a_leg_that_logged_hardly_anything_has_no_pace() -> None:
    assert pace_of(PHASE, [line(50, 10.0), line(100, 20.0)], 8) is None


def test_a_time_limit_cuts_a_training_short_whose_pace_is_known_or_not() -> None:
    def seconds(minutes: float | None, pace: Pace | None) -> float | None:
        spans = [replace(SPAN, name="head", steps=10), replace(SPAN, name="whole", steps=4)]
        run = variant(max_minutes=minutes)
        run.derived.phases = spans
        return seconds_of(run, pace)

    pace = Pace({"head": 0.5, "whole": 20.0}, "before")
    assert (seconds(None, pace), seconds(1, pace), seconds(2, pace)) == (85.0, 60.0, 85.0)
    assert (seconds(None, None), seconds(1, None)) == (None, 60.0)


def test_a_run_without_an_end_takes_as_long_as_its_limit_if_it_has_one() -> None:
    run, unbounded = variant(steps="unlimited", max_minutes=1), variant(steps="unlimited")
    for each in (run, unbounded):
        each.derived.steps, each.derived.phases = ENDLESS, (replace(SPAN, steps=ENDLESS),)
    assert (seconds_of(run, PACE), seconds_of(unbounded, PACE)) == (60.0, None)
    whole = Whole.of(unbounded, ALL, PACE)
    assert not whole.has_steps and whole.at_least < 1000
    assert Whole.of(run, ALL, PACE).seconds == pytest.approx(whole.at_least + 60.0 - ROUGH_VALIDATION)


@pytest.mark.parametrize(
    "train", [{"batch_size": 8, "steps": 7}, {"max_minutes": 3.0}, {"validate_every_steps": 3}, {"log_every_steps": 3}]
)
def test_what_no_step_takes_longer_for_changes_no_key_of_steps(train: dict[str, Any]) -> None:
    assert pace_key(variant(**train), replace(PHASE, schedule=Cosine(1.0))) == pace_key(variant(), PHASE)


def test_what_makes_a_step_longer_changes_its_key() -> None:
    larger, more_classes = variant(), variant()
    larger.model, more_classes.derived.num_classes = Cnn(width=2.0), 11
    keys = {
        pace_key(variant(), PHASE), pace_key(larger, PHASE), pace_key(more_classes, PHASE),
        pace_key(variant(), replace(PHASE, trainable=("head",))), pace_key(variant(accumulate_batches=2), PHASE),
        pace_key(variant(), replace(PHASE, span=replace(SPAN, batch_size=16))),
    }  # fmt: skip
    assert len(keys) == 6


def test_the_pace_of_steps_is_known_by_as_many_cores_or_else_as_much_slower() -> None:
    run = variant()
    assert known_pace(run) is None and step_seconds(run) == {"all": None}
    for seconds in (98.0, 0.5, 60.0, 0.25, 0.75):
        tell("step", pace_key(run, PHASE), seconds)
    tell("step", "of another network", 7.0)
    assert step_seconds(run) == {"all": 0.75} and step_seconds(run, cores=1) == {"all": 3.0}
    tell("step", pace_key(run, PHASE), 2.0, cores=1)
    assert step_seconds(run, cores=1) == {"all": 2.0}
    assert known_pace(run) == Pace({"all": 0.75}, "as such steps took here before")


def test_every_stage_that_runs_counts_and_dvc_and_nothing_else() -> None:
    run = variant()
    tell("render_config", "", 3.0)
    tell("train", stage_key("train", run), 99.0, rest=12.0, look=2.0, steps=40)
    tell("evaluate", stage_key("evaluate", run), 7.0)
    tell("export", stage_key("export", run), 1000.0)
    tell("dvc", "3", 4.0)
    whole = Whole.of(run, ALL, PACE)
    # 100 steps of 0.5 s, validation passes after 50 and 100.
    assert whole.stages == {"render_config": 3.0, "train": 12.0 + 50.0 + 2 * 2.0, "evaluate": 7.0, "dvc": 4.0}
    assert (whole.seconds, whole.known_from) == (80.0, "as measured here")
    tell("dvc", "0", 1.5)
    assert Whole.of(run, dict.fromkeys(ALL, UNCHANGED), PACE).stages == {"dvc": 1.5}


def test_without_a_measurement_other_variants_stand_for_it_then_a_rule_of_thumb() -> None:
    run = variant()
    tell("train", "another", 99.0, rest=30.0, look=1.0, steps=40)
    tell("evaluate", "another", 9.0)
    whole = Whole.of(run, ALL, PACE)
    assert whole.stages == {
        "render_config": ROUGH["render_config"],
        "train": 82.0,
        "evaluate": 9.0,
        "dvc": ROUGH["dvc"],
    }
    parts = "train, evaluate as others", "render_config, DVC by rule of thumb"
    assert missing_in(whole.known_from, *parts) == []
    workspace.durations().unlink()
    assert Whole.of(run, ALL, PACE).stages["train"] == ROUGH["train"] + 50.0 + 2 * ROUGH_VALIDATION
    assert Whole.of(run, ALL, PACE).known_from == "by rule of thumb"


def test_steps_of_no_known_pace_are_left_out_unless_as_long_a_training_was_seen() -> None:
    run = variant()
    whole = Whole.of(run, ALL, None)
    assert whole.seconds is None and whole.stages["train"] == ROUGH["train"] + 2 * ROUGH_VALIDATION
    assert whole.at_least == sum(whole.stages.values())
    tell("train", stage_key("train", run), 50.0, steps=99)
    assert Whole.of(run, ALL, None).seconds is None
    tell("train", stage_key("train", run), 60.0, steps=100)
    assert Whole.of(run, ALL, None).stages["train"] == 60.0


def test_a_limit_cuts_steps_and_looks_and_not_what_is_around_them() -> None:
    tell("train", "another", 99.0, rest=30.0, look=1.0, steps=40)
    assert Whole.of(variant(max_minutes=0.5), ALL, PACE).stages["train"] == 30.0 + 30.0


def test_the_median_of_the_newest_five_counts_and_rather_those_of_as_many_cores() -> None:
    run = variant()
    for seconds, cores in ((900.0, 4), (5.0, 4), (80.0, 4), (6.0, 4), (5.5, 4), (90.0, 4), (40.0, 1)):
        tell("render_config", "", seconds, cores)
    assert Whole.of(run, ALL, PACE).stages["render_config"] == 6.0  # of 5, 80, 6, 5.5 and 90
    assert Whole.of(run, ALL, PACE, cores=1).stages["render_config"] == 40.0
    assert Whole.of(run, ALL, PACE, cores=2).stages["render_config"] == 40.0  # by fewer cores: no quicker with more
    tell("evaluate", stage_key("evaluate", run), 8.0)
    assert Whole.of(run, ALL, PACE, cores=2).stages["evaluate"] == 16.0  # half the cores


def test_of_a_command_the_nearest_number_of_stages_counts() -> None:
    tell("job", "1", 2.0)
    tell("job", "4", 8.0)
    whole = Whole.of(variant(), ALL, PACE, by="job")  # three stages run
    assert whole.stages["job"] == 8.0 and "job itself as others" in whole.known_from


def test_what_changes_a_stage_s_time_changes_its_key() -> None:
    run = variant()
    others = variant(), variant(steps=7), variant(batch_size=8, log_every_steps=3)
    assert {stage_key("train", other) for other in others} == {stage_key("train", run)}
    run.evaluate = Evaluate(interval_samples=0)
    assert stage_key("evaluate", run) != stage_key("evaluate", variant())
    assert stage_key("train", run) == stage_key("train", variant())


@pytest.mark.parametrize(
    ("train", "passes"),
    [
        ({"validate_every_steps": 0}, 1), ({"validate_every_steps": 30}, 4), ({"validate_every_steps": 50}, 2),
        ({"validate_every_steps": 500}, 1), ({"validate_every_steps": 0, "validate_every_epochs": 2.5}, 4),
    ],
)  # fmt: skip
def test_validation_passes_come_by_steps_or_epochs_and_at_the_end(train: dict[str, Any], passes: int) -> None:
    assert count_validations(variant(**train)) == passes  # 2.5 epochs of 80 examples are 25 steps of 8


def test_a_training_tells_what_was_neither_step_nor_look(monkeypatch: pytest.MonkeyPatch) -> None:
    run, passes = variant(), TrainingTimes()
    monkeypatch.setattr(wholes, "known_pace", lambda run: PACE)
    monkeypatch.setattr(wholes, "seconds_here", lambda: 100.0)
    state = TrainedState("SUCCEEDED", step=60, lineage=TrainedLineage("f"))
    measured: dict[str, Any] = {"resumed_at_steps": []}
    passes.keep(run, state, measured)  # without a pass it was trained before
    for seconds in (9.0, 2.0, 2.0):
        passes.on_validation(LogLine(20, {}), seconds)
    passes.keep(run, replace(state, state="STOPPED"), measured)
    passes.keep(run, state, {"resumed_at_steps": [40]})
    passes.keep(run, replace(state, lineage=TrainedLineage("f", parents=(TakenFrom("e", 40),))), measured)
    passes.keep(run, state, measured)
    for step in (10, 20, 30):
        passes.on_log(line(step, 16.0))
    passes.keep(run, replace(state, state="STOPPED"), measured)
    *parts, whole, step_row, _ = read_durations()
    assert (step_row.what, step_row.key, step_row.seconds) == ("step", pace_key(run, PHASE), 0.5)
    assert {part.key for part in parts} == {"in part"} and len(parts) == 4
    assert (whole.seconds, whole.steps, whole.validation) == (100.0, 60.0, 2.0)
    assert whole.rest == 100.0 - 60 * 0.5 - 3 * 2.0
