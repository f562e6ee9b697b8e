"""`expect:` of a data option: what a data set must hold, so that a build that meets less keeps the old records.

expect: {least_of_class: 50, most_of_class: 0.8, classes: [ball, cube], alike: 0, validation: [0.1, 0.3]}
"""

from dataclasses import dataclass

from bakeoff.foundation.errors import require


@dataclass(frozen=True)
class Expectations:
    """Each is asked of all splits together, unless it names one; none: it may be anything."""

    least_of_class: int | None = None  # boxes or labels of each class
    most_of_class: float | None = None  # share of the boxes or labels that one class may have
    classes: tuple[str, ...] = ()  # these and no others, in any order
    alike: int | None = None  # pairs of images across the splits that look alike
    least_side: int | None = None  # pixels of the longer side of the smallest image
    negatives: tuple[float, ...] = ()  # share of the examples without a box or label, from and to
    validation: tuple[float, ...] = ()  # share of training and validation that is for validation, from and to

    def __post_init__(self) -> None:
        for key, least, most in (("least_of_class", 1, 10**9), ("alike", 0, 10**9), ("least_side", 1, 10**6)):
            value = getattr(self, key)
            require(value is None or least <= value <= most, key, value, f"between {least} and {most:,}, or null")
        share = self.most_of_class
        require(share is None or 0 < share <= 1, "most_of_class", share, "a share above 0, at most 1, or null")
        for key in ("negatives", "validation"):
            ends = getattr(self, key)
            is_range = len(ends) == 2 and 0 <= ends[0] <= ends[1] <= 1
            require(not ends or is_range, key, list(ends), "two shares, the lower one first, such as [0.1, 0.3]")
        require(len({*self.classes}) == len(self.classes), "classes", list(self.classes), "different classes")
