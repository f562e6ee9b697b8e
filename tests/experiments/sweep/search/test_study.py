"""The next suggestion follows from the search, its trials and the number alone."""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.search.space import Space, Values, parse_space
from bakeoff.experiments.sweep.search.study import suggest
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob
from support.imports import ROOT
from support.made_sweeps import sweep_job

OVERRIDES = ("lr.peak=tag(log,interval(0.001,0.3))", "lr=cosine,exponential", "train.ema_decay=interval(0,0.95)")
SPACE = parse_space(OVERRIDES, ROOT / "conf")


def quadratic(drawn: Values) -> float:
    """Return a number that is at most 1, at 0.02, cosine and 0.6."""
    peak, kind, decay = drawn
    away = math.log10(float(peak) / 0.02), float(decay) - 0.6
    return 1 - away[0] ** 2 / 4 - away[1] ** 2 - (0.1 if kind == "exponential" else 0)


def trial(space: Space, number: int, drawn: Values, state: JobState = JobState.DONE, value: float = 0.0) -> SweepJob:
    return sweep_job(
        number,
        configurations=(space.make_configuration(drawn).varied,),
        state=state,
        value=value if state == JobState.DONE else None,
    )


def searched(search: Search) -> list[SweepJob]:
    jobs: list[SweepJob] = []
    while len(jobs) < search.trials:
        drawn = suggest(SPACE, search, jobs)
        jobs.append(trial(SPACE, len(jobs) + 1, drawn, value=quadratic(drawn)))
    return jobs


def test_tpe_comes_nearer_than_random_configurations_on_the_same_budget() -> None:
    """Both kinds draw the same first ten."""
    wins = 0
    for seed in range(5):
        best = []
        for kind in ("tpe", "random"):
            jobs = searched(Search(kind, 20, "mAP_50", seed=seed))
            best.append(max(job.value or 0.0 for job in jobs))
        wins += best[0] >= best[1]
    assert wins >= 3


@pytest.mark.parametrize("direction", ["max", "min"])
def test_tpe_follows_the_direction(direction: str) -> None:
    """The value of each of the twenty configurations is its lr.peak."""
    random_ones = [suggest(SPACE, Search("random", 30, "x"), [])]
    jobs: list[SweepJob] = []
    for number in range(1, 21):
        random_ones.append(suggest(SPACE, Search("random", 30, "x"), jobs))
        jobs.append(trial(SPACE, number, random_ones[-1], value=math.log(float(random_ones[-1][0]))))
    values = [suggest(SPACE, Search("tpe", 30, "x", direction, seed), jobs)[0] for seed in range(9)]
    high = sum(float(peak) > math.sqrt(0.001 * 0.3) for peak in values)
    assert high >= 7 if direction == "max" else high <= 2


@pytest.mark.parametrize("kind", ["tpe", "random", "asha"])
def test_another_process_suggests_the_same_from_the_same_trials(kind: str) -> None:
    jobs = searched(Search(kind, 12, "mAP_50", seed=3))
    configurations = [job.configurations[0] for job in jobs]
    assert configurations == [job.configurations[0] for job in searched(Search(kind, 12, "mAP_50", seed=3))]
    assert configurations != [job.configurations[0] for job in searched(Search(kind, 12, "mAP_50", seed=4))]
    for known in (0, 5, 11):  # as after a kill
        assert (
            SPACE.make_configuration(suggest(SPACE, Search(kind, 30, "mAP_50", seed=3), jobs[:known])).varied
            == configurations[known]
        )
    if kind == "tpe":
        other = [*jobs[:10], trial(SPACE, 11, SPACE.parse_job(jobs[10]), value=-5.0)]
        assert suggest(SPACE, Search(kind, 12, "mAP_50", seed=3), other) != SPACE.parse_job(jobs[11])


def test_what_runs_is_not_sought_again() -> None:
    """A trial that runs counts as a bad one, so that the next keeps its distance from it."""
    search = Search("tpe", 40, "mAP_50", seed=1)
    jobs = searched(Search("tpe", 15, "mAP_50", seed=1))
    running: list[SweepJob] = []
    for number in range(16, 26):
        drawn = suggest(SPACE, search, [*jobs, *running])
        running.append(trial(SPACE, number, drawn, JobState.RUNNING))
    alone = [suggest(SPACE, Search("tpe", 40, "mAP_50", seed=seed), jobs) for seed in range(100, 110)]
    assert len({SPACE.parse_job(job) for job in running}) == 10
    assert spread([SPACE.parse_job(job) for job in running]) > spread(alone)


def spread(configurations: Sequence[Values]) -> float:
    decays = [float(configuration[2]) for configuration in configurations]
    return max(decays) - min(decays)


@pytest.mark.parametrize("state", [JobState.DONE, JobState.RUNNING, JobState.FAILED, JobState.REFUSED])
@pytest.mark.parametrize("kind", ["tpe", "random"])
def test_a_finite_space_is_drawn_to_its_last_configuration_and_none_twice(kind: str, state: JobState) -> None:
    space = parse_space(["seed=range(0,4)", "lr=cosine,constant", "train.steps=int(interval(5,6))"], ROOT / "conf")
    jobs: list[SweepJob] = []
    for number in range(1, 17):
        jobs.append(trial(space, number, suggest(space, Search(kind, 16, "x"), jobs), state, value=1.0))
    assert len({job.configurations[0] for job in jobs}) == space.size == 16


def test_trials_that_were_given_up_count_by_what_they_saw() -> None:
    """Ten good trials have peaks above 0.05, ten that were given up below 0.01. The next ones are above."""
    jobs = []
    for number in range(1, 21):
        peak = 0.05 * 1.15 ** (number - 10) if number > 10 else 0.001 * 1.2**number
        job = trial(SPACE, number, (peak, "cosine", 0.5), JobState.DONE if number > 10 else JobState.PRUNED, value=1.0)
        jobs.append(replace(job, validations=((10, 0.1),)))
    values = [suggest(SPACE, Search("tpe", 30, "x", seed=seed), jobs)[0] for seed in range(9)]
    assert sum(float(peak) > 0.02 for peak in values) >= 7


def test_optuna_is_loaded_by_nothing_but_a_search() -> None:
    loads = "import sys, bakeoff, bakeoff.experiments.sweep.launch, bakeoff.experiments.sweep.sweep_manifest"
    done = subprocess.run(
        [sys.executable, "-c", f"{loads}, bakeoff.experiments.sweep.plan_jobs; print('optuna' in sys.modules)"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "False", done.stderr
