"""Objects keep their numbers while they move, are half hidden, or unseen for a moment."""

import numpy as np
import pytest

from bakeoff.inference.predict.object_tracker import NO_TRACK, Tracks

SIZE = 0.1


def detections(*rows: tuple[float, float, float, int]) -> dict[str, np.ndarray]:
    """Return detections of (middle y, middle x, score, class)."""
    boxes = [[y - SIZE / 2, x - SIZE / 2, y + SIZE / 2, x + SIZE / 2] for y, x, _, _ in rows]
    return {
        "boxes": np.array(boxes, np.float32).reshape(-1, 4), "scores": np.array([row[2] for row in rows], np.float32),
        "classes": np.array([row[3] for row in rows], np.int64),
    }  # fmt: skip


def test_two_objects_that_pass_each_other_keep_their_numbers() -> None:
    tracks = Tracks(rate=30)
    for frame in range(40):
        x = 0.1 + 0.02 * frame
        numbers = tracks.follow(detections((0.47, x, 0.9, 1), (0.53, 1 - x, 0.9, 1)))
        assert numbers == [1, 2], frame


def test_a_fast_object_is_followed_though_its_boxes_do_not_overlap() -> None:
    tracks = Tracks(rate=30)
    places = [0.1 + 0.002 * frame**2 for frame in range(21)]  # the last steps are 0.078, of a box of 0.1
    assert {tracks.follow(detections((0.5, x, 0.9, 1)))[0] for x in places} == {1}
    assert places[-1] - places[-2] > 0.75 * SIZE


def test_an_object_that_is_unseen_for_a_moment_keeps_its_number_and_loses_it_after_a_second() -> None:
    for unseen, same in ((8, True), (12, False)):
        tracks = Tracks(rate=10)
        for _ in range(3):
            assert tracks.follow(detections((0.5, 0.5, 0.9, 1))) == [1]
        for _ in range(unseen):
            assert tracks.follow(detections()) == []
        tracks.follow(detections((0.5, 0.5, 0.9, 1)))
        assert tracks.follow(detections((0.5, 0.5, 0.9, 1))) == [1 if same else 2]


def test_an_unsure_detection_keeps_an_object_but_begins_none() -> None:
    tracks = Tracks(rate=10)
    assert tracks.follow(detections((0.5, 0.5, 0.9, 1), (0.2, 0.2, 0.3, 1))) == [1, NO_TRACK]
    assert tracks.follow(detections((0.5, 0.5, 0.3, 1), (0.2, 0.2, 0.3, 1))) == [1, NO_TRACK]
    assert tracks.follow(detections((0.5, 0.5, 0.05, 1))) == [NO_TRACK]


def test_an_object_that_appears_later_has_a_number_from_its_second_detection_on() -> None:
    tracks = Tracks(rate=10)
    tracks.follow(detections())
    assert tracks.follow(detections((0.5, 0.5, 0.9, 1))) == [NO_TRACK]
    assert tracks.follow(detections((0.5, 0.5, 0.9, 1))) == [1]
    assert tracks.follow(detections((0.5, 0.5, 0.9, 2))) == [NO_TRACK]  # of another class


@pytest.mark.parametrize("missed", [0.0, 0.2])
def test_balls_that_bounce_are_told_apart_although_some_are_missed(missed: float) -> None:
    """Eight balls for 200 frames: how often does the number of one change?"""
    random = np.random.default_rng(6)
    changes = shown = 0
    for _ in range(5):
        places, speeds = random.uniform(0.1, 0.9, (8, 2)), random.normal(0, 0.008, (8, 2))
        tracks, known = Tracks(rate=30), {}
        for _ in range(200):
            places += speeds
            speeds = np.where((places < 0.05) | (places > 0.95), -speeds, speeds)
            seen = [ball for ball in range(8) if random.random() >= missed]
            noise = random.normal(0, 0.004, (8, 2))
            rows = [(*(places[ball] + noise[ball]), 0.9, 1) for ball in seen]
            for ball, number in zip(seen, tracks.follow(detections(*rows)), strict=True):
                if number != NO_TRACK:
                    changes += known.get(ball, number) != number
                    known[ball] = number
                    shown += 1
    assert shown > (1 - missed) * 0.97 * 5 * 200 * 8
    assert changes <= 0.01 * shown
    print(f"{changes} changes in {shown} detections")
