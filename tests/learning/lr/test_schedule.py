"""What every schedule promises, and the batch that its rates are meant for."""

import math
from typing import Any

import pytest

from bakeoff.learning.lr import SCHEDULES, batch_factor
from bakeoff.learning.lr.decays import Constant

EXAMPLES: dict[str, dict[str, Any]] = {
    "constant": {"peak": 0.25, "warmup_steps": 6},
    "cosine": {"peak": 0.25, "warmup_steps": 6, "hold_steps": 3},
    "exponential": {"peak": 0.25, "decay_factor": 0.7, "decay_steps": 5, "burn_in_steps": 6, "burn_in_rate": 0.1},
    "manual": {"boundaries": (6, 20), "rates": (0.1, 0.25, 0.05), "warmup": True},
    "one_cycle": {"peak": 0.25},
    "polynomial": {"peak": 0.25, "warmup_steps": 6, "power": 2.0},
}


@pytest.mark.parametrize("kind", sorted(SCHEDULES))
def test_every_schedule_is_finite_between_zero_and_its_peak_and_rises_once(kind: str) -> None:
    schedule = SCHEDULES[kind](**EXAMPLES[kind]).over(40, steps_per_epoch=8)
    values = [schedule(step) for step in range(100)]
    assert all(math.isfinite(value) for value in values)
    assert 0 <= min(values) and max(values) <= 0.25 and max(values) > 0.24
    top = values.index(max(values))
    assert values[:top] == sorted(values[:top])
    assert values[top:] == sorted(values[top:], reverse=True)


@pytest.mark.parametrize("kind", sorted(SCHEDULES))
def test_filling_in_a_schedule_that_is_filled_in_changes_nothing(kind: str) -> None:
    schedule = SCHEDULES[kind](**EXAMPLES[kind]).over(40, steps_per_epoch=8)
    assert schedule.over(40, steps_per_epoch=8) == schedule


@pytest.mark.parametrize("kind", sorted(SCHEDULES))
def test_turns_come_in_order_and_name_what_begins(kind: str) -> None:
    turns = SCHEDULES[kind](**EXAMPLES[kind]).over(40, steps_per_epoch=8).turns()
    assert turns == sorted(turns) and all(what for _, what in turns)


@pytest.mark.parametrize(("meant", "batch", "factor"), [(None, 32, 1.0), (256, 32, 0.125), (8, 32, 4.0)])
def test_a_rate_is_scaled_in_proportion_to_the_batch(meant: int | None, batch: int, factor: float) -> None:
    assert batch_factor(Constant(peak=1.0, scale_with_batch=meant), batch) == factor
