import numpy as np
import pytest

from bakeoff.metrics.boxes import Matches
from bakeoff.metrics.detection_errors import KINDS, confusion, errors_of, lost_precision
from coco_sets import given, random_pairs, true

BOX = [0.0, 0.0, 100.0, 100.0]
NEAR = [0.0, 40.0, 100.0, 140.0]  # overlaps BOX by 60 of 140
EDGE = [0.0, 92.0, 100.0, 192.0]  # overlaps BOX by 8 of 192
FAR = [500.0, 500.0, 600.0, 600.0]


def matches(*pairs: tuple) -> Matches:
    return Matches.of(*zip(*pairs, strict=True))


def kinds(*pairs: tuple) -> list[str]:
    return errors_of(matches(*pairs)).found.tolist()


def counts(*pairs: tuple) -> dict[str, int]:
    return {kind: count for kind, count in errors_of(matches(*pairs)).counts().items() if count}


@pytest.mark.parametrize(
    ("box", "label", "kind"),
    [
        (BOX, 1, "right"),
        (NEAR, 1, "badly_placed"),
        (BOX, 2, "wrong_class"),
        (NEAR, 2, "wrong_class_and_place"),
        (EDGE, 1, "background"),
        (FAR, 1, "background"),
    ],
)
def test_a_detection_of_a_box_is_of_one_kind(box: list[float], label: int, kind: str) -> None:
    assert kinds((true((BOX, 1)), given((box, label, 0.9)))) == [kind]


def test_second_detection_of_a_box_is_a_duplicate() -> None:
    assert kinds((true((BOX, 1)), given((BOX, 1, 0.8), (BOX, 1, 0.9)))) == ["right", "duplicate"]


def test_detection_in_an_image_without_boxes_is_of_the_background() -> None:
    assert kinds((true(), given((BOX, 1, 0.8))), (true((BOX, 1)), given())) == ["background"]


def test_box_that_nothing_found_is_missed_unless_a_mistake_means_it() -> None:
    assert counts((true((BOX, 1)), given())) == {"missed": 1}
    assert counts((true((BOX, 1)), given((FAR, 1, 0.9)))) == {"missed": 1, "background": 1}
    assert counts((true((BOX, 1)), given((NEAR, 1, 0.9)))) == {"badly_placed": 1}
    assert counts((true((BOX, 1)), given((BOX, 2, 0.9)))) == {"wrong_class": 1}
    assert counts((true((BOX, 1)), given((NEAR, 2, 0.9)))) == {"missed": 1, "wrong_class_and_place": 1}


def test_scores_alone_decide_nothing_about_kinds() -> None:
    sure, unsure = (kinds((true((BOX, 1)), given((NEAR, 1, score)))) for score in (0.99, 0.01))
    assert sure == unsure == ["badly_placed"]


@pytest.mark.parametrize("seed", range(5))
def test_every_box_and_detection_is_accounted_for_once(seed: int) -> None:
    found = Matches.of(*zip(*random_pairs(seed, images=15), strict=True))
    errors = errors_of(found)
    assert len(errors.found) == len(found.found) and set(errors.found) <= {"right", *KINDS} - {"missed"}
    assert (errors.found == "right").sum() == len(set(found.taken) - {-1})
    meant = {int(row) for row in errors.meant if row >= 0} | {int(row) for row in found.taken if row >= 0}
    assert set(np.flatnonzero(errors.missed)) == set(range(len(found.truth))) - meant


def lost(classes: int, *pairs: tuple) -> dict[str, float]:
    found = matches(*pairs)
    return {kind: value for kind, value in lost_precision(found, errors_of(found), classes).items() if value}


def test_a_wrong_name_costs_what_its_box_would_have_given() -> None:
    """One class has a box that another class's only detection covers: of two classes with boxes one is at 0."""
    pairs = [(true((BOX, 1), (FAR, 2)), given((BOX, 2, 0.5), (FAR, 2, 0.9)))]
    assert lost(2, *pairs) == pytest.approx({"wrong_class": 0.5})


def test_a_badly_placed_detection_costs_what_its_box_would_have_given() -> None:
    assert lost(1, (true((BOX, 1)), given((NEAR, 1, 0.9)))) == pytest.approx({"badly_placed": 1.0})


def test_of_two_mistakes_that_mean_one_box_only_the_better_would_have_found_it() -> None:
    """Of other kinds, too: with the wrong name mended there is nothing left to be placed better."""
    pairs = [(true((BOX, 1)), given((BOX, 2, 0.9), (NEAR, 1, 0.8)))]
    assert kinds(*pairs) == ["wrong_class", "badly_placed"]
    assert lost(1, *pairs) == pytest.approx({"wrong_class": 1.0})


def test_a_wrong_detection_costs_precision_only_if_it_is_surer_than_a_right_one() -> None:
    """Precision is 1/2 at every recall because of the surer one on nothing; without it, 1."""
    assert lost(1, (true((BOX, 1)), given((BOX, 1, 0.5), (FAR, 1, 0.9)))) == pytest.approx({"background": 0.5})
    assert lost(1, (true((BOX, 1)), given((BOX, 1, 0.9), (FAR, 1, 0.5)))) == {}
    assert lost(1, (true((BOX, 1)), given((BOX, 1, 0.9), (BOX, 1, 0.8)))) == {}


def test_a_missed_box_costs_the_recall_that_is_never_reached() -> None:
    """One of two is found: 51 of 101 recalls are reached; were the other not asked for, all would be."""
    pairs = [(true((BOX, 1), (FAR, 1)), given((BOX, 1, 0.9)))]
    assert lost(1, *pairs) == pytest.approx({"missed": 1 - 51 / 101})


def test_confusion_has_a_row_for_every_true_box_and_every_other_detection() -> None:
    pairs = [
        (true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9), (FAR, 3, 0.8), (FAR, 1, 0.7))),
        (true((BOX, 3)), given((FAR, 2, 0.4))),
    ]
    found = matches(*pairs)
    rows = sorted(zip(*(column.tolist() for column in confusion(found, errors_of(found))), strict=True))
    # Found; taken for a 3, by the surer of two; missed; and two detections too many.
    assert rows == [(0, 1), (0, 2), (1, 1), (2, 3), (3, 0)]


def test_what_scores_less_takes_no_box_from_what_scores_more() -> None:
    all_of_them = Matches.of(*zip(*random_pairs(9, images=10), strict=True))
    shown = all_of_them.from_score(0.5)
    alone = [
        (truth, given(*[
            (corners.tolist(), int(label), float(score))
            for corners, label, score in zip(found.corners, found.classes, found.scores, strict=True)
            if score >= 0.5
        ]))
        for truth, found in random_pairs(9, images=10)
    ]  # fmt: skip
    np.testing.assert_array_equal(shown.taken, Matches.of(*zip(*alone, strict=True)).taken)
    assert 0 < len(shown.found) < len(all_of_them.found)
