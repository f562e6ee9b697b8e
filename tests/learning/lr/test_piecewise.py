from typing import Any

import numpy as np
import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.lr.decays import Polynomial
from bakeoff.learning.lr.piecewise import Manual, OneCycle
from bakeoff.learning.lr.schedule import Schedule


def rates(schedule: Schedule, steps: range) -> list[float]:
    return [schedule(step) for step in steps]


def test_manual_rates_change_at_their_boundaries() -> None:
    schedule = Manual(boundaries=(2, 5), rates=(0.1, 0.01, 0.001))
    assert rates(schedule, range(7)) == [0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001]
    assert schedule(10**9) == 0.001


def test_manual_without_boundaries_is_constant() -> None:
    assert rates(Manual(boundaries=(), rates=(0.5,)), range(3)) == [0.5, 0.5, 0.5]


def test_manual_warmup_is_a_line_to_the_second_rate_at_the_first_boundary() -> None:
    schedule = Manual(boundaries=(4, 6), rates=(0.0, 0.8, 0.1), warmup=True)
    assert rates(schedule, range(8)) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 0.8, 0.1, 0.1])


def test_one_cycle_follows_the_published_formula() -> None:
    """Cosine from peak / 25 up to the peak at 0.3 x 50 - 1, and down to that / 10,000 at the last step."""
    peak, steps = 2.0, 50
    low, top, last = peak / 25, 0.3 * steps - 1, steps - 1
    step = np.arange(steps)
    up = low + (peak - low) * (1 - np.cos(np.pi * step / top)) / 2
    down = peak + (low / 1e4 - peak) * (1 - np.cos(np.pi * (step - top) / (last - top))) / 2
    schedule = OneCycle(peak=peak).over(steps, steps_per_epoch=10)
    np.testing.assert_allclose(rates(schedule, range(steps)), np.where(step < top, up, down), rtol=1e-12)


def test_one_cycle_has_its_ends_and_its_peak_where_it_says() -> None:
    schedule = OneCycle(peak=1.0, rise_share=0.5, start_divisor=10.0, end_divisor=100.0).over(42, steps_per_epoch=10)
    assert [schedule(step) for step in (0, 20, 41, 1000)] == pytest.approx([0.1, 1.0, 0.001, 0.001])
    assert schedule.turns() == [(20, "fall"), (41, "end")]


@pytest.mark.parametrize("kind", [OneCycle, Polynomial])
def test_a_schedule_that_ends_before_the_run_is_refused(kind: type) -> None:
    message = r"^total_steps:\D+20\D+null\D+10\D.*\b10\D+$"
    with pytest.raises(OutOfRange, match=message):
        kind(peak=1.0, total_steps=10).over(20, steps_per_epoch=10)
    assert kind(peak=1.0, total_steps=30).over(20, steps_per_epoch=10).total_steps == 30


def test_a_manual_warmup_that_outlasts_the_run_is_refused() -> None:
    schedule = Manual(boundaries=(20,), rates=(0.1, 0.2), warmup=True)
    message = r"^boundaries:\D+20\D+\[20\]$"
    with pytest.raises(OutOfRange, match=message):
        schedule.over(20, steps_per_epoch=10)
    assert schedule.over(21, steps_per_epoch=10) == schedule


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (
            Manual,
            {"boundaries": (0,), "rates": (1.0, 2.0)},
            r"^boundaries:\D+0\D+\[0\]$",
        ),
        (Manual, {"boundaries": (5, 5), "rates": (1.0, 2.0, 3.0)}, r"^boundaries:\D+0\D+\[5, 5\]$"),
        (Manual, {"boundaries": (5,), "rates": (1.0,)}, r"^rates:\D+2\D+boundaries\D+\[1\.0\]$"),
        (Manual, {"boundaries": (5,), "rates": (1.0, -1.0)}, r"^rates:\D+0\D+\[1\.0, -1\.0\]$"),
        (
            Manual,
            {"boundaries": (), "rates": (1.0,), "warmup": True},
            "^warmup: .*false.*boundaries.*True$",
        ),
        (OneCycle, {"peak": 0.0}, r"^peak:\D+0\D+0\.0$"),
        (OneCycle, {"peak": 1.0, "rise_share": 1.0}, r"^rise_share:\D+0\D+1\D+1\.0$"),
        (OneCycle, {"peak": 1.0, "end_divisor": 0.5}, r"^end_divisor:\D+1\D+0\.5$"),
        (OneCycle, {"peak": 1.0, "total_steps": 1}, r"^total_steps:\D+2\D+null\D+1$"),
    ],
)
def test_senseless_schedule_is_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)
