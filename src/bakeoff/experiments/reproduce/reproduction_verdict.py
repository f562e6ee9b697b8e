"""What came out, beside what came out the first time: stage by stage, and a verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.what_is_missing import is_cut_off
from bakeoff.foundation.formatting import format_names
from bakeoff.learning.checkpoints.history import CLOCK
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.run_file.parse import ABSENT, Difference, differences, flat

BUILD_RECORDS, RENDER_CONFIG, TRAIN, EVALUATE = STAGES = ("build_records", "render_config", "train", "evaluate")
REPORTING_KEYS = ("track", "variant.track", "digest")  # keys of run.yaml: where copies go, and the digest of the file
NAMED = 4


class MatchLevel(StrEnum):
    IDENTICAL = "identical"
    WITHIN = "within tolerance"
    DIFFERS = "differs"


@dataclass(frozen=True)
class Compared:
    """What comparing one stage came to. `same` is None if there was nothing to compare with."""

    stage: str
    same: bool | None
    text: str
    within: bool | None = None  # of train: as far as it can be compared; of evaluate: within tolerance


@dataclass(frozen=True)
class ReproductionVerdict:
    outcome: MatchLevel
    stage: str | None  # the first that differs
    text: str


def compare_records(recorded: Recorded, digest: str) -> Compared:
    before = recorded.records_digest
    if before is None:
        return Compared(BUILD_RECORDS, None, "no digest of the records is known")
    if before == digest:
        return Compared(BUILD_RECORDS, True, f"the same records, digest {digest[:12]}")
    return Compared(BUILD_RECORDS, False, f"other records: digest {digest[:12]}, was {before[:12]}")


def compare_config(recorded: Recorded, run_yaml: Mapping[str, Any]) -> Compared:
    if not recorded.run_yaml:
        return Compared(RENDER_CONFIG, None, "no run.yaml is known")
    reporting = tuple(f"{key}." for key in REPORTING_KEYS)
    pairs = [one for one in differences(recorded.run_yaml, run_yaml) if not f"{one.key}.".startswith(reporting)]
    if not pairs:
        return Compared(RENDER_CONFIG, True, "the same run.yaml")
    named = format_names([f"{pair.key} is {pair.other}, was {pair.one}" for pair in pairs], NAMED, "; ")
    return Compared(RENDER_CONFIG, False, f"another run.yaml: {named}")


def compare_training(recorded: Recorded, state: TrainedState, history: Sequence[Mapping[str, Any]]) -> Compared:
    if not recorded.state.is_known:
        return Compared(TRAIN, None, "no weights are known")
    before, now = str(recorded.state.weights_sha256), str(state.weights_sha256)
    if before == now:
        return Compared(TRAIN, True, f"the same weights, SHA-256 {now[:12]}")
    last = min(recorded.state.last_step, state.last_step)
    first = first_difference(recorded.history, history, last)
    if is_cut_off(recorded) and first is None and recorded.history:
        return Compared(TRAIN, None, f"the same history in all {last:,} steps that both took", within=True)
    if first is not None:
        return Compared(TRAIN, False, f"other weights, and another history from {first} on")
    lines = "though the history, which has six digits, is the same" if recorded.history else "no history is known"
    return Compared(TRAIN, False, f"other weights, SHA-256 {now[:12]}, was {before[:12]}; {lines}")


def first_difference(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]], last: int) -> str | None:
    """Return the first step and metric that differ, up to a step that both came to."""
    before, now = _by_step(one, last), _by_step(other, last)
    for step, key in sorted(before.keys() | now.keys(), key=lambda place: place[0]):
        a, b = before.get((step, key), ABSENT), now.get((step, key), ABSENT)
        if a != b and not (a != a and b != b):  # NaN differs from itself
            return f"step {step:,} ({key} is {b}, was {a})"
    return None


def compare_metrics(recorded: Recorded, metrics: Mapping[str, Any], tolerance: float | None = None) -> Compared:
    """Compare the metrics by a tolerance, if one is given, else by the first run's own intervals."""
    if not recorded.metrics:
        return Compared(EVALUATE, None, "no metrics are known")
    if not (pairs := differences(recorded.metrics, metrics)):
        return Compared(EVALUATE, True, f"the same metrics, all {len(flat(metrics))} numbers", within=True)
    before, now = _numbers(recorded.metrics), _numbers(metrics)
    bounds = _bounds(recorded.metrics, before, tolerance)
    outside = [
        f"{key} is {now.get(key, ABSENT)}, was {before[key]} ({low:.4g} to {high:.4g})"
        for key, (low, high) in bounds.items()
        if not low <= now.get(key, math.nan) <= high
    ]
    by = "the tolerance" if tolerance is not None else "their intervals"
    if not bounds:
        text = f"other metrics ({_first(pairs)}), and no intervals to judge them by; --tolerance gives one"
        return Compared(EVALUATE, False, text, within=False)
    if outside:
        text = f"metrics outside of {by}: {format_names(outside, NAMED, '; ')}"
        return Compared(EVALUATE, False, text, within=False)
    text = f"other metrics ({_first(pairs)}), {len(bounds)} of them judged, all within {by}"
    return Compared(EVALUATE, False, text, within=True)


def reach_verdict(compared: Sequence[Compared]) -> ReproductionVerdict:
    differing = next((entry for entry in compared if entry.same is False), None)
    by_stage = {entry.stage: entry for entry in compared}
    train, evaluate = by_stage.get(TRAIN), by_stage.get(EVALUATE)
    if differing is None:
        if any(entry.same for entry in compared) and not (train and train.same is None):
            return ReproductionVerdict(MatchLevel.IDENTICAL, None, (train or compared[-1]).text)
        if train and train.within:
            return ReproductionVerdict(MatchLevel.WITHIN, None, train.text)
        if evaluate and evaluate.same:
            return ReproductionVerdict(MatchLevel.WITHIN, None, f"{evaluate.text}; no weights are known")
        return ReproductionVerdict(MatchLevel.DIFFERS, None, "nothing is known that it could be compared with")
    if differing.stage in (TRAIN, EVALUATE) and evaluate and evaluate.within:
        text = differing.text if differing is evaluate else f"{differing.text}; {evaluate.text}"
        return ReproductionVerdict(MatchLevel.WITHIN, differing.stage, text)
    return ReproductionVerdict(MatchLevel.DIFFERS, differing.stage, differing.text)


def _by_step(history: Sequence[Mapping[str, Any]], last: int) -> dict[tuple[int, str], Any]:
    return {
        (line["step"], key): value
        for line in history
        for key, value in line.items()
        if line["step"] <= last and key not in ("step", *CLOCK)
    }


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    named = flat({key: value for key, value in metrics.items() if key != "interval"})
    return {key: value for key, value in named.items() if isinstance(value, int | float)}


def _bounds(
    metrics: Mapping[str, Any], before: Mapping[str, float], tolerance: float | None
) -> dict[str, tuple[float, float]]:
    if tolerance is not None:
        return {key: (value - tolerance, value + tolerance) for key, value in before.items()}
    intervals = metrics.get("interval") or {}
    ends = {key: (interval["low"], interval["high"]) for key, interval in intervals.items() if key in before}
    return {key: (low, high) for key, (low, high) in ends.items() if low is not None and high is not None}


def _first(pairs: Sequence[Difference]) -> str:
    pair = next((pair for pair in pairs if not pair.key.startswith("interval")), pairs[0])
    return f"{pair.key} is {pair.other}, was {pair.one}"
