import math
from typing import Any

import numpy as np
import pytest

from bakeoff.errors import OutOfRange
from bakeoff.networks.anchors import Anchors

SQUARES = Anchors(scale=1.0, octave_steps=1, aspect_ratios=(1.0,))


def test_squares_of_the_stride_tile_the_image_in_reading_order() -> None:
    expected = [[0, 0, 0.5, 0.5], [0, 0.5, 0.5, 1], [0.5, 0, 1, 0.5], [0.5, 0.5, 1, 1]]
    assert SQUARES.boxes(64, (32,)).tolist() == expected


def test_scale_makes_anchors_larger_around_the_same_centres() -> None:
    given = Anchors(scale=4.0, aspect_ratios=(1.0,)).boxes(64, (32,))  # sides of 4 * 32 / 64 = 2
    expected = [[-0.75, -0.75, 1.25, 1.25], [-0.75, -0.25, 1.25, 1.75], [-0.25, -0.75, 1.75, 1.25]]
    assert given[:3].tolist() == expected


def test_aspect_ratio_is_width_over_height_at_the_same_area() -> None:
    given = Anchors(scale=1.0, aspect_ratios=(0.25, 4.0)).boxes(32, (32,))
    np.testing.assert_allclose(given, [[-0.5, 0.25, 1.5, 0.75], [0.25, -0.5, 0.75, 1.5]], atol=1e-6)


def test_octave_steps_come_before_aspect_ratios() -> None:
    given = Anchors(scale=0.5, octave_steps=2, aspect_ratios=(1.0, 4.0)).boxes(32, (32,))
    sizes = np.stack([given[:, 2] - given[:, 0], given[:, 3] - given[:, 1]], axis=1)
    half, more = 0.5, 0.5 * math.sqrt(2)
    np.testing.assert_allclose(
        sizes, [[half, half], [half / 2, half * 2], [more, more], [more / 2, more * 2]], rtol=1e-6
    )
    np.testing.assert_allclose((given[:, :2] + given[:, 2:]) / 2, 0.5, atol=1e-6)


def test_shapes_of_a_cell_come_together_and_levels_follow_from_fine_to_coarse() -> None:
    given = Anchors(scale=1.0, aspect_ratios=(0.25, 4.0)).boxes(32, (16, 32))
    centres = (given[:, :2] + given[:, 2:]) / 2
    near, far = 0.25, 0.75
    fine = [[near, near]] * 2 + [[near, far]] * 2 + [[far, near]] * 2 + [[far, far]] * 2
    np.testing.assert_allclose(centres, fine + [[0.5, 0.5]] * 2, atol=1e-6)
    np.testing.assert_allclose(given[:, 3] - given[:, 1], [0.25, 1] * 4 + [0.5, 2], rtol=1e-6)


@pytest.mark.parametrize(
    ("anchors", "size", "strides", "count"),
    [
        (SQUARES, 64, (8, 16, 32), 64 + 16 + 4),
        (Anchors(), 160, (8, 16, 32), (400 + 100 + 25) * 2),
        (Anchors(octave_steps=3, aspect_ratios=(0.5, 1.0, 2.0)), 96, (32,), 9 * 9),
        (SQUARES, 100, (32,), 16),  # 3.125 cells a side are four
    ],
)
def test_there_is_an_anchor_for_every_shape_in_every_cell(
    anchors: Anchors, size: int, strides: tuple[int, ...], count: int
) -> None:
    given = anchors.boxes(size, strides)
    assert given.shape == (count, 4) and given.dtype == np.float32


def test_anchors_of_a_cell_are_steps_times_ratios() -> None:
    assert Anchors(octave_steps=3, aspect_ratios=(0.5, 1.0)).per_cell == 6


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scale": 0.0}, r"^scale: must be above 0, got 0\.0$"),
        ({"octave_steps": 0}, r"^octave_steps: must be between 1 and 8, got 0$"),
        ({"octave_steps": 9}, r"^octave_steps: must be between 1 and 8, got 9$"),
        ({"aspect_ratios": ()}, r"^aspect_ratios: must be a list of numbers above 0, got \[\]$"),
        ({"aspect_ratios": (1.0, 0.0)}, r"^aspect_ratios: must be a list of numbers above 0, got \[1\.0, 0\.0\]$"),
    ],
)
def test_senseless_anchors_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        Anchors(**fields)
