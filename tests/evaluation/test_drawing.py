"""Sheets of examples: what was found beside what is true."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bakeoff.evaluation.drawing import (
    GAP,
    INK,
    LINE_HEIGHT,
    PAPER,
    RIGHT,
    SEAM,
    SIDE,
    TRUTH,
    UNSURE,
    WRONG,
    draw_sheet,
    draw_truth,
)

GREY = np.full((16, 16, 3), 100.0, np.float32)
LEFT, OTHER = GAP, GAP + SIDE + SEAM  # where the panels of the first pair begin
BOX = [0.25, 0.25, 0.75, 0.75]
HALF = [0.25, 0.25, 0.5, 0.75]
LESS = [0.25, 0.25, 0.45, 0.75]
FAR = [0.0, 0.8, 0.1, 0.9]


def drawn(examples: list[tuple[np.ndarray, dict[str, Any]]], folder: Path, min_score: float = 0.5) -> np.ndarray:
    """The sheet's pixels, through a format that keeps them exactly."""
    draw_sheet(examples, ["cat", "dog"], min_score, folder / "sheet.png")
    return np.asarray(Image.open(folder / "sheet.png"))


def answer(truth: int, given: int, pixels: np.ndarray = GREY) -> tuple[np.ndarray, dict[str, Any]]:
    return pixels, {"truth": truth, "given": given, "score": 0.9}


def detections(true: list[tuple[list[float], int]], predicted: list[tuple[list[float], int, float]]) -> dict[str, Any]:
    return {
        "true_boxes": np.array([box for box, _ in true], np.float32).reshape(-1, 4),
        "true_classes": np.array([label for _, label in true], np.int64),
        "boxes": np.array([box for box, _, _ in predicted], np.float32).reshape(-1, 4),
        "classes": np.array([label for _, label, _ in predicted], np.int64),
        "scores": np.array([score for _, _, score in predicted], np.float32),
    }


def panels(
    true: list[tuple[list[float], int]], predicted: list[tuple[list[float], int, float]], folder: Path, **how: float
) -> tuple[np.ndarray, np.ndarray]:
    """What is true, and what was found."""
    sheet = drawn([(GREY, detections(true, predicted))], folder, **how)
    return sheet[GAP : GAP + SIDE, LEFT : LEFT + SIDE], sheet[GAP : GAP + SIDE, OTHER : OTHER + SIDE]


def count(colour: tuple[int, int, int], pixels: np.ndarray) -> int:
    return int((pixels == np.array(colour, np.uint8)).all(axis=-1).sum())


def rows_of(colour: tuple[int, int, int], pixels: np.ndarray) -> np.ndarray:
    return np.flatnonzero((pixels == np.array(colour, np.uint8)).all(axis=-1).any(axis=1))


# The sheet.


@pytest.mark.parametrize(("number", "columns", "rows"), [(1, 1, 1), (3, 3, 1), (4, 4, 1), (5, 4, 2)])
def test_sheet_has_four_pictures_a_row(number: int, columns: int, rows: int, tmp_path: Path) -> None:
    sheet = drawn([answer(1, 1)] * number, tmp_path)
    cell = SIDE + 2 * LINE_HEIGHT  # with two lines of text
    assert sheet.shape == (rows * (cell + GAP) + GAP, columns * (SIDE + GAP) + GAP, 3)


@pytest.mark.parametrize(("number", "columns", "rows"), [(1, 1, 1), (2, 2, 1), (3, 2, 2)])
def test_sheet_has_two_pairs_a_row(number: int, columns: int, rows: int, tmp_path: Path) -> None:
    sheet = drawn([(GREY, detections([], []))] * number, tmp_path)
    assert sheet.shape[:2] == (
        rows * (SIDE + LINE_HEIGHT + GAP) + GAP,
        columns * (2 * SIDE + SEAM + GAP) + GAP,
    )


def test_pictures_follow_in_reading_order_on_dark_paper(tmp_path: Path) -> None:
    sheet = drawn([answer(1, 1, np.full((4, 4, 3), 40.0 * number, np.float32)) for number in range(5)], tmp_path)
    middle = GAP + SIDE // 2
    below = middle + SIDE + 2 * LINE_HEIGHT + GAP
    middles = [sheet[middle, middle + column * (SIDE + GAP), 0] for column in range(4)]
    assert [*middles, sheet[below, middle, 0]] == [0, 40, 80, 120, 160]
    assert tuple(sheet[2, 2]) == PAPER and tuple(sheet[-20, -20]) == PAPER


def test_values_beyond_the_range_of_pixels_are_cut_to_it(tmp_path: Path) -> None:
    pixels = np.concatenate([np.full((4, 8, 3), -60.0), np.full((4, 8, 3), 300.0)]).astype(np.float32)
    sheet = drawn([answer(1, 1, pixels)], tmp_path)
    assert sheet[GAP + 40, GAP + 200, 0] == 0 and sheet[GAP + SIDE - 20, GAP + 200, 0] == 255


def luminance(colour: tuple[int, int, int]) -> float:
    """Relative, as WCAG 2 has it."""
    linear = [((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 255 / 12.92 for c in colour]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_texts_stand_out_from_what_they_are_written_on() -> None:
    """By 4.5 to 1, which WCAG 2 asks for; right and wrong differ in blue, which red-green blindness leaves alone."""
    for colour in (RIGHT, WRONG, TRUTH, UNSURE):
        for ground in (INK, PAPER):
            assert (luminance(colour) + 0.05) / (luminance(ground) + 0.05) > 4.5
    assert RIGHT[2] - WRONG[2] > 200


# Labels.


def test_right_class_is_blue_and_wrong_class_is_orange(tmp_path: Path) -> None:
    right, wrong = drawn([answer(2, 2)], tmp_path), drawn([answer(2, 1)], tmp_path)
    assert count(RIGHT, right) and not count(WRONG, right)
    assert count(WRONG, wrong) and not count(RIGHT, wrong)


def test_the_truth_stands_above_the_predictions(tmp_path: Path) -> None:
    sheet = drawn([answer(2, 1)], tmp_path)
    predicted, truth = rows_of(WRONG, sheet), rows_of(TRUTH, sheet)
    assert GAP + SIDE <= truth.min() and truth.max() < GAP + SIDE + LINE_HEIGHT <= predicted.min()


def test_clip_is_a_strip_of_six_frames_from_its_first_to_its_last(tmp_path: Path) -> None:
    clip = np.stack([np.full((8, 8, 3), 10 * frame, np.float32) for frame in range(16)])
    sheet = drawn([answer(1, 1, clip)], tmp_path)
    assert [sheet[GAP + 64, GAP + 64 + 130 * place, 0] for place in range(6)] == [0, 30, 60, 90, 120, 150]
    assert sheet.shape[1] == 6 * 130 - SEAM + 2 * GAP


def test_a_clip_of_fewer_frames_shows_each_once(tmp_path: Path) -> None:
    clip = np.stack([np.full((8, 8, 3), 10 * frame, np.float32) for frame in range(3)])
    sheet = drawn([answer(1, 1, clip)], tmp_path)
    assert [sheet[GAP + 64, GAP + 64 + 130 * place, 0] for place in range(3)] == [0, 10, 20]


def several(scores: list[float], true: list[int]) -> tuple[np.ndarray, dict[str, Any]]:
    return GREY, {"true_classes": np.array(true, np.int64), "class_scores": np.array(scores, np.float32)}


def test_every_label_that_was_given_or_missed_has_a_line(tmp_path: Path) -> None:
    sheet = drawn([several([0.7, 0.9], [2])], tmp_path)
    assert sheet.shape[0] == SIDE + 2 * LINE_HEIGHT + 2 * GAP
    assert rows_of(RIGHT, sheet).max() < GAP + SIDE + LINE_HEIGHT <= rows_of(WRONG, sheet).min()  # best first
    missed = drawn([several([0.2, 0.1], [2])], tmp_path)
    assert count(WRONG, missed) and not count(RIGHT, missed) and missed.shape[0] == SIDE + LINE_HEIGHT + 2 * GAP


def test_nothing_given_where_nothing_is_true_is_right(tmp_path: Path) -> None:
    sheet = drawn([several([0.2, 0.1], [])], tmp_path)
    assert count(RIGHT, sheet) and not count(WRONG, sheet)


# Boxes.


def test_predicted_box_of_the_right_class_is_blue_and_its_truth_white(tmp_path: Path) -> None:
    truth, predicted = panels([(BOX, 2)], [(BOX, 2, 0.9)], tmp_path)
    assert count(RIGHT, predicted) and not count(WRONG, predicted)
    assert count(TRUTH, truth) and not count(WRONG, truth) and not count(RIGHT, truth)


@pytest.mark.parametrize(
    ("true", "why"),
    [
        ([(BOX, 1)], "another class"),
        ([(LESS, 2)], "too little overlap, 0.4"),
        ([(LESS, 2), (BOX, 1)], "the class of one and the place of another"),
        ([], "nothing there"),
    ],
)
def test_predicted_box_that_meets_no_true_one_is_orange_and_what_was_missed_as_well(
    true: list[tuple[list[float], int]], why: str, tmp_path: Path
) -> None:
    truth, predicted = panels(true, [(BOX, 2, 0.9)], tmp_path)
    assert count(WRONG, predicted) and not count(RIGHT, predicted), why
    assert bool(count(WRONG, truth)) == bool(true), why


def test_predicted_box_that_covers_half_of_the_union_is_right(tmp_path: Path) -> None:
    truth, predicted = panels([(HALF, 2)], [(BOX, 2, 0.9)], tmp_path)
    assert count(RIGHT, predicted) and not count(WRONG, predicted) and not count(WRONG, truth)


def test_wrong_boxes_are_dashed_so_that_they_differ_without_colours(tmp_path: Path) -> None:
    def lower_edge(label: int, colour: tuple[int, int, int]) -> int:
        _, predicted = panels([(BOX, 1)], [(BOX, label, 0.9)], tmp_path)
        return count(colour, predicted[round(0.75 * (SIDE - 1)) - 2 :])

    solid, dashed = lower_edge(1, RIGHT), lower_edge(2, WRONG)
    assert 0.4 * solid < dashed < 0.65 * solid


def test_tall_box_is_drawn_tall(tmp_path: Path) -> None:
    truth, _ = panels([([0.25, 0.5, 0.75, 0.625], 1)], [([0.25, 0.5, 0.75, 0.625], 1, 0.9)], tmp_path)
    white = (truth == 255).all(axis=-1)
    white[: round(0.25 * (SIDE - 1))] = False  # the tag
    assert np.ptp(np.flatnonzero(white.any(axis=1))) == pytest.approx(SIDE / 2, abs=2)
    assert np.ptp(np.flatnonzero(white.any(axis=0))) == pytest.approx(SIDE / 8, abs=2)


def test_box_under_the_score_asked_for_is_not_drawn_and_counts_as_missed(tmp_path: Path) -> None:
    truth, predicted = panels([(BOX, 2)], [(FAR, 1, 0.9), (BOX, 2, 0.3)], tmp_path)
    assert count(WRONG, truth) and not count(RIGHT, predicted) and not count(UNSURE, predicted)
    truth, predicted = panels([(BOX, 2)], [(BOX, 2, 0.3)], tmp_path, min_score=0.2)
    assert count(RIGHT, predicted) and not count(WRONG, truth)


def test_of_a_weak_model_the_surest_boxes_are_drawn_as_such_and_what_is_true_stays_missed(tmp_path: Path) -> None:
    """It is weak if it gives nothing in any picture."""
    truth, predicted = panels([(BOX, 2)], [(BOX, 2, 0.3)], tmp_path)
    assert count(UNSURE, predicted) and not count(RIGHT, predicted) and count(WRONG, truth) and not count(TRUTH, truth)
    sure = (GREY, detections([], [(FAR, 1, 0.9)]))
    sheet = drawn([sure, (GREY, detections([(BOX, 2)], [(BOX, 2, 0.3)]))], tmp_path)
    assert not count(UNSURE, sheet)


def test_of_many_boxes_the_ten_surest_are_drawn(tmp_path: Path) -> None:
    """Twenty upright ones from left to right, the sure ones on the right."""
    rows = [([0.1, at / 20, 0.9, at / 20 + 0.02], 1, 0.5 + at / 40) for at in range(20)]
    _, predicted = panels([], rows, tmp_path)
    low = (predicted[round(0.7 * SIDE) :] == np.array(WRONG, np.uint8)).all(axis=-1).any(axis=0)
    assert np.flatnonzero(low).min() > 9.5 / 20 * SIDE and np.flatnonzero(low).max() > 19 / 20 * SIDE


def test_name_of_a_box_at_an_edge_stays_in_the_picture(tmp_path: Path) -> None:
    corner = [0.0, 0.9, 0.1, 1.0]
    _, predicted = panels([(corner, 2)], [(corner, 2, 0.9)], tmp_path)
    blue = (predicted == np.array(RIGHT, np.uint8)).all(axis=-1)
    assert blue[1:5].any() and np.flatnonzero(blue.any(axis=0)).min() < 0.85 * SIDE  # it moved to the left


def test_every_box_has_its_name(tmp_path: Path) -> None:
    truth, predicted = panels([(BOX, 2)], [(BOX, 2, 0.9)], tmp_path)
    above = slice(round(0.25 * (SIDE - 1)) - LINE_HEIGHT + 3, round(0.25 * (SIDE - 1)) - 2)
    assert count(RIGHT, predicted[above]) > 300 and count(TRUTH, truth[above]) > 200
    assert count(INK, predicted[above]) > 20 and count(INK, truth[above]) > 20


# Training examples.


def test_training_examples_are_drawn_with_every_true_box_and_no_other() -> None:
    two = {"boxes": np.array([BOX, FAR], np.float32), "classes": np.array([1, 2])}
    none = {"boxes": np.zeros((0, 4), np.float32), "classes": np.zeros(0, np.int64)}
    sheet = np.asarray(draw_truth([(GREY, two), (GREY, none)], ["cat", "dog"]))
    assert sheet.shape == (SIDE + LINE_HEIGHT + 2 * GAP, 2 * (SIDE + GAP) + GAP, 3)
    first, second = (sheet[GAP : GAP + SIDE, left : left + SIDE] for left in (GAP, 2 * GAP + SIDE))
    top, left, bottom, right = (round(side * (SIDE - 1)) for side in BOX)
    for place in ((bottom, left + 40), (bottom, right - 40), (top + 40, left), (top + 40, right)):
        assert first[place].tolist() == list(TRUTH)
    assert count(WRONG, sheet) == 0 and count(TRUTH, second) == 0


def test_training_examples_with_labels_and_clips_are_drawn_with_their_labels() -> None:
    clip = np.stack([GREY] * 9)
    for pixels, values in (
        (GREY, {"label": np.int64(2)}), (GREY, {"labels": np.array([1.0, 1.0])}), (clip, {"label": np.int64(1)}),
    ):  # fmt: skip
        sheet = np.asarray(draw_truth([(pixels, values)], ["cat", "dog"]))
        assert count(TRUTH, sheet[-GAP - LINE_HEIGHT :]) > 10
        assert (sheet == 100).all(axis=-1).any()
