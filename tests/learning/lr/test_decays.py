import math
from typing import Any

import numpy as np
import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.lr.decays import Constant, Cosine, Exponential, Polynomial
from bakeoff.learning.lr.schedule import Schedule


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
    schedule = Cosine(peak=1.0, warmup_steps=1).over(5, steps_per_epoch=10)
    assert rates(schedule, range(6)) == pytest.approx([0.5, 1, 0.5 + 0.5**1.5, 0.5, 0.5 - 0.5**1.5, 0])


def test_cosine_keeps_the_total_steps_that_it_was_given() -> None:
    assert Cosine(peak=1.0, total_steps=150).over(100, steps_per_epoch=10).total_steps == 150


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


def test_polynomial_of_power_one_is_a_line_that_ends_with_the_run() -> None:
    schedule = Polynomial(peak=1.0, end_rate=0.2).over(4, steps_per_epoch=10)
    assert rates(schedule, range(6)) == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2])


def test_polynomial_counts_from_the_end_of_its_warmup() -> None:
    schedule = Polynomial(peak=1.0, power=2.0, warmup_steps=2, warmup_from=0.5, total_steps=6)
    assert rates(schedule, range(7)) == pytest.approx([0.5, 0.75, 1.0, 0.5625, 0.25, 0.0625, 0.0])
    assert schedule.turns() == [(2, "fall"), (6, "end")]


@pytest.mark.parametrize(
    "schedule", [Constant(peak=0.1), Exponential(peak=0.1, decay_factor=0.9, decay_steps=10)], ids=lambda it: type(it)
)
def test_the_length_of_the_run_changes_nothing_in_constant_and_exponential(schedule: Schedule) -> None:
    assert schedule.over(123, steps_per_epoch=10) == schedule


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Constant, {"peak": 0.0}, r"^peak:\D+0\D+0\.0$"),
        (
            Constant,
            {"peak": 1.0, "warmup_steps": -1},
            r"^warmup_steps:\D+0\D+null\D+1/40\D+-1$",
        ),
        (Cosine, {"peak": -1.0}, r"^peak:\D+0\D+-1\.0$"),
        (Cosine, {"peak": 1.0, "hold_steps": -2}, r"^hold_steps:\D+0\D+-2$"),
        (
            Cosine,
            {"peak": 1.0, "warmup_steps": 5, "hold_steps": 3, "total_steps": 7},
            r"^total_steps:\D+8\D+7$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.0, "decay_steps": 1},
            r"^decay_factor:\D+0\D+1\D+0\.0$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 1.5, "decay_steps": 1},
            r"^decay_factor:\D+0\D+1\D+1\.5$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.5, "decay_steps": 0},
            r"^decay_steps:\D+1\D+0$",
        ),
        (Constant, {"peak": 1.0, "scale_with_batch": 0}, r"^scale_with_batch:\D+1\D+null\D+0$"),
        (
            Constant,
            {"peak": 1.0, "warmup_from": 1.5},
            r"^warmup_from:\D+0\D+peak=1\D+null\D+1\.5$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.5},
            r"^decay_steps:\D+decay_epochs\D+None$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.5, "decay_epochs": 0.0},
            r"^decay_epochs:\D+0\D+0\.0$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.5, "decay_steps": 1, "burn_in_steps": 2, "warmup_steps": 3},
            r"^burn_in_steps:\D+0\D+warmup_steps\D+3\D+2$",
        ),
        (
            Exponential,
            {"peak": 1.0, "decay_factor": 0.5, "decay_steps": 1, "burn_in_steps": 2, "burn_in_rate": 0.0},
            r"^burn_in_rate:\D+0\D+null\D+peak\D+0\.0$",
        ),
        (
            Exponential,
            {"peak": 0.1, "decay_factor": 0.5, "decay_steps": 1, "floor": 0.2},
            r"^floor:\D+0\D+peak=0\.1\D+0\.2$",
        ),
        (Polynomial, {"peak": 1.0, "end_rate": 2.0}, r"^end_rate:\D+0\D+peak=1\D+2\.0$"),
        (Polynomial, {"peak": 1.0, "power": 0.0}, r"^power:\D+0\D+0\.0$"),
        (
            Polynomial,
            {"peak": 1.0, "warmup_steps": 5, "total_steps": 4},
            r"^total_steps:\D+5\D+null\D+4$",
        ),
    ],
)
def test_senseless_schedule_is_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


def test_a_run_that_ends_before_the_cosine_begins_is_refused() -> None:
    with pytest.raises(OutOfRange, match=r"^total_steps:\D+50\D+50$"):
        Cosine(peak=1.0, warmup_steps=30, hold_steps=20).over(50, steps_per_epoch=10)


def test_a_cosine_that_ends_before_the_run_is_refused_with_the_step_from_which_the_rate_would_be_0() -> None:
    message = r"^total_steps:\D+4000\D+null\D+3000\D+0\D+3000"
    with pytest.raises(OutOfRange, match=message):
        Cosine(peak=1.0, total_steps=3000).over(4000, steps_per_epoch=10)


def test_warmup_from_a_rate_is_a_line_as_the_object_detection_api_draws_it() -> None:
    """warmup_lr + (base - warmup_lr) / warmup * step, while step < warmup."""
    schedule = Cosine(peak=0.8, warmup_steps=4, warmup_from=0.4, total_steps=10)
    assert rates(schedule, range(6)) == pytest.approx(
        [0.4, 0.5, 0.6, 0.7, 0.8, 0.4 * (1 + math.cos(math.pi / 6))], abs=1e-12
    )


@pytest.mark.parametrize("hold", [0, 7])
def test_cosine_is_the_object_detection_apis_at_every_step(hold: int) -> None:
    """Its formula with NumPy: base / 2 (1 + cos(pi (step - warmup - hold) / (total - warmup - hold))), 0 in the end."""
    base, start, warmup, total = 0.08, 0.02667, 20, 100
    step = np.arange(120)
    rate = 0.5 * base * (1 + np.cos(np.pi * (step - warmup - hold) / (total - warmup - hold)))
    rate = np.where(step > warmup + hold, rate, base) if hold else rate
    rate = np.where(step < warmup, start + (base - start) / warmup * step, rate)
    rate = np.where(step > total, 0.0, rate)
    schedule = Cosine(peak=base, warmup_steps=warmup, warmup_from=start, hold_steps=hold, total_steps=total)
    np.testing.assert_allclose(rates(schedule, range(120)), rate, atol=1e-12)


def test_burn_in_holds_its_own_rate_and_the_decay_counts_from_its_end() -> None:
    schedule = Exponential(peak=1.0, decay_factor=0.5, decay_steps=2, burn_in_steps=3, burn_in_rate=0.2)
    assert rates(schedule, range(9)) == pytest.approx([0.2, 0.2, 0.2, 1, 1, 0.5, 0.5, 0.25, 0.25])


def test_burn_in_without_a_rate_of_its_own_is_at_the_peak() -> None:
    schedule = Exponential(peak=1.0, decay_factor=0.5, decay_steps=1, burn_in_steps=2)
    assert rates(schedule, range(4)) == [1, 1, 1, 0.5]


def test_the_floor_holds_in_the_burn_in_too() -> None:
    schedule = Exponential(peak=1.0, decay_factor=0.5, decay_steps=1, burn_in_steps=1, burn_in_rate=0.01, floor=0.1)
    assert schedule(0) == 0.1


def test_decay_by_epochs_is_inceptions_decay() -> None:
    """0.1, x 0.16 every 30 epochs of 1,300 images at batch 32: int(1300 / 32 * 30) = 1,218 steps to a stair."""
    schedule = Exponential(peak=0.1, decay_factor=0.16, decay_epochs=30.0).over(5000, steps_per_epoch=1300 / 32)
    expected = [0.1 * 0.16 ** (step // 1218) for step in range(5000)]
    assert rates(schedule, range(5000)) == pytest.approx(expected)


def test_decay_by_steps_and_by_epochs_at_once_is_refused() -> None:
    schedule = Exponential(peak=0.1, decay_factor=0.5, decay_epochs=3.0, decay_steps=10)
    with pytest.raises(OutOfRange, match=r"^decay_steps:\D+null\D+decay_epochs\D+10$"):
        schedule.over(100, steps_per_epoch=10)


@pytest.mark.parametrize(
    "schedule",
    [
        Constant(peak=1.0, warmup_steps=100),
        Cosine(peak=1.0, warmup_steps=100),
        Exponential(peak=1.0, decay_factor=0.5, decay_steps=10, warmup_steps=100),
    ],
    ids=lambda it: type(it).__name__,
)
def test_a_warmup_as_long_as_the_run_is_refused(schedule: Schedule) -> None:
    with pytest.raises(OutOfRange, match=r"^warmup_steps:\D+100\D+100$"):
        schedule.over(100, steps_per_epoch=10)
    assert schedule.over(101, steps_per_epoch=10)(100) == pytest.approx(1.0)


def test_a_burn_in_as_long_as_the_run_is_refused() -> None:
    with pytest.raises(OutOfRange, match=r"^burn_in_steps:\D+5\D+5$"):
        Exponential(peak=1.0, decay_factor=0.5, decay_steps=10, burn_in_steps=5).over(5, steps_per_epoch=10)


def test_turns_are_where_the_course_changes() -> None:
    assert Constant(peak=1.0, warmup_steps=5).turns() == [(5, "peak")]
    assert Cosine(peak=1.0, warmup_steps=5, hold_steps=2, total_steps=9).turns() == [
        (5, "hold"),
        (7, "cosine"),
        (9, "zero"),
    ]
    assert Exponential(peak=1.0, decay_factor=0.5, decay_steps=1, burn_in_steps=3).turns() == [(3, "decay")]
