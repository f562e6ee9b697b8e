"""Numbers of trials on their way -> whether one that trains is not worth its end, by Optuna's pruners."""

import statistics
from collections.abc import Mapping, Sequence

import optuna
from optuna.pruners import MedianPruner, SuccessiveHalvingPruner
from optuna.samplers import RandomSampler
from optuna.trial import TrialState, create_trial

from bakeoff.sweep.manifest import Look, SweepJob
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.study import new_study, state_of

TRIALS_FIRST = 5  # that come to their end before the median counts
ONE_OF = 3  # goes on at each rung of successive halving


def why_give_up(
    search: Search, jobs: Sequence[SweepJob], looks: Mapping[int, Sequence[Look]], number: int
) -> str | None:
    """`looks` of each trial by its number, also of those that run; asked after each new one of trial `number`."""
    others = [job for job in jobs if job.number != number]
    judge = _by_halving if search.kind == "asha" else _by_median
    return judge(search, others, looks, looks[number])


def _by_median(
    search: Search, others: Sequence[SweepJob], looks: Mapping[int, Sequence[Look]], own: Sequence[Look]
) -> str | None:
    study = _study(search, MedianPruner(n_startup_trials=TRIALS_FIRST, n_min_trials=TRIALS_FIRST))
    step, there = own[-1][0], []
    for job in others:
        if state_of(job) == TrialState.COMPLETE:
            seen = dict(looks.get(job.number, ()))
            study.add_trial(create_trial(value=job.value, intermediate_values=seen))
            there += [seen[step]] if step in seen else []
    if not _verdict(study, own):
        return None
    best = search.best(value for _, value in own)
    return f"{search.short} {best:.3f} until step {step:,}, median {statistics.median(there):.3f}"


def _by_halving(
    search: Search, others: Sequence[SweepJob], looks: Mapping[int, Sequence[Look]], own: Sequence[Look]
) -> str | None:
    """Who came to a rung competes there, whatever became of it later."""
    first = max(1, min(seen[0][0] for seen in looks.values() if seen))
    step, value = own[-1]
    if own[-1] not in (climbed := _at_rungs(own, first)):
        return None
    study = _study(search, SuccessiveHalvingPruner(min_resource=first, reduction_factor=ONE_OF))
    for job in others:
        _verdict(study, _at_rungs(looks.get(job.number, ()), first))
    if not _verdict(study, climbed):
        return None
    return f"{search.short} {value:.3f} at step {step:,}, not among the best of {ONE_OF} there"


def _at_rungs(looks: Sequence[Look], first: int) -> list[Look]:
    """The first at or after each rung."""
    found, rung = [], first
    for look in looks:
        if look[0] >= rung:
            found.append(look)
            while rung <= look[0]:
                rung *= ONE_OF
    return found


def _study(search: Search, pruner: optuna.pruners.BasePruner) -> optuna.Study:
    return new_study(search, sampler=RandomSampler(seed=0), pruner=pruner)


def _verdict(study: optuna.Study, looks: Sequence[Look]) -> bool:
    """What the pruner says at the last of them; it notes what it was asked about."""
    trial, verdict = study.ask(), False
    for step, value in looks:
        trial.report(value, step)
        verdict = trial.should_prune()
    return verdict
