import math
from typing import Any

import pytest

from bakeoff.errors import OutOfRange
from bakeoff.lr import SCHEDULES, Constant, Cosine, Exponential, Schedule


def rates(schedule: Schedule, steps: range) -> list[float]:
    return [schedule(step) for step in steps]


def test_constant_without_warmup_is_at_its_peak_from_the_first_step() -> None:
    assert rates(Constant(peak=0.3), range(3)) == [0.3, 0.3, 0.3]


def test_warmup_climbs_in_equal_parts_and_is_over_at_its_last_step() -> None:
    assert rates(Constant(peak=0.8, warmup_steps=3), range(6)) == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_cosine_follows_its_closed_form_from_the_first_step_to_beyond_the_last() -> None:
    schedule = Cosine(peak=2.0, warmup_steps=3, hold_steps=2, total_steps=13)
    expected = {
        0: 0.5,  # a quarter of the way up
        2: 1.5,
        3: 2.0,  # the end of the warm-up
        4: 2.0,  # held
        5: 2.0,  # the cosine begins: cos 0
        7: 1 + math.sqrt(0.5),  # cos 45 degrees
        9: 1.0,  # cos 90 degrees
        11: 1 - math.sqrt(0.5),  # cos 135 degrees
        12: 2 * math.sin(math.pi / 16) ** 2,  # the last step; 1 + cos(7/8 pi) = 2 sin(pi/16) squared
        13: 0.0,
        14: 0.0,
        10_000: 0.0,
    }
    assert {step: schedule(step) for step in expected} == pytest.approx(expected, abs=1e-12)


def test_cosine_without_total_steps_takes_as_many_as_the_run_has() -> None:
    schedule = Cosine(peak=1.0, warmup_steps=1).over(5)
    assert rates(schedule, range(6)) == pytest.approx([0.5, 1, 0.5 + 0.5**1.5, 0.5, 0.5 - 0.5**1.5, 0])


def test_cosine_keeps_the_total_steps_that_it_was_given() -> None:
    assert Cosine(peak=1.0, total_steps=7).over(100).total_steps == 7


def test_exponential_in_stairs_keeps_each_rate_for_decay_steps() -> None:
    schedule = Exponential(peak=1.0, decay_factor=0.5, decay_steps=3)
    assert rates(schedule, range(8)) == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_smooth_exponential_falls_by_the_same_factor_every_step() -> None:
    schedule = Exponential(peak=8.0, decay_factor=0.25, decay_steps=4, staircase=False)
    halved_every_two = [8 / math.sqrt(2) ** step for step in range(6)]
    assert rates(schedule, range(6)) == pytest.approx(halved_every_two)


@pytest.mark.parametrize("staircase", [True, False])
def test_exponential_decay_starts_to_count_when_the_warmup_is_over(staircase: bool) -> None:
    schedule = Exponential(peak=1.0, decay_factor=0.1, decay_steps=2, staircase=staircase, warmup_steps=4)
    assert [schedule(step) for step in (0, 3, 4, 6, 8)] == pytest.approx([0.2, 0.8, 1, 0.1, 0.01])


def test_exponential_never_falls_under_its_floor() -> None:
    schedule = Exponential(peak=1.0, decay_factor=0.1, decay_steps=1, floor=0.05)
    assert rates(schedule, range(4)) == pytest.approx([1, 0.1, 0.05, 0.05])
    assert schedule(10**9) == 0.05


@pytest.mark.parametrize(
    "schedule", [Constant(peak=0.1), Exponential(peak=0.1, decay_factor=0.9, decay_steps=10)], ids=lambda it: type(it)
)
def test_the_length_of_the_run_changes_nothing_in_constant_and_exponential(schedule: Schedule) -> None:
    assert schedule.over(123) == schedule


@pytest.mark.parametrize("kind", sorted(SCHEDULES))
def test_every_schedule_stays_between_zero_and_its_peak(kind: str) -> None:
    own: dict[str, dict[str, Any]] = {"exponential": {"decay_factor": 0.7, "decay_steps": 5}}
    schedule = SCHEDULES[kind](peak=0.25, warmup_steps=6, **own.get(kind, {})).over(40)
    values = rates(schedule, range(100))
    assert 0 <= min(values) and max(values) == 0.25
    assert values[:7] == sorted(values[:7]) and len(set(values[:7])) == 7
    assert values[6:] == sorted(values[6:], reverse=True)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Constant, {"peak": 0.0}, r"^peak: must be above 0, got 0\.0$"),
        (Constant, {"peak": 1.0, "warmup_steps": -1}, r"^warmup_steps: must be 0 or more, got -1$"),
        (Cosine, {"peak": -1.0}, r"^peak: must be above 0, got -1\.0$"),
        (Cosine, {"peak": 1.0, "hold_steps": -2}, r"^hold_steps: must be 0 or more, got -2$"),
        (
            Cosine,
            {"peak": 1.0, "warmup_steps": 5, "hold_steps": 3, "total_steps": 8},
            r"^total_steps: must be above warm-up and hold, 8, got 8$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.0, "decay_steps": 1},
            r"^decay_factor: must be above 0, at most 1, got 0\.0$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 1.5, "decay_steps": 1},
            r"^decay_factor: must be above 0, at most 1, got 1\.5$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.5, "decay_steps": 0},
            r"^decay_steps: must be 1 or more, got 0$",
        ),
        (
            Exponential,
            {"peak": 0.1, "decay_factor": 0.5, "decay_steps": 1, "floor": 0.2},
            r"^floor: must be between 0 and peak=0\.1, got 0\.2$",
        ),
    ],
)
def test_senseless_schedule_is_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


def test_run_that_ends_before_the_cosine_begins_is_refused() -> None:
    with pytest.raises(OutOfRange, match=r"^total_steps: must be above warm-up and hold, 50, got 50$"):
        Cosine(peak=1.0, warmup_steps=50).over(50)
