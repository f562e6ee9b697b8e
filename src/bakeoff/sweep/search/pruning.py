"""What trials on their way saw at validation -> whether one that trains is not worth its end, by Optuna's pruners."""

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

from bakeoff import workspace
from bakeoff.runs.known import known_runs
from bakeoff.runs.status import Status
from bakeoff.sweep.manifest import Look, SweepJob
from bakeoff.sweep.running import last_run
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.study import new_study, state_of
from bakeoff.tracking import journal

TRIALS_FIRST = 5  # that come to their end before the median counts
ONE_OF = 3  # goes on at each rung of successive halving
SECONDS_BETWEEN_LOOKS = 1.0
HISTORY = "history.jsonl"  # of a run that tells nobody
AllLooks = Mapping[int, Sequence[Look]]  # by trial
IN_WORK = workspace.TRAINED.with_name(f"{workspace.TRAINED.name}.partial")


@dataclass
class Seen:
    values: dict[int, float] = field(default_factory=dict)  # by step
    offset: int = 0  # in the journal
    asked: float = float("-inf")


class OnTheWay:
    """What all trials that run saw of one metric so far, by their journals."""

    def __init__(self, metric: str) -> None:
        self._metric, self._seen = metric, dict[int, Seen]()

    def looks(self, job: SweepJob) -> tuple[Look, ...]:
        """Asked as often as one likes; files are read about once a second."""
        seen, now = self._seen.setdefault(job.number, Seen()), time.monotonic()
        if now - seen.asked >= SECONDS_BETWEEN_LOOKS:
            seen.asked = now
            run = last_run(job, known_runs())
            if run is not None and run.said is not None:
                for step, values in _new_entries(run.said, seen):
                    if (value := number_in(values, self._metric)) is not None:
                        seen.values[step] = value
        return tuple(sorted(seen.values.items()))


def _new_entries(said: Status, seen: Seen) -> Iterator[tuple[int, Mapping[str, Any]]]:
    folder = workspace.journals() / str(said.run_id)
    if not (folder / journal.FILE).is_file():
        yield from _history(Path(said.workspace) / IN_WORK / HISTORY)
        return
    for entry, end in journal.entries(folder, seen.offset):
        seen.offset = end
        if entry and entry["kind"] == "metrics":
            yield entry["step"], entry["values"]


def _history(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """As far as it is written; the last line may not be whole."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            values = json.loads(line)
            yield values["step"], values


def number_in(values: Mapping[str, Any], metric: str) -> float | None:
    value = values.get(metric)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def why_give_up(search: Search, jobs: Sequence[SweepJob], looks: AllLooks, number: int, *, judged: int) -> str | None:
    """`looks` of each trial by its number, also of those that run. Of trial `number` the first were `judged` already;
    each of the others is judged as if it were the last, for several may have come at once."""
    others = [job for job in jobs if job.number != number]
    judge = _judge_by_halving if search.kind == "asha" else _judge_by_median
    own = looks[number]
    verdicts = (judge(search, others, looks, own[:count]) for count in range(judged + 1, len(own) + 1))
    return next((verdict for verdict in verdicts if verdict), None)


def _judge_by_median(search: Search, others: Sequence[SweepJob], looks: AllLooks, own: Sequence[Look]) -> str | None:
    study = _study(search, MedianPruner(n_startup_trials=TRIALS_FIRST, n_min_trials=TRIALS_FIRST))
    step, there = own[-1][0], []
    for job in others:
        if state_of(job) == TrialState.COMPLETE:
            seen = dict(looks.get(job.number, ()))
            study.add_trial(create_trial(value=job.value, intermediate_values=seen))
            there += [seen[step]] if step in seen else []
    if not _is_pruned(study, own):
        return None
    best = search.best(value for _, value in own)
    return f"{search.short} {best:.3f} until step {step:,}, median {statistics.median(there):.3f}"


def _judge_by_halving(search: Search, others: Sequence[SweepJob], looks: AllLooks, own: Sequence[Look]) -> str | None:
    """Who came to a rung competes there, whatever became of it later."""
    first = max(1, min(seen[0][0] for seen in looks.values() if seen))
    step, value = own[-1]
    if own[-1] not in (climbed := _at_rungs(own, first)):
        return None
    study = _study(search, SuccessiveHalvingPruner(min_resource=first, reduction_factor=ONE_OF))
    for job in others:
        _is_pruned(study, _at_rungs(looks.get(job.number, ()), first))
    if not _is_pruned(study, climbed):
        return None
    return f"{search.short} {value:.3f} at step {step:,}, not among the best of {ONE_OF} there"


def _at_rungs(looks: Sequence[Look], first: int) -> list[Look]:
    """Return the first at or after each rung."""
    found, rung = [], first
    for look in looks:
        if look[0] >= rung:
            found.append(look)
            while rung <= look[0]:
                rung *= ONE_OF
    return found


def _study(search: Search, pruner: BasePruner) -> optuna.Study:
    return new_study(search, sampler=RandomSampler(seed=0), pruner=pruner)


def _is_pruned(study: optuna.Study, looks: Sequence[Look]) -> bool:
    """What the pruner says at the last of them; it notes what it was asked about."""
    trial, verdict = study.ask(), False
    for step, value in looks:
        trial.report(value, step)
        verdict = trial.should_prune()
    return verdict
