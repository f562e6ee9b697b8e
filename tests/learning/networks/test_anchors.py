"""Anchors by hand, and those of the Object Detection API's two generators written again in loops over single boxes."""

import math

import numpy as np
import pytest

from bakeoff.learning.networks.anchors import Anchors, MultiboxAnchors, PyramidAnchors

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


Box = tuple[float, float, float, float]


def around(y: float, x: float, height: float, width: float) -> Box:
    return (y - height / 2, x - width / 2, y + height / 2, x + width / 2)


def multibox_by_loops(cells: list[int], ratios: list[float], *, low: float, high: float) -> list[Box]:
    boxes = []
    step = (high - low) / (len(cells) - 1)
    for level, side in enumerate(cells):
        scale = low + step * level
        following = low + step * (level + 1) if level + 1 < len(cells) else 1.0
        shapes = [(scale, ratio) for ratio in ratios] + [(math.sqrt(scale * following), 1.0)]
        if level == 0:
            shapes = [(0.1, 1.0), (scale, 2.0), (scale, 0.5)]
        for row in range(side):
            for column in range(side):
                for size, ratio in shapes:
                    height, width = size / math.sqrt(ratio), size * math.sqrt(ratio)
                    boxes.append(around((row + 0.5) / side, (column + 0.5) / side, height, width))
    return boxes


def pyramid_by_loops(size: int, levels: list[int], ratios: list[float], *, scale: float, octave: int) -> list[Box]:
    boxes = []
    for level in levels:
        stride = 2**level
        offset = stride / 2 if size % stride == 0 else 0.0
        for row in range(-(-size // stride)):
            for column in range(-(-size // stride)):
                for ratio in ratios:
                    for step in range(octave):
                        side = scale * stride * 2 ** (step / octave)
                        height, width = side / math.sqrt(ratio), side * math.sqrt(ratio)
                        pixels = around(row * stride + offset, column * stride + offset, height, width)
                        boxes.append(tuple(edge / size for edge in pixels))
    return boxes


STRIDES = (16, 32, 64, 128, 256, 512)
RATIOS = [1.0, 2.0, 0.5, 3.0, 0.3333]


@pytest.mark.parametrize(
    ("size", "cells", "count"),
    [
        (300, [19, 10, 5, 3, 2, 1], 1917),  # as published for SSD MobileNet at 300
        (320, [20, 10, 5, 3, 2, 1], 2034),
    ],
)
def test_multibox_anchors_are_those_of_the_api(size: int, cells: list[int], count: int) -> None:
    given = MultiboxAnchors().boxes(size, STRIDES)
    assert given.shape == (count, 4) and given.dtype == np.float32
    np.testing.assert_allclose(given, multibox_by_loops(cells, RATIOS, low=0.2, high=0.95), atol=1e-6)


@pytest.mark.parametrize(("size", "count"), [(320, 12_804), (640, 51_150)])
def test_pyramid_anchors_are_those_of_the_api(size: int, count: int) -> None:
    given = PyramidAnchors().boxes(size, (8, 16, 32, 64, 128))
    assert given.shape == (count, 4) and given.dtype == np.float32
    expected = pyramid_by_loops(size, [3, 4, 5, 6, 7], [1.0, 2.0, 0.5], scale=4.0, octave=2)
    np.testing.assert_allclose(given, expected, atol=1e-6)


def test_first_cell_of_the_finest_multibox_map_has_three_boxes() -> None:
    centre, long, short = 0.5 / 20, 0.2 * math.sqrt(2) / 2, 0.2 / math.sqrt(2) / 2
    expected = [
        [centre - 0.05, centre - 0.05, centre + 0.05, centre + 0.05],
        [centre - short, centre - long, centre + short, centre + long],  # twice as wide as high
        [centre - long, centre - short, centre + long, centre + short],
    ]
    np.testing.assert_allclose(MultiboxAnchors().boxes(320, STRIDES)[:3], expected, atol=1e-6)


def test_last_multibox_map_is_one_cell_with_boxes_up_to_the_whole_image() -> None:
    last = MultiboxAnchors().boxes(300, STRIDES)[-6:]
    np.testing.assert_allclose((last[:, :2] + last[:, 2:]) / 2, 0.5, atol=1e-6)
    areas = (last[:, 2] - last[:, 0]) * (last[:, 3] - last[:, 1])
    np.testing.assert_allclose(areas, [0.95**2] * 5 + [0.95], rtol=1e-5)


def test_finest_multibox_map_can_have_as_many_boxes_as_the_others() -> None:
    anchors = MultiboxAnchors(reduce_boxes_in_lowest_layer=False, aspect_ratios=(1.0, 2.0))
    assert anchors.per_cell(3) == [3, 3, 3]
    assert MultiboxAnchors(aspect_ratios=(1.0, 2.0)).per_cell(3) == [3, 3, 3]
    assert MultiboxAnchors(aspect_ratios=(1.0, 2.0), interpolated_scale_aspect_ratio=0.0).per_cell(3) == [3, 2, 2]


def test_first_cell_of_a_pyramid_has_the_sizes_of_a_ratio_together() -> None:
    given = PyramidAnchors(aspect_ratios=(1.0, 4.0)).boxes(640, (8,))[:4] * 640
    large = 32 * math.sqrt(2)
    expected = [
        [4 - 16, 4 - 16, 4 + 16, 4 + 16],
        [4 - large / 2, 4 - large / 2, 4 + large / 2, 4 + large / 2],
        [4 - 8, 4 - 32, 4 + 8, 4 + 32],
        [4 - large / 4, 4 - large, 4 + large / 4, 4 + large],
    ]
    np.testing.assert_allclose(given, expected, atol=1e-3)


def test_pyramid_level_that_does_not_divide_the_image_starts_in_its_corner() -> None:
    """320 pixels are two and a half cells of 128: three a side, the first centre at 0."""
    given = PyramidAnchors(aspect_ratios=(1.0,), scales_per_octave=1).boxes(320, (128,)) * 320
    centres = (given[:, :2] + given[:, 2:]) / 2
    np.testing.assert_allclose(centres[:4], [[0, 0], [0, 128], [0, 256], [128, 0]], atol=1e-3)
