"""`train.teacher`: another run, whose answers to the training examples are learnt beside the labels."""

from dataclasses import dataclass

from bakeoff.foundation.errors import require

NOBODY = "none"
LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.1, 100.0


@dataclass(frozen=True)
class Teacher:
    run: str = NOBODY  # none, or any name of a run, or a workspace's folder
    weight: float = 0.5  # of its answer in what is to be learnt of a label's class; the label has the rest
    temperature: float = 1.0  # of its classes: above 1 they are told more evenly than it told them
    box_weight: float = 0.0  # likewise of its box, and of how sure its sides are, where it found a labelled one
    added_from: float = 0.5  # a box that no label has is learnt, too, if its score is so much; 1: none

    def __post_init__(self) -> None:
        require(bool(self.run.strip()), "run", self.run, "none, a run, or the folder of a workspace")
        for key in ("weight", "box_weight", "added_from"):
            value = getattr(self, key)
            require(0 <= value <= 1, key, value, "between 0 and 1")
        heat = self.temperature
        fits = LEAST_TEMPERATURE <= heat <= MOST_TEMPERATURE
        require(fits, "temperature", heat, f"between {LEAST_TEMPERATURE:g} and {MOST_TEMPERATURE:g}")

    @property
    def is_there(self) -> bool:
        return self.run != NOBODY
