"""Verdicts on pairs of results that are small enough to judge by eye."""

from dataclasses import replace

import pytest

from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.reproduction_verdict import (
    Compared,
    MatchLevel,
    ReproductionVerdict,
    compare_config,
    compare_metrics,
    compare_records,
    compare_training,
    first_difference,
    reach_verdict,
)
from bakeoff.learning.checkpoints.trained_state import TrainedState
from support.messages import missing_in

HISTORY = (
    {"step": 2, "train/loss": 1.5, "examples_per_second": 100.0},
    {"step": 4, "train/loss": 1.25, "examples_per_second": 110.0},
    {"step": 4, "validation/accuracy": 0.5},
)
STATE = TrainedState(weights_sha256="5d" * 32, step=4, steps=4, ended_by="steps")
METRICS = {"accuracy": 0.5, "loss": 1.0, "recall": {"cat": 0.25}, "interval": {"accuracy": {"low": 0.4, "high": 0.6}}}
RUN_YAML = {"lr": {"peak": 0.1}, "track": {"kind": "mlflow"}, "variant": {"track": "mlflow"}, "digest": "1"}
FIRST = Recorded(
    "0f", "8d" * 20, run_yaml=RUN_YAML, records_digest="9c" * 32, state=STATE, history=HISTORY, metrics=METRICS
)
OTHER = replace(STATE, weights_sha256="6e" * 32)


def judged(
    *, state: TrainedState = STATE, history: tuple = HISTORY, metrics: dict = METRICS, first: Recorded = FIRST
) -> ReproductionVerdict:
    return reach_verdict(
        [
            compare_records(first, "9c" * 32),
            compare_config(first, RUN_YAML),
            compare_training(first, state, history),
            compare_metrics(first, metrics),
        ]
    )


def test_equal_weights_are_identical() -> None:
    verdict = judged()
    assert (verdict.outcome, verdict.stage, verdict.text) == (
        MatchLevel.IDENTICAL,
        None,
        "the same weights, SHA-256 5d5d5d5d5d5d",
    )


def test_the_speed_of_a_machine_is_no_difference() -> None:
    slower = tuple(line | {"examples_per_second": 1.0} if "train/loss" in line else line for line in HISTORY)
    assert first_difference(HISTORY, slower, 4) is None


def test_other_weights_with_metrics_in_their_intervals_are_within_tolerance_and_say_the_first_other_step() -> None:
    history = (HISTORY[0], HISTORY[1] | {"train/loss": 1.26}, HISTORY[2])
    verdict = judged(state=OTHER, history=history, metrics=METRICS | {"accuracy": 0.6})
    assert (verdict.outcome, verdict.stage) == (MatchLevel.WITHIN, "train")
    assert missing_in(verdict.text, "another history", "step 4", "train/loss is 1.26, was 1.25") == []
    assert missing_in(verdict.text, "other metrics", "accuracy is 0.6, was 0.5", "1 of them", "within") == []


def test_metrics_outside_of_their_interval_differ_at_the_first_stage_that_did() -> None:
    verdict = judged(state=OTHER, metrics=METRICS | {"accuracy": 0.61})
    assert (verdict.outcome, verdict.stage) == (MatchLevel.DIFFERS, "train")
    assert missing_in(verdict.text, "weights", "history", "is the same") == []
    same_weights = judged(metrics=METRICS | {"accuracy": 0.61})
    assert (same_weights.outcome, same_weights.stage) == (MatchLevel.DIFFERS, "evaluate")
    assert missing_in(same_weights.text, "outside", "accuracy is 0.61, was 0.5", "0.4 to 0.6") == []


def test_a_tolerance_judges_every_number_instead_of_the_intervals() -> None:
    near, far = METRICS | {"recall": {"cat": 0.26}}, METRICS | {"recall": {"cat": 0.3}}
    assert compare_metrics(FIRST, near, 0.02).within is True
    assert compare_metrics(FIRST, far, 0.02).within is False
    assert compare_metrics(FIRST, far).within is True  # recall has no interval, and accuracy is as it was


def test_without_intervals_other_metrics_are_not_within_anything() -> None:
    first = replace(FIRST, metrics={"accuracy": 0.5})
    verdict = compare_metrics(first, {"accuracy": 0.51})
    assert verdict.within is False
    assert missing_in(verdict.text, "accuracy is 0.51, was 0.5", "no intervals", "--tolerance") == []


def test_a_metric_that_is_gone_or_undefined_is_outside() -> None:
    assert compare_metrics(FIRST, {"loss": 1.0}).within is False
    assert compare_metrics(FIRST, METRICS | {"accuracy": None}).within is False


def test_an_interval_that_is_undefined_judges_nothing() -> None:
    first = replace(FIRST, metrics=METRICS | {"interval": {"accuracy": {"low": None, "high": None}}})
    assert compare_metrics(first, METRICS | {"accuracy": 0.9}).within is False


def test_other_records_differ_at_build_records() -> None:
    verdict = reach_verdict([compare_records(FIRST, "7a" * 32)])
    assert (verdict.outcome, verdict.stage) == (MatchLevel.DIFFERS, "build_records")
    assert verdict.text == "other records: digest 7a7a7a7a7a7a, was 9c9c9c9c9c9c"


def test_another_run_yaml_names_its_keys_but_not_where_copies_go() -> None:
    untracked = RUN_YAML | {"track": {"kind": "none"}, "variant": {"track": "none"}, "digest": "2"}
    assert compare_config(FIRST, untracked).same is True
    verdict = reach_verdict([compare_config(FIRST, untracked | {"lr": {"peak": 0.2}})])
    assert (verdict.outcome, verdict.stage, verdict.text) == (
        MatchLevel.DIFFERS, "render_config", "another run.yaml: lr.peak is 0.2, was 0.1",
    )  # fmt: skip


@pytest.mark.parametrize("ended_by", ["stop", "max_minutes"])
def test_a_run_that_was_cut_off_is_within_tolerance_if_its_history_is_the_same_to_there(ended_by: str) -> None:
    first = replace(FIRST, state=replace(STATE, steps=6, ended_by=ended_by))
    longer = (*HISTORY, {"step": 6, "train/loss": 1.0})
    verdict = reach_verdict([compare_training(first, replace(OTHER, step=6, steps=6), longer)])
    assert (verdict.outcome, missing_in(verdict.text, "same history", "4 steps")) == (MatchLevel.WITHIN, [])
    changed = (HISTORY[0] | {"train/loss": 1.75}, *longer[1:])
    verdict = reach_verdict([compare_training(first, replace(OTHER, step=6, steps=6), changed)])
    assert (verdict.outcome, verdict.stage) == (MatchLevel.DIFFERS, "train")


def test_a_line_that_only_one_history_has_is_a_difference() -> None:
    assert first_difference(HISTORY, HISTORY[:2], 4) == "step 4 (validation/accuracy is (absent), was 0.5)"


def test_losses_that_are_no_number_in_both_are_the_same() -> None:
    lost = ({"step": 2, "train/loss": float("nan")},)
    assert first_difference(lost, ({"step": 2, "train/loss": float("nan")},), 2) is None
    assert first_difference(lost, ({"step": 2, "train/loss": 1.0},), 2) == "step 2 (train/loss is 1.0, was nan)"


def test_equal_metrics_without_known_weights_are_within_tolerance_and_not_identical() -> None:
    first = replace(FIRST, state=TrainedState())
    verdict = judged(first=first)
    assert (verdict.outcome, verdict.stage) == (MatchLevel.WITHIN, None)
    assert verdict.text.endswith("no weights are known")


def test_nothing_known_is_not_called_the_same() -> None:
    assert reach_verdict([Compared("build_records", None, "")]).outcome == MatchLevel.DIFFERS


def test_the_first_stages_alone_can_be_identical() -> None:
    assert (
        reach_verdict([compare_records(FIRST, "9c" * 32), compare_config(FIRST, RUN_YAML)]).outcome
        == MatchLevel.IDENTICAL
    )
