"""Distance and bearing on the floor, against triangles and against a camera that projects points of the floor."""

import math

import numpy as np
import pytest

from bakeoff.foundation.errors import ConfigError
from bakeoff.inference.device.floor_position import Camera

WIDTH, HEIGHT = 1280, 720


def project(camera: Camera, ahead: float, right: float) -> tuple[float, float]:
    """Return where a point of the floor is in the picture, in shares, by a matrix of the camera."""
    angle = math.radians(camera.tilt)
    turned = np.array([[1, 0, 0], [0, math.cos(angle), -math.sin(angle)], [0, math.sin(angle), math.cos(angle)]])
    x, y, z = turned @ np.array([right, camera.height, ahead])  # right, down, ahead of the lens
    focal = WIDTH / 2 / math.tan(math.radians(camera.view) / 2)
    return 0.5 + focal * x / z / WIDTH, 0.5 + focal * y / z / HEIGHT


def test_what_stands_in_the_middle_of_the_picture_is_height_by_tangent_away() -> None:
    place = Camera(0.6, 20, 70).locate(0.5, 0.5, WIDTH, HEIGHT)
    assert place is not None
    assert place.distance == pytest.approx(0.6 / math.tan(math.radians(20)), abs=1e-12)
    assert place.bearing == 0


@pytest.mark.parametrize("tilt", [-5.0, 0.0, 20.0, 60.0])
@pytest.mark.parametrize(("ahead", "right"), [(1.0, 0.0), (3.0, 1.0), (2.0, -1.5), (0.4, 0.2)])
def test_a_point_of_the_floor_comes_back_from_the_picture(ahead: float, right: float, tilt: float) -> None:
    camera = Camera(0.6, tilt, 70)
    place = camera.locate(*project(camera, ahead, right), WIDTH, HEIGHT)
    assert place is not None
    assert place.distance == pytest.approx(math.hypot(ahead, right), rel=1e-9)
    assert place.bearing == pytest.approx(math.degrees(math.atan2(right, ahead)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("x", "y"), [(0.5, 0.5), (0.1, 0.6), (0.9, 0.95)])
def test_the_error_is_what_a_pixel_more_or_less_changes(x: float, y: float) -> None:
    camera, step = Camera(0.6, 20, 70), 1e-3
    above, below = (camera.locate(x, y + sign * step / HEIGHT, WIDTH, HEIGHT) for sign in (-1, 1))
    place = camera.locate(x, y, WIDTH, HEIGHT)
    assert place is not None and above is not None and below is not None
    assert place.error == pytest.approx((above.distance - below.distance) / (2 * step), rel=1e-5)


def test_a_pixel_weighs_more_the_farther_the_object() -> None:
    """On a level camera the distance is height * focal / rows below the middle, so its error is distance² / that."""
    camera = Camera(0.5, 0, 90)
    near, far = (camera.locate(0.5, y, WIDTH, HEIGHT) for y in (0.9, 0.55))
    assert near is not None and far is not None
    for place in (near, far):
        assert place.error == pytest.approx(place.distance**2 / (0.5 * 640), rel=1e-9)


@pytest.mark.parametrize("y", [0.0, 0.5])
def test_nothing_stands_on_the_floor_at_the_horizon_or_above_it(y: float) -> None:
    assert Camera(0.5, 0, 90).locate(0.5, y, WIDTH, HEIGHT) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0, 20, 70), r"^--camera-height: .*above 0.*got 0"),
        ((500, 20, 70), r"^--camera-height: .*100.*got 500"),
        ((float("nan"), 20, 70), r"^--camera-height: .*nan"),
        ((0.6, 90, 70), r"^--camera-tilt: .*90 degrees.*got 90"),
        ((0.6, 20, 180), r"^--camera-view: .*179.*got 180"),
        ((0.6, 20, 0), r"^--camera-view: .*got 0"),
    ],
)
def test_a_camera_that_cannot_be_is_refused(given: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Camera(*given)
