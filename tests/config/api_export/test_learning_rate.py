"""The rates that API would compute from what is written, by its formulas written anew, against the schedule's own."""

import math
import re
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from bakeoff.config.api_export.learning_rate import describe_schedule
from bakeoff.config.api_export.messages import format_text, new_message
from bakeoff.importing.api_config.fields import Block, ConversionReport
from bakeoff.importing.api_config.pipeline_reader import find_places
from bakeoff.importing.api_config.training import read_schedule
from bakeoff.learning.lr import SCHEDULES
from bakeoff.learning.lr.decays import Constant, Cosine, Exponential, Polynomial
from bakeoff.learning.lr.piecewise import Manual, OneCycle
from bakeoff.learning.lr.schedule import Schedule
from bakeoff.learning.run_file.parse import Problems, parse_kind

FLOAT32 = 1e-6  # relative


def rates_of(learning_rate: Any, steps: int) -> np.ndarray:
    """Rates at steps 0 to `steps` - 1: utils/learning_schedules.py of that API, in NumPy."""
    step = np.arange(steps)
    which = learning_rate.WhichOneof("learning_rate")
    message = getattr(learning_rate, which)
    if which == "constant_learning_rate":
        return np.full(steps, message.learning_rate)
    if which == "exponential_decay_learning_rate":
        power = (step - message.burnin_steps) / message.decay_steps
        power = np.floor(power) if message.staircase else power
        rate = message.initial_learning_rate * message.decay_factor**power
        burn_in = message.burnin_learning_rate or message.initial_learning_rate
        return np.maximum(np.where(step < message.burnin_steps, burn_in, rate), message.min_learning_rate)
    if which == "cosine_decay_learning_rate":
        return _cosine(message, step)
    return _manual(message, step)


def _cosine(message: Any, step: np.ndarray) -> np.ndarray:
    base, warmup, total = message.learning_rate_base, message.warmup_steps, message.total_steps
    held = warmup + message.hold_base_rate_steps
    assert total >= warmup
    rate = 0.5 * base * (1 + np.cos(np.pi * (step - held) / (total - held)))
    if message.hold_base_rate_steps:
        rate = np.where(step > held, rate, base)
    if warmup:
        assert base >= message.warmup_learning_rate
        line = message.warmup_learning_rate + (base - message.warmup_learning_rate) / warmup * step
        rate = np.where(step < warmup, line, rate)
    return np.where(step > total, 0.0, rate)


def _manual(message: Any, step: np.ndarray) -> np.ndarray:
    boundaries = [entry.step for entry in message.schedule]
    rates = [message.initial_learning_rate, *(entry.learning_rate for entry in message.schedule)]
    assert boundaries and boundaries[0] > 0 and all(np.diff(boundaries) > 0)
    rate = np.array(rates)[np.searchsorted(boundaries, step, side="right")]
    if message.warmup:
        line = rates[0] + (rates[1] - rates[0]) / boundaries[0] * step
        rate = np.where(step < boundaries[0], line, rate)
    return rate


def as_that_api(schedule: Schedule, steps: int, factor: float = 1.0) -> tuple[Any, str]:
    """A schedule as protobuf reads what is written of it, and that text."""
    text = format_text({"learning_rate": describe_schedule(schedule, steps, factor)}, "MomentumOptimizer")
    return text_format.Parse(text, new_message("MomentumOptimizer")).learning_rate, text


STEPS = 1000
EXACT = {
    "constant": Constant(0.01),
    "constant, warmed up": Constant(0.01, warmup_steps=100),
    "constant, warmed up from": Constant(0.01, warmup_steps=100, warmup_from=0.002),
    "stairs": Exponential(0.0008, decay_factor=0.95, decay_steps=200),
    "smooth": Exponential(0.0008, decay_factor=0.95, decay_steps=200, staircase=False),
    "with a floor": Exponential(0.1, decay_factor=0.5, decay_steps=100, floor=0.01),
    "burn-in": Exponential(0.1, decay_factor=0.9, decay_steps=100, burn_in_steps=150, burn_in_rate=0.03),
    "burn-in at the peak": Exponential(0.1, decay_factor=0.9, decay_steps=70, burn_in_steps=150),
    "burn-in under the floor": Exponential(
        0.1, decay_factor=0.9, decay_steps=70, burn_in_steps=150, burn_in_rate=0.001, floor=0.02
    ),
    "stairs after a warm-up": Exponential(0.1, decay_factor=0.9, decay_steps=100, warmup_steps=50),
    "stairs after a warm-up, to a floor": Exponential(
        0.1, decay_factor=0.5, decay_steps=90, warmup_steps=50, floor=0.02
    ),
    "cosine": Cosine(0.08),
    "cosine, warmed up": Cosine(0.08, warmup_steps=100),
    "cosine, warmed up from": Cosine(0.08, warmup_steps=100, warmup_from=0.026666),
    "cosine, warmed up from 0": Cosine(0.08, warmup_steps=100, warmup_from=0.0),
    "cosine with a hold": Cosine(0.08, warmup_steps=100, hold_steps=200),
    "cosine with a hold only": Cosine(0.08, hold_steps=200),
    "cosine longer than the run": Cosine(0.08, warmup_steps=10, total_steps=5000),
    "manual": Manual((100, 300, 900), (0.1, 0.05, 0.001, 0.0)),
    "manual, warmed up": Manual((100, 300), (0.01, 0.1, 0.05), warmup=True),
    "manual, warmed down": Manual((100, 300), (0.2, 0.1, 0.05), warmup=True),
    "manual with one rate": Manual((), (0.3,)),
}


@pytest.mark.parametrize("factor", [1.0, 0.0625])
@pytest.mark.parametrize("name", EXACT)
def test_the_rate_is_the_same_at_every_step(name: str, factor: float) -> None:
    ours = EXACT[name].over(STEPS, steps_per_epoch=50)
    theirs, text = as_that_api(ours, STEPS, factor)
    expected = np.array([factor * ours(step) for step in range(STEPS)])
    np.testing.assert_allclose(rates_of(theirs, STEPS), expected, rtol=FLOAT32, atol=1e-9)
    assert "nearest" not in text
    assert ("times 0.0625 (lr.scale_with_batch)" in text) == (factor != 1)


@pytest.mark.parametrize("name", [name for name in EXACT if "manual" not in name and "floor" not in name])
def test_a_schedule_that_was_written_is_read_as_itself(name: str) -> None:
    ours = EXACT[name].over(STEPS, steps_per_epoch=50)
    assert _read_back(as_that_api(ours, STEPS)[1]) == ours


@pytest.mark.parametrize("name", [name for name in EXACT if "manual" in name or "floor" in name])
def test_a_schedule_that_was_written_has_the_same_rates_when_read(name: str) -> None:
    ours = EXACT[name].over(STEPS, steps_per_epoch=50)
    back = _read_back(as_that_api(ours, STEPS)[1])
    assert [back(step) for step in range(STEPS)] == pytest.approx([ours(step) for step in range(STEPS)], rel=FLOAT32)


def _read_back(text: str) -> Schedule:
    whole = f"train_config {{ optimizer {{ momentum_optimizer {{ {text}\n }} }} }}"
    place, mistakes = find_places(whole)
    assert mistakes == []
    optimizer = Block(text_format.Parse(whole, new_message()), place).inner("train_config").inner("optimizer")
    problems, report = Problems(lambda key: "test"), ConversionReport()
    tree = read_schedule(optimizer.inner("momentum_optimizer"), report)
    back = parse_kind(SCHEDULES, tree, "lr", problems)
    assert problems.lines == [] and report.lines == []
    return back.over(STEPS, steps_per_epoch=50)


SAMPLED = {
    "one cycle": OneCycle(0.1),
    "polynomial": Polynomial(0.1, power=2.0, warmup_steps=100),
    "smooth after a warm-up": Exponential(0.1, decay_factor=0.9, decay_steps=100, warmup_steps=50, staircase=False),
    "more stairs than one can write": Exponential(0.1, decay_factor=0.99, decay_steps=5, warmup_steps=50),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_a_schedule_that_api_lacks_is_sampled_and_its_error_is_reported(name: str) -> None:
    ours = SAMPLED[name].over(STEPS, steps_per_epoch=50)
    theirs, text = as_that_api(ours, STEPS)
    expected = np.array([ours(step) for step in range(STEPS)])
    rates = rates_of(theirs, STEPS)
    off = 100 * np.abs(rates - expected).max() / expected.max()
    message = float(re.sub(r"\s*#\s*", " ", text).split("at most ")[1].split(" %")[0])
    assert message == pytest.approx(off, abs=0.051)
    assert 0 < off < 3
    assert f"no such one ({type(ours).__name__})" in re.sub(r"\s*#\s*", " ", text)
    assert len(theirs.manual_step_learning_rate.schedule) <= 100


def test_a_run_shorter_than_the_samples_is_written_step_by_step() -> None:
    ours = Polynomial(0.1).over(7, steps_per_epoch=50)
    theirs, _ = as_that_api(ours, 7)
    np.testing.assert_allclose(rates_of(theirs, 7), [0.1 * (1 - step / 7) for step in range(7)], rtol=FLOAT32)


def test_a_run_of_one_step_has_one_rate() -> None:
    theirs, _ = as_that_api(Polynomial(0.1).over(1, steps_per_epoch=50), 1)
    assert rates_of(theirs, 1) == pytest.approx([0.1])


def test_the_formulas_of_the_test_give_the_figures_that_are_known() -> None:
    """ftc-ml's FPNLite 320: a line from .02667 to .08 in 1,000 steps, half way down the cosine in the middle."""
    rate = new_message("LearningRate")
    text_format.Parse(
        "cosine_decay_learning_rate { learning_rate_base: .08 total_steps: 3000 warmup_learning_rate: .02667 "
        "warmup_steps: 1000 }",
        rate,
    )
    rates = rates_of(rate, 3002)
    assert rates[[0, 500, 1000, 2000]] == pytest.approx([0.02667, 0.053335, 0.08, 0.04], rel=1e-5)
    assert math.isclose(rates[3000], 0, abs_tol=1e-12) and rates[3001] == 0
