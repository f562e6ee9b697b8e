"""A trial that trains is given up by the numbers of the others at the same step, counted here by hand."""

import pytest

from bakeoff.sweep.manifest import JobState, Look, SweepJob
from bakeoff.sweep.search.giving_up import why_give_up
from bakeoff.sweep.search.settings import Search
from made_sweeps import sweep_job

MEDIAN, LEAST, ASHA = Search("tpe", 30, "mAP_50"), Search("random", 30, "loss", "min"), Search("asha", 30, "mAP_50")
OTHERS = (0.1, 0.5, 0.3, 0.2, 0.4)  # median 0.3


def why(search: Search, looks: dict[int, tuple[Look, ...]], *, running: tuple[int, ...] = ()) -> str | None:
    """Of the trial with the highest number; the others are done, or run as well."""
    own = max(looks)
    return why_give_up(search, [job(number, looks[number], number in (own, *running)) for number in looks], looks, own)


def job(number: int, looks: tuple[Look, ...], runs: bool) -> SweepJob:
    state = JobState.RUNNING if runs else JobState.DONE
    return sweep_job(number, state=state, value=None if runs else looks[-1][1], looks=() if runs else looks)


def done(*values: float, step: int = 10) -> dict[int, tuple[Look, ...]]:
    return {number: ((step, value),) for number, value in enumerate(values, 1)}


@pytest.mark.parametrize(
    ("search", "value", "said"),
    [
        (MEDIAN, 0.29, "mAP_50 0.290 until step 10, median 0.300"),
        (MEDIAN, 0.31, None),
        (LEAST, 0.31, "loss 0.310 until step 10, median 0.300"),
        (LEAST, 0.29, None),
    ],
)
def test_what_is_worse_than_the_median_of_those_that_are_done_is_given_up(
    search: Search, value: float, said: str | None
) -> None:
    assert why(search, done(*OTHERS, value)) == said


def test_the_median_counts_once_five_are_done_and_where_five_have_looked() -> None:
    assert why(MEDIAN, done(*OTHERS[:4], 0.01)) is None
    assert why(MEDIAN, done(*OTHERS, 0.01), running=(3,)) is None
    assert why(MEDIAN, done(*OTHERS) | {6: ((7, 0.01),)}) is None  # nobody has looked at step 7
    assert why(MEDIAN, done(*OTHERS) | {6: ((10, 0.01),)}) is not None


def test_the_best_look_so_far_counts_not_the_last() -> None:
    two = {number: ((10, 0.1), (20, value)) for number, value in enumerate(OTHERS, 1)}
    assert why(MEDIAN, two | {6: ((10, 0.35), (20, 0.05))}) is None
    assert why(MEDIAN, two | {6: ((10, 0.25), (20, 0.05))}) == "mAP_50 0.250 until step 20, median 0.300"


@pytest.mark.parametrize(
    ("others", "value", "goes_on"),
    [
        ((), 0.1, True),  # nobody to compare with
        ((0.1, 0.2), 0.3, True),
        ((0.1, 0.3), 0.2, False),
        ((0.1, 0.2, 0.3, 0.5, 0.6), 0.55, True),  # the two best of six
        ((0.1, 0.2, 0.3, 0.5, 0.6), 0.45, False),
    ],
)
def test_successive_halving_lets_one_of_three_go_on(others: tuple[float, ...], value: float, goes_on: bool) -> None:
    said = why(ASHA, done(*others, value))
    assert said == (None if goes_on else f"mAP_50 {value:.3f} at step 10, not among the best of 3 there")


def test_rungs_of_successive_halving_are_at_one_three_and_nine_times_the_first_look() -> None:
    good = ((10, 0.9), (20, 0.9), (30, 0.9), (40, 0.9), (60, 0.9), (90, 0.9))
    late = [(10, 1.0), (20, 0.1), (30, 1.0), (40, 0.1), (60, 0.1), (90, 0.1)]
    said = [why(ASHA, {1: good, 2: good, 3: good, 4: tuple(late[:seen])}) for seen in range(1, 7)]
    assert said == [None] * 5 + ["mAP_50 0.100 at step 90, not among the best of 3 there"]


def test_successive_halving_compares_with_those_that_still_run() -> None:
    looks = done(0.5, 0.4, 0.3)
    assert why(ASHA, looks, running=(1, 2)) is not None
    assert why(ASHA, {3: looks[3]}) is None
