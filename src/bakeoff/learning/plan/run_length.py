"""How many steps a run has, as text: `2,000`, or `unlimited` for `train.steps: unlimited`.

Such a run is one of `ENDLESS` steps, far more than any training takes. So it is trained, kept and resumed as any other.
"""

from bakeoff.learning.lr.schedule import ENDLESS

UNLIMITED = "unlimited"


def is_endless(steps: int) -> bool:
    """Return whether only a stop, train.max_minutes or early stopping ends a run of so many steps."""
    return steps >= ENDLESS


def format_steps(steps: int) -> str:
    return UNLIMITED if is_endless(steps) else f"{steps:,}"


def format_done(done: int, steps: int) -> str:
    """Return `1,200 of 2,000`, or `1,200` of an endless run."""
    return f"{done:,}" if is_endless(steps) else f"{done:,} of {steps:,}"
