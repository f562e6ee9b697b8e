"""How pictures are cut into tiles, and what of a true box a tile asks for."""

from itertools import pairwise

import numpy as np
import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks.tiles import Tiles


def test_tiles_of_a_size_reach_from_edge_to_edge_and_the_whole_picture_comes_last() -> None:
    expected = [[top, left, top + 400, left + 400] for top in (0, 320) for left in (0, 280, 560)]
    assert Tiles(size=400).windows(720, 960).tolist() == [*expected, [0, 0, 720, 960]]
    assert Tiles(size=400, whole=False).windows(720, 960).tolist() == expected


def test_a_grid_has_as_many_tiles_in_every_picture() -> None:
    windows = Tiles(grid=(2, 3), overlap=0.25, whole=False).windows(700, 1000)
    assert windows.tolist() == [[top, left, top + 400, left + 400] for top in (0, 300) for left in (0, 300, 600)]
    assert len(Tiles(grid=(2, 3)).windows(90, 77)) == 7


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (300, 400, [[0, 0, 300, 400]]),
        (400, 400, [[0, 0, 400, 400]]),
        (300, 500, [[0, 0, 300, 400], [0, 100, 300, 500]]),
    ],
)
def test_a_tile_is_no_larger_than_its_picture(height: int, width: int, expected: list[list[int]]) -> None:
    assert Tiles(size=400, whole=False).windows(height, width).tolist() == expected


def test_neighbours_share_what_was_asked_for_and_nothing_is_left_out() -> None:
    draw = np.random.default_rng(0)
    for _ in range(300):
        size, overlap, extent = int(draw.integers(16, 200)), draw.uniform(0, 0.8), int(draw.integers(100, 900))
        for tiles in (Tiles(size=size, overlap=overlap), Tiles(grid=(int(draw.integers(2, 9)), 1), overlap=overlap)):
            starts, side = tiles.starts(extent, 0), tiles.side(extent, 0)
            assert starts[0] == 0 and starts[-1] + side == extent
            shared = [first + side - second for first, second in pairwise(starts)]
            assert all(0 <= some < side for some in shared)
            if tiles.size and len(starts) > 1:
                assert min(shared) >= min(side - 1, round(side * overlap))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "size: .*grid.*None"),
        ({"size": 320, "grid": (2, 2)}, "size: .*grid.*320"),
        ({"size": 8}, r"size:\D+16\D+65,536\D+8"),
        ({"grid": (1, 1)}, r"grid:\D+64\D+1\D+\[1, 1\]"),
        ({"grid": (2,)}, r"grid:\D+64\D+1\D+\[2\]"),
        ({"size": 320, "overlap": 0.9}, r"overlap:\D+0\D+0\.8\D+0\.9"),
        ({"size": 320, "max_overlap": 1.0}, r"max_overlap:\D+0\D+1\D+1\.0"),
        ({"size": 320, "max_detections": 0}, r"max_detections:\D+1\D+10,000\D+0"),
        ({"size": 320, "object_share": 1.5}, r"object_share:\D+0\D+1\D+1\.5"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict, message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        Tiles(**settings)


def test_a_tile_asks_for_boxes_that_it_shows_enough_of_cut_to_it() -> None:
    boxes = np.array([[0.1, 0.1, 0.2, 0.2], [0.2, 0.4, 0.4, 0.6], [0.2, 0.45, 0.4, 0.65], [0.6, 0.6, 0.7, 0.7]])
    cut, rows = Tiles(grid=(1, 2)).cut_truth(boxes, np.array([0.0, 0.0, 1.0, 0.5]))
    assert rows.tolist() == [0, 1]  # of the third it shows a quarter, of the fourth nothing
    np.testing.assert_allclose(cut, [[0.1, 0.2, 0.2, 0.4], [0.2, 0.8, 0.4, 1.0]], rtol=1e-6)
