"""Validation passes of running trials -> whether one of them is to be given up, by Optuna's pruners."""

import json
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.pruners import BasePruner, MedianPruner, SuccessiveHalvingPruner
from optuna.samplers import RandomSampler
from optuna.trial import TrialState, create_trial

from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.run_status import Status
from bakeoff.experiments.sweep.job_process import last_run
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.search.study import new_study, state_of
from bakeoff.experiments.sweep.sweep_manifest import SweepJob, ValidationPass
from bakeoff.foundation import workspace
from bakeoff.tracking.journal import journal
from bakeoff.tracking.journal.entries import MetricsEntry

TRIALS_FIRST = 5  # trials that must finish before the median counts
ONE_OF = 3  # one of so many trials continues at each rung of successive halving
SECONDS_BETWEEN_READS = 1.0
HISTORY = "history.jsonl"  # of a run that is not tracked, and so has no journal
AllPasses = Mapping[int, Sequence[ValidationPass]]  # by trial
IN_WORK = workspace.TRAINED.with_name(f"{workspace.TRAINED.name}.partial")


@dataclass
class TrialProgress:
    values: dict[int, float] = field(default_factory=dict)  # by step
    offset: int = 0  # in the journal
    asked: float = float("-inf")


class ProgressReader:
    """Reads the validation passes of running trials from their journals."""

    def __init__(self, metric: str) -> None:
        self._metric, self._seen = metric, dict[int, TrialProgress]()

    def read_passes(self, job: SweepJob) -> tuple[ValidationPass, ...]:
        """Return a trial's passes so far. It may be called often, but reads files only about once a second."""
        seen, now = self._seen.setdefault(job.number, TrialProgress()), time.monotonic()
        if now - seen.asked >= SECONDS_BETWEEN_READS:
            seen.asked = now
            run = last_run(job, known_runs())
            if run is not None and run.status is not None:
                for step, values in _read_new_entries(run.status, seen):
                    if (value := read_number(values, self._metric)) is not None:
                        seen.values[step] = value
        return tuple(sorted(seen.values.items()))


def _read_new_entries(status: Status, seen: TrialProgress) -> Iterator[tuple[int, Mapping[str, Any]]]:
    folder = workspace.journals() / str(status.run_id)
    if not (folder / journal.FILE).is_file():
        yield from _read_history(Path(status.workspace) / IN_WORK / HISTORY)
        return
    for entry, end in journal.entries(folder, seen.offset):
        seen.offset = end
        if isinstance(entry, MetricsEntry):
            yield entry.step, entry.values


def _read_history(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the whole lines of a history that is still being written."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            values = json.loads(line)
            yield values["step"], values


def read_number(values: Mapping[str, Any], metric: str) -> float | None:
    value = values.get(metric)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def find_pruning_reason(
    search: Search, jobs: Sequence[SweepJob], passes: AllPasses, number: int, *, judged: int
) -> str | None:
    """Return why trial `number` is to be given up, or None if it may continue.

    `passes` has those of every trial, also of running ones. The first `judged` passes of the trial were judged before.
    Several others may have come at once, so each is judged as if it were the last.
    """
    others = [job for job in jobs if job.number != number]
    judge = _judge_by_halving if search.kind == "asha" else _judge_by_median
    own_passes = passes[number]
    verdicts = (judge(search, others, passes, own_passes[:count]) for count in range(judged + 1, len(own_passes) + 1))
    return next((verdict for verdict in verdicts if verdict), None)


def _judge_by_median(
    search: Search, others: Sequence[SweepJob], passes: AllPasses, own_passes: Sequence[ValidationPass]
) -> str | None:
    study = _make_study(search, MedianPruner(n_startup_trials=TRIALS_FIRST, n_min_trials=TRIALS_FIRST))
    step, there = own_passes[-1][0], []
    for job in others:
        if state_of(job) == TrialState.COMPLETE:
            seen = dict(passes.get(job.number, ()))
            study.add_trial(create_trial(value=job.value, intermediate_values=seen))
            there += [seen[step]] if step in seen else []
    if not _is_pruned(study, own_passes):
        return None
    best = search.best(value for _, value in own_passes)
    return f"{search.short} {best:.3f} until step {step:,}, median {statistics.median(there):.3f}"


def _judge_by_halving(
    search: Search, others: Sequence[SweepJob], passes: AllPasses, own_passes: Sequence[ValidationPass]
) -> str | None:
    """Compare the trial with all that reached the same rung, whatever became of them later."""
    first = max(1, min(seen[0][0] for seen in passes.values() if seen))
    step, value = own_passes[-1]
    if own_passes[-1] not in (climbed := _select_at_rungs(own_passes, first)):
        return None
    study = _make_study(search, SuccessiveHalvingPruner(min_resource=first, reduction_factor=ONE_OF))
    for job in others:
        _is_pruned(study, _select_at_rungs(passes.get(job.number, ()), first))
    if not _is_pruned(study, climbed):
        return None
    return f"{search.short} {value:.3f} at step {step:,}, not among the best of {ONE_OF} there"


def _select_at_rungs(passes: Sequence[ValidationPass], first: int) -> list[ValidationPass]:
    """Return the first pass at or after each rung."""
    selected, rung = [], first
    for one in passes:
        if one[0] >= rung:
            selected.append(one)
            while rung <= one[0]:
                rung *= ONE_OF
    return selected


def _make_study(search: Search, pruner: BasePruner) -> optuna.Study:
    return new_study(search, sampler=RandomSampler(seed=0), pruner=pruner)


def _is_pruned(study: optuna.Study, passes: Sequence[ValidationPass]) -> bool:
    """Return the pruner's verdict on the last pass. The study keeps the passes as another trial."""
    trial, verdict = study.ask(), False
    for step, value in passes:
        trial.report(value, step)
        verdict = trial.should_prune()
    return verdict
