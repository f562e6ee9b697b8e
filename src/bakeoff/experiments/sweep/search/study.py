"""The trials of a manifest -> the next suggestion, by a study of Optuna that is made anew for each.

The search, the trials so far and the number decide it, in whichever process. No study is kept.
"""

import hashlib
from collections.abc import Sequence

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import TrialState, create_trial

from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.search.space import Axis, Categorical, Space, Steps, Values
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob

STARTUP = 10  # trials that TPE draws at random
DRAWS = 10  # attempts to draw values that were not tried


def suggest(space: Space, search: Search, jobs: Sequence[SweepJob]) -> Values:
    """Return values that no trial has drawn yet. The space must have some."""
    drawn = {job.number: space.parse_job(job) for job in jobs}
    distributions = {axis.key: _make_distribution(axis) for axis in space.axes}
    for draw in range(DRAWS):
        study = new_study(search, sampler=_make_sampler(search, _make_seed(search.seed, len(jobs) + 1, draw)))
        for job in jobs:
            state = state_of(job)
            study.add_trial(
                create_trial(
                    state=state,
                    value=job.value if state == TrialState.COMPLETE else None,
                    params=dict(zip(distributions, drawn[job.number], strict=True)),
                    distributions=distributions,
                    intermediate_values=dict(job.validations),
                )
            )
        suggested = tuple(map(study.ask(distributions).params.__getitem__, distributions))
        if suggested not in drawn.values():
            return suggested
    return space.first_without(set(drawn.values()))


def new_study(search: Search, **more: object) -> optuna.Study:
    """Return an empty study. Optuna's own messages are off, because the launcher reports the trials."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    direction = "maximize" if search.direction == "max" else "minimize"
    return optuna.create_study(direction=direction, **more)  # type: ignore[arg-type]


def state_of(job: SweepJob) -> TrialState:
    """Return the state of a job for Optuna. A job that may still get a value counts as running, so that no other trial
    gets the same values meanwhile."""
    if job.state == JobState.DONE and job.value is not None:
        return TrialState.COMPLETE
    if job.state == JobState.PRUNED:
        return TrialState.PRUNED
    return TrialState.RUNNING if job.state in (JobState.WAITING, JobState.RUNNING) else TrialState.FAIL


def _make_seed(*parts: int) -> int:
    """Return a seed for each trial of its own, so that none depends on how often others drew."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4])


def _make_sampler(search: Search, seed: int) -> BaseSampler:
    if search.kind == "tpe":
        return TPESampler(seed=seed, n_startup_trials=STARTUP, constant_liar=True)
    return RandomSampler(seed=seed)


def _make_distribution(axis: Axis) -> BaseDistribution:
    if isinstance(axis, Categorical):
        return CategoricalDistribution(axis.values)
    if isinstance(axis, Steps):
        return IntDistribution(0, len(axis.values) - 1)
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return FloatDistribution(axis.low, axis.high, log=axis.log)
