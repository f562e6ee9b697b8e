"""How long: steps are what the loop counts; epochs are turned into them here and nowhere else."""

import math

from bakeoff.errors import require


def require_length(steps: int | None, epochs: float | None) -> None:
    one = (steps is None) != (epochs is None)
    require(one, "steps", steps, f"given, or else epochs, not both and not neither (epochs is {epochs})")
    require(steps is None or steps >= 1, "steps", steps, "1 or more")
    require(epochs is None or epochs > 0, "epochs", epochs, "above 0")


def steps_for(steps: int | None, epochs: float | None, *, examples: int, batch_size: int) -> int:
    if steps is not None:
        return steps
    assert epochs is not None
    return max(1, math.ceil(round(epochs * examples / batch_size, 6)))  # 1.1 * 50 is 55, not a little more
