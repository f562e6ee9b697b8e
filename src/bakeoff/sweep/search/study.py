"""The trials of a manifest -> the next suggestion, by a study of Optuna that is made anew whenever it is asked.

The search, the trials so far and the number decide it, whichever process asks. Nothing of a study is kept.
"""

import hashlib
from collections.abc import Sequence

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import TrialState, create_trial

from bakeoff.sweep.manifest import JobState, SweepJob
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.space import Axis, Choice, Drawn, Space, Steps

STARTUP = 10  # trials that TPE draws at random
DRAWS = 10  # until something comes that was not tried


def suggestion(space: Space, search: Search, jobs: Sequence[SweepJob]) -> Drawn:
    """Return what no trial has drawn yet; the space must have such a point."""
    drawn = {job.number: space.parse_job(job) for job in jobs}
    distributions = {axis.key: _distribution(axis) for axis in space.axes}
    for draw in range(DRAWS):
        study = new_study(search, sampler=_sampler(search, _seed(search.seed, len(jobs) + 1, draw)))
        for job in jobs:
            state = state_of(job)
            study.add_trial(create_trial(
                state=state,
                value=job.value if state == TrialState.COMPLETE else None,
                params=dict(zip(distributions, drawn[job.number], strict=True)),
                distributions=distributions,
                intermediate_values=dict(job.looks),
            ))  # fmt: skip
        found = tuple(map(study.ask(distributions).params.__getitem__, distributions))
        if found not in drawn.values():
            return found
    return space.first_without(set(drawn.values()))


def new_study(search: Search, **more: object) -> optuna.Study:
    """Optuna says on its own what is said here in other words, or is no news."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    direction = "maximize" if search.direction == "max" else "minimize"
    return optuna.create_study(direction=direction, **more)  # type: ignore[arg-type]


def state_of(job: SweepJob) -> TrialState:
    """One that may still come to something holds its place, so that nobody is sent there again meanwhile."""
    if job.state == JobState.DONE and job.value is not None:
        return TrialState.COMPLETE
    if job.state == JobState.PRUNED:
        return TrialState.PRUNED
    return TrialState.RUNNING if job.state in (JobState.WAITING, JobState.RUNNING) else TrialState.FAIL


def _seed(*parts: int) -> int:
    """Each trial has its own, so that none needs to know how often others drew."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4])


def _sampler(search: Search, seed: int) -> BaseSampler:
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
