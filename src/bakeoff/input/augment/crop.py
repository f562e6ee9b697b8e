"""Cut out a rectangle of a drawn area and aspect ratio that shows enough of an object.

The defaults are those of Inception's training, where the whole image is the object. `SsdCrop` draws one of several
ways to crop for each example; its own seven are those of the Object Detection API's `ssd_random_crop`.
"""

from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require


def _require_range(low: float, low_key: str, high: float, high_key: str, *, most: float) -> None:
    require(0 < low <= most, low_key, low, f"above 0, at most {most}")
    require(low <= high <= most, high_key, high, f"between {low_key} ({low:g}) and {most}")


@dataclass(frozen=True)
class Crop:
    min_object_covered: float = 0.1  # of at least one box so much must be inside; of an image without boxes, of itself
    min_aspect_ratio: float = 0.75  # width by height of the crop, in pixels
    max_aspect_ratio: float = 1.33
    min_area: float = 0.05  # of the image's
    max_area: float = 1.0
    min_seen: float = 0.5  # a box of which the crop shows less is not asked for
    untouched: float = 0.0  # probability of the whole image
    when_empty: Literal["undo", "keep"] = "undo"  # a crop that no box is left in, of an image that has some

    def __post_init__(self) -> None:
        for key in ("min_object_covered", "min_seen", "untouched"):
            require(0 <= getattr(self, key) <= 1, key, getattr(self, key), "between 0 and 1")
        _require_range(self.min_aspect_ratio, "min_aspect_ratio", self.max_aspect_ratio, "max_aspect_ratio", most=100)
        _require_range(self.min_area, "min_area", self.max_area, "max_area", most=1)

    @property
    def ways(self) -> "tuple[Crop, ...]":
        return (self,)


SSD_WAYS = tuple(
    Crop(
        min_object_covered=covered,
        min_aspect_ratio=0.5,
        max_aspect_ratio=2.0,
        min_area=0.1,
        min_seen=covered,
        untouched=0.15,
        when_empty="keep",
    )
    for covered in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
)


@dataclass(frozen=True)
class SsdCrop:
    ways: tuple[Crop, ...] = SSD_WAYS  # one is drawn

    def __post_init__(self) -> None:
        require(bool(self.ways), "ways", list(self.ways), "at least one way to crop")


CROPS: dict[str, type] = {"single": Crop, "ssd": SsdCrop}
