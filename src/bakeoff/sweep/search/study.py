"""Trials of a manifest -> a study of Optuna in memory, made anew whenever it is asked. Nothing of it is kept."""

from collections.abc import Iterable

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState, create_trial

from bakeoff.sweep.manifest import JobState, SweepJob
from bakeoff.sweep.search.axes import Axis, Choice, Steps
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.space import Drawn, Space

STARTUP = 10  # trials that TPE draws at random


def study_of(space: Space, search: Search, jobs: Iterable[SweepJob], seed: int) -> optuna.Study:
    study = new_study(search, sampler=_sampler(search, seed))
    for job in jobs:
        study.add_trial(_trial(space, space.drawn(job), job))
    return study


def new_study(search: Search, **more: object) -> optuna.Study:
    """Optuna says on its own what is said here in other words, or is no news."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    direction = "maximize" if search.direction == "max" else "minimize"
    return optuna.create_study(direction=direction, **more)  # type: ignore[arg-type]


def distributions(space: Space) -> dict[str, BaseDistribution]:
    return {axis.key: _distribution(axis) for axis in space.axes}


def state_of(job: SweepJob) -> TrialState:
    """One that may still come to something holds its place, so that nobody is sent there again meanwhile."""
    if job.state == JobState.DONE and job.value is not None:
        return TrialState.COMPLETE
    if job.state == JobState.PRUNED:
        return TrialState.PRUNED
    return TrialState.RUNNING if job.state in (JobState.WAITING, JobState.RUNNING) else TrialState.FAIL


def _trial(space: Space, drawn: Drawn, job: SweepJob) -> FrozenTrial:
    state = state_of(job)
    return create_trial(
        state=state,
        value=job.value if state == TrialState.COMPLETE else None,
        params={axis.key: value for axis, value in zip(space.axes, drawn, strict=True)},
        distributions=distributions(space),
        intermediate_values=dict(job.looks),
    )


def _sampler(search: Search, seed: int) -> optuna.samplers.BaseSampler:
    if search.kind == "tpe":
        return TPESampler(seed=seed, n_startup_trials=STARTUP, constant_liar=True)
    return RandomSampler(seed=seed)


def _distribution(axis: Axis) -> BaseDistribution:
    if isinstance(axis, Choice):
        return CategoricalDistribution(axis.values)
    if isinstance(axis, Steps):
        return IntDistribution(0, len(axis.values) - 1)
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return FloatDistribution(axis.low, axis.high, log=axis.log)
