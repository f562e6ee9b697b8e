"""The chosen pictures, by numbers that can be checked by hand."""

import numpy as np
import pytest

from bakeoff.inference.active_learning.choose import choose_pictures, measure_uncertainty

NOBODY = np.empty((0, 2), np.float32)


def test_of_equally_unsure_pictures_the_furthest_from_the_training_set_is_first() -> None:
    features = np.array([[0.1, 0], [5, 0], [1, 0]], np.float32)
    known = np.array([[0, 0], [0, 1]], np.float32)
    assert [place for place, _ in choose_pictures(np.ones(3), features, known, 3)] == [1, 2, 0]


def test_of_two_views_of_one_scene_the_second_comes_last() -> None:
    features = np.array([[5, 0], [5.01, 0], [0, 3]], np.float32)
    chosen = choose_pictures(np.array([0.9, 0.9, 0.6]), features, np.zeros((1, 2), np.float32), 3)
    assert [place for place, _ in chosen][2] in (0, 1) and {place for place, _ in chosen[:2]} >= {2}
    assert chosen[2][1] < 0.1 < chosen[1][1]


def test_of_equally_far_pictures_the_unsure_one_is_first() -> None:
    features = np.array([[3, 0], [-3, 0]], np.float32)
    assert choose_pictures(np.array([0.2, 0.7]), features, np.zeros((1, 2), np.float32), 1)[0][0] == 1


def test_more_than_there_are_gives_each_once_also_without_a_training_set() -> None:
    features = np.array([[0, 0], [1, 0], [0, 2]], np.float32)
    assert sorted(place for place, _ in choose_pictures(np.zeros(3), features, NOBODY, 10)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("answer", "unsure"),
    [
        ({"probabilities": [0.5, 0.5]}, 1.0),
        ({"probabilities": [1.0, 0.0, 0.0]}, 0.0),
        ({"scores": [0.5, 1.0]}, 0.5),
        ({"scores": [0.5, 1.0], "boxes": [[0, 0, 1, 1]] * 2}, 0.75),  # mean 0.5, most 1
        ({"scores": [0.05], "boxes": [[0, 0, 1, 1]]}, 0.0),
        ({"scores": [], "boxes": []}, 0.0),
    ],
)
def test_uncertainty_goes_from_0_to_1(answer: dict[str, list[float]], unsure: float) -> None:
    uncertainty = measure_uncertainty({name: np.array(values) for name, values in answer.items()})
    assert uncertainty == pytest.approx(unsure, abs=1e-6)
