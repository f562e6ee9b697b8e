"""Numbers of trials on their way -> whether one that trains is not worth its end, by Optuna's pruners."""

import statistics
from collections.abc import Mapping, Sequence

import optuna
from optuna.pruners import BasePruner, MedianPruner, SuccessiveHalvingPruner
from optuna.samplers import RandomSampler
from optuna.trial import TrialState

from bakeoff.sweep.manifest import Look, SweepJob
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.study import new_study, state_of

TRIALS_FIRST = 5  # that come to their end before the median counts
ONE_OF = 3  # goes on at each rung of successive halving


def why_give_up(
    search: Search, jobs: Sequence[SweepJob], looks: Mapping[int, Sequence[Look]], number: int
) -> str | None:
    """`looks` of each trial by its number, also of those that run; asked after each new one of trial `number`."""
    own = looks[number]
    first = min(seen[0][0] for seen in looks.values() if seen)
    study = new_study(search, sampler=RandomSampler(seed=0), pruner=_pruner(search, first))
    for job in jobs:
        if job.number != number:
            _replay(study, looks.get(job.number, ()), job)
    if not _replay(study, own):
        return None
    step, value = own[-1]
    if search.kind == "asha":
        return f"{search.short} {value:.3f} at step {step:,}, not among the best of {ONE_OF} there"
    there = [dict(looks[job.number])[step] for job in _complete(jobs) if step in dict(looks.get(job.number, ()))]
    best = search.best(value for _, value in own)
    return f"{search.short} {best:.3f} until step {step:,}, median {statistics.median(there):.3f}"


def _replay(study: optuna.Study, looks: Sequence[Look], job: SweepJob | None = None) -> bool:
    """What the pruner says at the last of them."""
    trial, verdict = study.ask(), False
    for step, value in looks:
        trial.report(value, step)
        verdict = trial.should_prune()
    state = state_of(job) if job else TrialState.RUNNING
    if job is not None and state != TrialState.RUNNING:
        study.tell(trial, job.value if state == TrialState.COMPLETE else None, state=state)
    return verdict


def _complete(jobs: Sequence[SweepJob]) -> list[SweepJob]:
    return [job for job in jobs if state_of(job) == TrialState.COMPLETE]


def _pruner(search: Search, first_look: int) -> BasePruner:
    if search.kind == "asha":
        return SuccessiveHalvingPruner(min_resource=max(1, first_look), reduction_factor=ONE_OF)
    return MedianPruner(n_startup_trials=TRIALS_FIRST, n_min_trials=TRIALS_FIRST)
