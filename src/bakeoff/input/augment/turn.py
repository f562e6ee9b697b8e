"""Mirror, turn upside down, turn by a quarter: each a probability."""

from dataclasses import dataclass, fields

from bakeoff.errors import require


@dataclass(frozen=True)
class Turn:
    mirror: float = 0.0  # left and right; not for things that have a handedness, such as digits
    upside_down: float = 0.0  # top and bottom
    quarter: float = 0.0  # 90 degrees against the clock

    def __post_init__(self) -> None:
        for field in fields(self):
            probability = getattr(self, field.name)
            require(0 <= probability <= 1, field.name, probability, "between 0 and 1")
