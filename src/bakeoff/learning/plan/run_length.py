"""How many steps a run has, as text: `2,000`, or `unlimited` for `train.steps: unlimited`.

Such a run is one of `ENDLESS` steps, far more than any training takes. So it is trained, kept and resumed as any other.
"""

import re
from collections.abc import Mapping
from typing import Any

from bakeoff.learning.lr.schedule import ENDLESS

UNLIMITED = "unlimited"
LENGTH = re.compile(r"derived\.(phases.*\.)?(steps|epochs)")


def is_endless(steps: int) -> bool:
    """Return whether only a stop, train.max_minutes or early stopping ends a run of so many steps."""
    return steps >= ENDLESS


def format_steps(steps: int) -> str:
    return UNLIMITED if is_endless(steps) else f"{steps:,}"


def format_done(done: int, steps: int) -> str:
    """Return `1,200 of 2,000`, or `1,200` of an endless run."""
    return f"{done:,}" if is_endless(steps) else f"{done:,} of {steps:,}"


def show_lengths(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of run.yaml, by their full keys, with `unlimited` for each length of an endless run."""
    steps = values.get("derived.steps")
    if not isinstance(steps, int) or not is_endless(steps):
        return dict(values)
    return {key: UNLIMITED if LENGTH.fullmatch(key) else value for key, value in values.items()}


def read_steps(shown: str) -> int:
    """Return the steps of a run by its value of `derived.steps`."""
    return ENDLESS if shown == UNLIMITED else int(shown)
