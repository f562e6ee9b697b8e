"""An object that several tiles show is found once, counted against boxes laid out by hand."""

import numpy as np
import pytest

from bakeoff.learning.networks.tile_merge import Predictions, answer_tiles, merge_tiles
from bakeoff.learning.networks.tiles import Tiles

TWO = Tiles(grid=(1, 2), overlap=0.25, whole=False)  # of 700 pixels: columns 0 to 400 and 300 to 700
WHOLE = Tiles(grid=(1, 2), overlap=0.25)
SIZE = (400, 700)


def detections_in(
    windows: np.ndarray, *rows: tuple[int, tuple[float, float, float, float], float, int]
) -> list[Predictions]:
    """Look, box in pixels of the picture, score, class; a box is cut to its look as a detector would."""
    detections = []
    for look, window in enumerate(windows):
        mine = [row[1:] for row in rows if row[0] == look]
        sides = np.tile(window[2:] - window[:2], 2)
        boxes = np.array([box for box, _, _ in mine], float).reshape(-1, 4) - np.tile(window[:2], 2)
        detections.append(
            {
                "boxes": np.clip(boxes / sides, 0, 1).astype(np.float32),
                "scores": np.array([score for _, score, _ in mine], np.float32),
                "classes": np.array([label for _, _, label in mine], np.int64),
            }
        )
    return detections


def merged(tiles: Tiles, *rows: tuple) -> list[tuple[list[int], float, int]]:
    """Boxes in whole pixels of the picture, scores, classes."""
    windows = tiles.windows(*SIZE)
    given = merge_tiles(detections_in(windows, *rows), windows, tiles)
    boxes = np.round(given["boxes"] * np.tile(SIZE, 2)).astype(int).tolist()
    return list(zip(boxes, given["scores"].round(3).tolist(), given["classes"].tolist(), strict=True))


def test_an_object_in_both_tiles_is_found_once_with_the_higher_score() -> None:
    box = (100, 320, 150, 380)
    assert merged(TWO, (0, box, 0.6, 1), (1, box, 0.9, 1)) == [([100, 320, 150, 380], pytest.approx(0.9), 1)]


@pytest.mark.parametrize(("of_part", "of_whole"), [(0.5, 0.9), (0.9, 0.5)])
def test_a_part_does_not_survive_beside_the_whole_box_of_the_next_tile(of_part: float, of_whole: float) -> None:
    whole = (100, 330, 150, 450)  # the first tile ends at 400
    expected = [([100, 330, 150, 450], pytest.approx(0.9), 1)]
    assert merged(TWO, (0, whole, of_part, 1), (1, whole, of_whole, 1)) == expected


def test_a_badly_placed_part_that_lies_in_the_whole_box_goes_and_does_not_raise_its_score() -> None:
    rows = (0, (120, 370, 145, 400), 0.7, 1), (1, (100, 330, 150, 450), 0.6, 1)
    assert merged(TWO, *rows) == [([100, 330, 150, 450], pytest.approx(0.6), 1)]


def test_an_object_that_no_tile_shows_whole_is_put_together() -> None:
    box = (100, 200, 150, 500)
    assert merged(TWO, (0, box, 0.7, 1), (1, box, 0.8, 1)) == [([100, 200, 150, 500], pytest.approx(0.8), 1)]


def test_an_object_over_many_tiles_is_put_together() -> None:
    tiles = Tiles(grid=(1, 4), overlap=0.25, whole=False)
    box = (100, 20, 150, 690)
    rows = [(look, box, 0.5 + look / 10, 1) for look in range(4)]
    assert merged(tiles, *rows) == [([100, 20, 150, 690], pytest.approx(0.8), 1)]


def test_the_whole_picture_stands_for_a_large_object_rather_than_its_parts() -> None:
    box = (50, 100, 350, 620)
    rows = (0, box, 0.9, 1), (1, box, 0.9, 1), (2, (48, 104, 352, 618), 0.6, 1)
    assert merged(WHOLE, *rows) == [([48, 104, 352, 618], pytest.approx(0.9), 1)]


def test_neighbours_and_other_classes_stay() -> None:
    rows = (
        (0, (100, 310, 150, 350), 0.9, 1),
        (1, (100, 352, 150, 392), 0.8, 1),
        (1, (100, 310, 150, 350), 0.7, 2),
        (0, (100, 20, 150, 60), 0.6, 1),
    )
    assert [(score, label) for _, score, label in merged(TWO, *rows)] == [
        (pytest.approx(0.9), 1),
        (pytest.approx(0.8), 1),
        (pytest.approx(0.7), 2),
        (pytest.approx(0.6), 1),
    ]


def test_a_part_of_another_object_behind_does_not_swallow_it() -> None:
    big, small = (50, 310, 350, 600), (100, 360, 140, 440)  # the small one stands before the big one
    rows = (0, small, 0.9, 1), (1, small, 0.85, 1), (1, big, 0.88, 1)
    expected = [([50, 310, 350, 600], pytest.approx(0.88), 1), ([100, 360, 140, 440], pytest.approx(0.85), 1)]
    assert merged(TWO, *rows) == expected


def test_what_one_look_found_is_not_compared_with_itself() -> None:
    rows = (0, (100, 100, 200, 200), 0.9, 1), (0, (100, 110, 200, 210), 0.8, 1)
    assert len(merged(TWO, *rows)) == 2


def test_the_order_of_tiles_and_of_equal_scores_changes_nothing() -> None:
    draw = np.random.default_rng(0)
    windows, rows = TWO.windows(*SIZE), []
    for _ in range(60):
        top, left = draw.uniform(0, 300), draw.uniform(0, 600)
        box = (top, left, top + draw.uniform(20, 100), left + draw.uniform(20, 100))
        rows += [
            (look, box, round(draw.uniform(0.1, 0.9), 6), 1)
            for look, window in enumerate(windows)
            if min(box[3], window[3]) - max(box[1], window[1]) > 5
        ]
    usual = merged(TWO, *rows)
    turned = merge_tiles(detections_in(windows, *rows)[::-1], windows[::-1], TWO)
    assert 40 < len(usual) <= 60
    np.testing.assert_allclose(turned["scores"], [score for _, score, _ in usual], atol=1e-3)


def test_the_surest_remain_of_too_many() -> None:
    tiles = Tiles(grid=(1, 2), overlap=0.25, whole=False, max_detections=2)
    rows = [(0, (10 * place, 10, 10 * place + 8, 18), 0.1 * place, 1) for place in range(1, 6)]
    assert [score for _, score, _ in merged(tiles, *rows)] == [pytest.approx(0.5), pytest.approx(0.4)]


def test_nothing_found_is_nothing() -> None:
    assert merged(WHOLE) == []


def test_a_picture_is_answered_tile_by_tile() -> None:
    pixels = np.zeros((400, 700, 3), np.uint8)
    pixels[100:150, 330:450] = 255

    def white(tile: np.ndarray) -> Predictions:
        rows, columns = np.flatnonzero(tile[..., 0].any(axis=1)), np.flatnonzero(tile[..., 0].any(axis=0))
        box = np.array([[rows[0], columns[0], rows[-1] + 1, columns[-1] + 1]]) / np.tile(tile.shape[:2], 2)
        return {"boxes": box, "scores": np.array([0.5]), "classes": np.array([1])}

    answer = answer_tiles(pixels, WHOLE, white)
    np.testing.assert_allclose(answer["boxes"] * np.tile(SIZE, 2), [[100, 330, 150, 450]], atol=1e-3)
