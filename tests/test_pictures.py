from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bakeoff.pictures import PAPER, RIGHT, TRUTH, WRONG, draw_sheet

GREY = np.full((16, 16, 3), 100.0, np.float32)
TILE, GAP = 320, 8


def drawn(examples: list[tuple[np.ndarray, dict[str, Any]]], folder: Path, min_score: float = 0.5) -> np.ndarray:
    """The sheet's pixels, through a format that keeps them exactly."""
    draw_sheet(examples, ["cat", "dog"], min_score, folder / "sheet.png")
    return np.asarray(Image.open(folder / "sheet.png"))


def answer(truth: int, given: int, pixels: np.ndarray = GREY) -> tuple[np.ndarray, dict[str, Any]]:
    return pixels, {"truth": truth, "given": given, "score": 0.9}


def detections(true: list[tuple[list[float], int]], found: list[tuple[list[float], int, float]]) -> dict[str, Any]:
    return {
        "true_boxes": np.array([box for box, _ in true], np.float32).reshape(-1, 4),
        "true_classes": np.array([label for _, label in true], np.int64),
        "boxes": np.array([box for box, _, _ in found], np.float32).reshape(-1, 4),
        "classes": np.array([label for _, label, _ in found], np.int64),
        "scores": np.array([score for _, _, score in found], np.float32),
    }


def is_in(colour: tuple[int, int, int], pixels: np.ndarray) -> bool:
    return bool((pixels == np.array(colour, np.uint8)).all(axis=-1).any())


@pytest.mark.parametrize(("count", "columns", "rows"), [(1, 1, 1), (3, 3, 1), (4, 4, 1), (5, 4, 2)])
def test_sheet_has_four_tiles_a_row(count: int, columns: int, rows: int, tmp_path: Path) -> None:
    sheet = drawn([answer(1, 1)] * count, tmp_path)
    assert sheet.shape == (rows * (TILE + GAP) + GAP, columns * (TILE + GAP) + GAP, 3)


def test_tiles_follow_in_reading_order_on_dark_paper(tmp_path: Path) -> None:
    sheet = drawn([answer(1, 1, np.full((4, 4, 3), 40.0 * number, np.float32)) for number in range(5)], tmp_path)
    middles = [sheet[GAP + 160, GAP + column * (TILE + GAP) + 160, 0] for column in range(4)]
    assert [*middles, sheet[GAP + TILE + GAP + 160, GAP + 160, 0]] == [0, 40, 80, 120, 160]
    assert tuple(sheet[2, 2]) == PAPER and tuple(sheet[-20, -20]) == PAPER


def test_right_class_is_green_and_wrong_class_is_red(tmp_path: Path) -> None:
    right, wrong = drawn([answer(2, 2)], tmp_path), drawn([answer(2, 1)], tmp_path)
    assert is_in(RIGHT, right) and not is_in(WRONG, right)
    assert is_in(WRONG, wrong) and not is_in(RIGHT, wrong)


def test_wrong_class_is_shown_with_the_true_one(tmp_path: Path) -> None:
    def label_width(sheet: np.ndarray, colour: tuple[int, int, int]) -> int:
        return int(np.ptp(np.flatnonzero((sheet == np.array(colour, np.uint8)).all(axis=-1).any(axis=0))))

    assert (
        label_width(drawn([answer(1, 2)], tmp_path), WRONG) > label_width(drawn([answer(1, 1)], tmp_path), RIGHT) + 20
    )


def test_clip_is_shown_by_its_middle_frame(tmp_path: Path) -> None:
    clip = np.stack([np.full((8, 8, 3), value, np.float32) for value in (10, 20, 30, 40, 50)])
    sheet = drawn([answer(1, 1, clip)], tmp_path)
    assert tuple(sheet[GAP + 160, GAP + 160]) == (30, 30, 30)


def test_values_beyond_the_range_of_pixels_are_cut_to_it(tmp_path: Path) -> None:
    pixels = np.concatenate([np.full((4, 8, 3), -60.0), np.full((4, 8, 3), 300.0)]).astype(np.float32)
    sheet = drawn([answer(1, 1, pixels)], tmp_path)
    assert sheet[GAP + 60, GAP + 200, 0] == 0 and sheet[GAP + 280, GAP + 200, 0] == 255


BOX = [0.25, 0.25, 0.75, 0.75]  # rows and columns 80 to 240 of the tile
ON_TOP_EDGE, ON_LEFT_EDGE = (GAP + 81, GAP + 200), (GAP + 160, GAP + 81)


def test_found_box_of_the_right_class_is_green(tmp_path: Path) -> None:
    sheet = drawn([(GREY, detections([(BOX, 2)], [(BOX, 2, 0.9)]))], tmp_path)
    assert tuple(sheet[ON_TOP_EDGE]) == RIGHT and tuple(sheet[ON_LEFT_EDGE]) == RIGHT
    assert not is_in(WRONG, sheet)


@pytest.mark.parametrize(
    ("true", "why"),
    [
        ([(BOX, 1)], "another class"),
        ([([0.25, 0.25, 0.45, 0.75], 2)], "too little overlap, 0.4"),
        ([([0.25, 0.25, 0.45, 0.75], 2), (BOX, 1)], "the class of one and the place of another"),
        ([], "nothing there"),
    ],
)
def test_found_box_that_meets_no_true_one_is_red(true: list[tuple[list[float], int]], why: str, tmp_path: Path) -> None:
    sheet = drawn([(GREY, detections(true, [(BOX, 2, 0.9)]))], tmp_path)
    assert is_in(WRONG, sheet) and not is_in(RIGHT, sheet), why


def test_found_box_that_covers_half_of_the_union_is_green(tmp_path: Path) -> None:
    sheet = drawn([(GREY, detections([([0.25, 0.25, 0.5, 0.75], 2)], [(BOX, 2, 0.9)]))], tmp_path)
    assert is_in(RIGHT, sheet) and not is_in(WRONG, sheet)


def test_tall_box_is_drawn_tall(tmp_path: Path) -> None:
    sheet = drawn([(GREY, detections([([0.25, 0.5, 0.75, 0.625], 1)], []))], tmp_path)
    white = (sheet == 255).all(axis=-1)
    assert (np.ptp(np.flatnonzero(white.any(axis=1))), np.ptp(np.flatnonzero(white.any(axis=0)))) == (160, 40)


def test_box_under_the_score_asked_for_is_not_drawn(tmp_path: Path) -> None:
    values = detections([(BOX, 1)], [(BOX, 2, 0.3)])
    assert not is_in(WRONG, drawn([(GREY, values)], tmp_path, min_score=0.31))
    assert is_in(WRONG, drawn([(GREY, values)], tmp_path, min_score=0.29))


def test_true_box_is_a_thin_white_frame(tmp_path: Path) -> None:
    sheet = drawn([(GREY, detections([(BOX, 2)], []))], tmp_path)
    column = sheet[GAP : GAP + TILE, GAP + 160]
    assert np.flatnonzero((column == TRUTH).all(axis=-1)).tolist() == [80, 240]


def test_label_of_a_box_at_the_top_stays_inside_its_tile(tmp_path: Path) -> None:
    values = detections([], [([0.0, 0.25, 0.5, 0.75], 2, 0.9)])
    sheet = drawn([(GREY, values)], tmp_path)
    assert is_in(WRONG, sheet[GAP + 5 : GAP + 14, GAP + 84 : GAP + 120])


def several(true: list[int], scores: list[float]) -> list[tuple[np.ndarray, dict[str, Any]]]:
    return [(GREY, {"true_classes": np.array(true), "class_scores": np.array(scores)})]


def test_right_label_of_several_is_green_and_one_too_many_is_red(tmp_path: Path) -> None:
    right, wrong = drawn(several([1], [0.9, 0.1]), tmp_path), drawn(several([1], [0.9, 0.7]), tmp_path)
    assert is_in(RIGHT, right) and not is_in(WRONG, right)
    assert is_in(RIGHT, wrong) and is_in(WRONG, wrong)


def test_label_of_several_that_was_missed_is_red(tmp_path: Path) -> None:
    sheet = drawn(several([2], [0.2, 0.4]), tmp_path)
    assert is_in(WRONG, sheet) and not is_in(RIGHT, sheet)


def test_example_without_labels_that_got_none_has_none(tmp_path: Path) -> None:
    sheet = drawn(several([], [0.2, 0.4]), tmp_path)
    assert not is_in(WRONG, sheet) and not is_in(RIGHT, sheet)
