"""A box in a picture -> where the object stands on the floor, by the camera's height, angle and field of view.

A camera 0.6 m above the floor looks 20 degrees down, and the lower edge of a box is in the middle of the picture: the
object stands 0.6 / tan(20 degrees) = 1.65 m in front of the camera. The floor is even, the object stands on it with the
middle of its lower edge, and the lens draws straight lines straight.
"""

import math
from dataclasses import dataclass

from bakeoff.foundation.errors import ConfigError

LEAST_ANGLE, MOST_ANGLE = 1.0, 179.0  # degrees, of a field of view
STEEPEST = 90.0
HIGHEST = 100.0  # metres


@dataclass(frozen=True)
class FloorPosition:
    distance: float  # metres, along the floor, from below the camera
    bearing: float  # degrees, to the right of where the camera looks
    error: float  # metres that the distance changes by, where the box's lower edge is a pixel off


@dataclass(frozen=True)
class Camera:
    height: float  # metres above the floor
    tilt: float  # degrees that it looks down
    view: float  # degrees, its field of view from the left edge to the right one

    def __post_init__(self) -> None:
        rules = (
            ("--camera-height", self.height, 0 < self.height <= HIGHEST, f"above 0 and at most {HIGHEST:g} metres"),
            ("--camera-tilt", self.tilt, -STEEPEST < self.tilt < STEEPEST, f"within {STEEPEST:g} degrees, down is +"),
            ("--camera-view", self.view, LEAST_ANGLE <= self.view <= MOST_ANGLE, "1 to 179 degrees, left to right"),
        )
        for option, value, is_right, rule in rules:
            if not is_right:
                raise ConfigError(f"{option}: must be {rule}, got {value:g}")

    def locate(self, x: float, y: float, width: int, height: int) -> FloorPosition | None:
        """Return what is at a point of a picture of so many pixels; None at the horizon and above it.

        `x` and `y` are shares of the picture, from its left and upper edge.
        """
        focal = width / 2 / math.tan(math.radians(self.view) / 2)  # pixels, the same on both axes
        right, down = (x - 0.5) * width / focal, (y - 0.5) * height / focal
        sine, cosine = math.sin(math.radians(self.tilt)), math.cos(math.radians(self.tilt))
        falls = sine + down * cosine  # of a ray, for a focal length along the axis
        if falls <= 1e-6:
            return None
        ahead, aside = (self.height * part / falls for part in (cosine - down * sine, right))
        distance = math.hypot(ahead, aside)
        # Both are quotients by `falls`; their derivatives by `down` are -height / falls² and -aside * cosine / falls.
        slope = (ahead * self.height / falls**2 + aside * aside * cosine / falls) / max(distance, 1e-9)
        return FloorPosition(distance, math.degrees(math.atan2(aside, ahead)), abs(slope) / focal)
