"""`learning_rate { … }` -> settings of a schedule."""

import math
from typing import Any

from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report

NEARLY = 1e-6  # relative; what a float32 may be off


def read(optimizer: Block, report: Report) -> dict[str, Any]:
    """Settings of a group `lr`, with the `kind`."""
    rate = optimizer.inner("learning_rate")
    chosen = rate.chosen("learning_rate")
    if chosen is None:
        report.changed(optimizer, "learning_rate", "the file says none, and that API would refuse it; 0.002 here")
        return {"kind": "constant", "peak": 0.002}
    readers = {
        "constant_learning_rate": _constant,
        "exponential_decay_learning_rate": _exponential,
        "manual_step_learning_rate": _manual,
        "cosine_decay_learning_rate": _cosine,
    }
    return readers[chosen](rate.inner(chosen), report)


def _constant(said: Block, report: Report) -> dict[str, Any]:
    return {"kind": "constant", "peak": said.number("learning_rate")}


def _exponential(said: Block, report: Report) -> dict[str, Any]:
    peak, least = said.number("initial_learning_rate"), said.number("min_learning_rate")
    schedule: dict[str, Any] = {
        "kind": "exponential",
        "peak": peak,
        "decay_factor": said.number("decay_factor"),
        "decay_steps": said.whole("decay_steps"),
        "staircase": said.flag("staircase"),
        "floor": least,
    }
    burn_in, rate = said.whole("burnin_steps"), said.number("burnin_learning_rate")
    if burn_in:
        schedule |= {"burn_in_steps": burn_in, "burn_in_rate": rate if rate and rate != peak else None}
    return schedule


def _cosine(said: Block, report: Report) -> dict[str, Any]:
    peak, warmup = said.number("learning_rate_base"), said.whole("warmup_steps")
    total, held = said.whole("total_steps"), said.whole("hold_base_rate_steps")
    start = said.number("warmup_learning_rate")
    schedule: dict[str, Any] = {"kind": "cosine", "peak": peak, "total_steps": total, "hold_steps": held}
    return schedule | _warmup(peak, start, warmup)


def _manual(said: Block, report: Report) -> dict[str, Any]:
    steps = [(entry.whole("step"), entry.number("learning_rate")) for entry in said.inners("schedule")]
    first, warmup = said.number("initial_learning_rate"), said.flag("warmup")
    if not steps:
        return {"kind": "constant", "peak": first}
    boundaries, rates = [step for step, _ in steps], [first, *(rate for _, rate in steps)]
    if warmup and len(steps) == 1 and rates[0] <= rates[1]:
        return {"kind": "constant", "peak": rates[1]} | _warmup(rates[1], first, boundaries[0])
    stairs = _regular_stairs(boundaries, rates[1:]) if warmup and rates[0] <= rates[1] else None
    if stairs:
        return {"kind": "exponential", "peak": rates[1]} | stairs | _warmup(rates[1], first, boundaries[0])
    return {"kind": "manual", "boundaries": boundaries, "rates": rates, "warmup": warmup}


def _warmup(peak: float, start: float, steps: int) -> dict[str, Any]:
    """A start of peak / (steps + 1) is what `warmup_from: null` means."""
    if steps == 0:
        return {}
    usual = math.isclose(start, peak / (steps + 1), rel_tol=NEARLY)
    return {"warmup_steps": steps, "warmup_from": None if usual else start}


def _regular_stairs(boundaries: list[int], rates: list[float]) -> dict[str, Any] | None:
    """Stairs of equal length that fall by an equal factor, which is a staircase after a warm-up."""
    if len(boundaries) < 3 or not all(rate > 0 for rate in rates):
        return None
    length, factor = boundaries[1] - boundaries[0], rates[1] / rates[0]
    regular = all(place == boundaries[0] + number * length for number, place in enumerate(boundaries))
    falling = all(math.isclose(rate, rates[0] * factor**number, rel_tol=NEARLY) for number, rate in enumerate(rates))
    if not (regular and falling and 0 < factor <= 1):
        return None
    for digits in range(1, 9):  # the factor that was meant, without the noise of the division
        short = float(f"{factor:.{digits}g}")
        if math.isclose(short, factor, rel_tol=NEARLY):
            return {"decay_factor": short, "decay_steps": length}
    return None
