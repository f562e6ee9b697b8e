from collections import Counter

import numpy as np
import pytest

from bakeoff.learning.metrics.box_matching import Boxes, Matches
from bakeoff.learning.metrics.detection_errors import KINDS, confusion, find_errors, lost_precision
from support.coco_sets import Pairs, given, random_pairs, true

BOX = [0.0, 0.0, 100.0, 100.0]
NEAR = [0.0, 40.0, 100.0, 140.0]  # overlaps BOX by 60 of 140
EDGE = [0.0, 92.0, 100.0, 192.0]  # overlaps BOX by 8 of 192
FAR = [500.0, 500.0, 600.0, 600.0]


def matches(*pairs: tuple) -> Matches:
    return Matches.from_boxes(*zip(*pairs, strict=True))


def kinds(*pairs: tuple) -> list[str]:
    return find_errors(matches(*pairs)).kinds.tolist()


def counts(*pairs: tuple) -> dict[str, int]:
    return {kind: count for kind, count in find_errors(matches(*pairs)).counts().items() if count}


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
    paired = Matches.from_boxes(*zip(*random_pairs(seed, images=15), strict=True))
    errors = find_errors(paired)
    assert len(errors.kinds) == len(paired.predictions) and set(errors.kinds) <= {"right", *KINDS} - {"missed"}
    assert (errors.kinds == "right").sum() == len(set(paired.taken) - {-1})
    meant = {int(row) for row in errors.meant if row >= 0} | {int(row) for row in paired.taken if row >= 0}
    assert set(np.flatnonzero(errors.missed)) == set(range(len(paired.truth))) - meant


def lost(classes: int, *pairs: tuple) -> dict[str, float]:
    paired = matches(*pairs)
    return {kind: value for kind, value in lost_precision(paired, find_errors(paired), classes).items() if value}


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


def confused(*pairs: tuple) -> list[tuple[int, int]]:
    """(true, given), sorted."""
    paired = matches(*pairs)
    return sorted(zip(*(column.tolist() for column in confusion(paired, find_errors(paired))), strict=True))


def test_confusion_has_a_row_for_every_detection_and_for_every_box_without_one() -> None:
    pairs = [
        (true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9), (FAR, 3, 0.8), (FAR, 1, 0.7))),
        (true((BOX, 3)), given((FAR, 2, 0.4))),
    ]
    # One detection of nothing; a 1 that is right; a 2 that is taken for a 1 and for a 3; a 3 that is missed.
    assert confused(*pairs) == [(0, 2), (1, 1), (2, 1), (2, 3), (3, 0)]


@pytest.mark.parametrize(("king", "jack"), [(0.9, 0.8), (0.8, 0.9)])
def test_a_jack_on_a_king_is_taken_for_it_also_where_the_king_is_found(king: float, jack: float) -> None:
    assert confused((true((BOX, 1)), given((BOX, 1, king), (BOX, 2, jack)))) == [(1, 1), (1, 2)]


def test_a_duplicate_is_neither_a_confusion_nor_a_detection_of_nothing() -> None:
    assert confused((true((BOX, 1)), given((BOX, 1, 0.9), (BOX, 1, 0.8)))) == [(1, 1)]


def test_a_detection_that_overlaps_a_box_by_less_than_half_is_one_of_nothing() -> None:
    assert confused((true((BOX, 1)), given((NEAR, 1, 0.9)))) == [(0, 1), (1, 0)]
    assert confused((true(), given((BOX, 2, 0.9)))) == [(0, 2)]
    assert confused((true((BOX, 1)), given())) == [(1, 0)]


def count_by_hand(pairs: Pairs) -> Counter[tuple[int, int]]:
    """The rule in plain loops: the best first, right ones take a box; all others go by the largest overlap."""
    counts: Counter[tuple[int, int]] = Counter()
    for truth, predictions in pairs:
        assert predictions.scores is not None
        boxes = list(zip(truth.corners.tolist(), truth.classes.tolist(), strict=True))
        rows = zip(predictions.scores.tolist(), predictions.corners.tolist(), predictions.classes.tolist(), strict=True)
        free, named = set(range(len(boxes))), set()
        for _, corners, label in sorted(rows, key=lambda row: -row[0]):
            over = {place: share(corners, box) for place, (box, _) in enumerate(boxes)}
            wanted = [place for place in free if boxes[place][1] == label and over[place] >= 0.5]
            nearest = max(over, key=lambda place: over[place], default=None)
            if wanted:
                took = max(wanted, key=lambda place: over[place])
                free.remove(took)
            elif nearest is None or over[nearest] < 0.5:
                counts[0, label] += 1
                continue
            else:
                took = nearest
                if boxes[took][1] == label:
                    continue
            named.add(took)
            counts[boxes[took][1], label] += 1
        counts.update((label, 0) for place, (_, label) in enumerate(boxes) if place not in named)
    return counts


def share(one: list[float], other: list[float]) -> float:
    """What both cover of what either covers."""
    high = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    wide = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return high * wide / (sum(areas) - high * wide)


def second_guesses(seed: int) -> Pairs:
    """Scenes in which most detections come again, a little moved, with another class and another score."""
    draw, pairs = np.random.default_rng(seed), []
    for truth, predictions in random_pairs(seed, images=30):
        assert predictions.scores is not None
        moved = predictions.corners + draw.normal(0, 2, predictions.corners.shape).astype(np.float32)
        moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 1)
        labels, scores = draw.integers(1, 4, len(moved)), draw.random(len(moved)).astype(np.float32)
        parts = [(predictions.corners, moved), (predictions.classes, labels), (predictions.scores, scores)]
        pairs.append((truth, Boxes(*(np.concatenate(part) for part in parts))))
    return pairs


@pytest.mark.parametrize("seed", range(6))
def test_confusion_is_what_plain_loops_count(seed: int) -> None:
    pairs = second_guesses(seed)
    counts = count_by_hand(pairs)
    assert Counter(confused(*pairs)) == counts
    assert sum(count for (true, given), count in counts.items() if true and given and true != given) > 30
    overlapping = sum(
        max((share(corners, box) for box in truth.corners.tolist()), default=0) >= 0.5
        for truth, predictions in pairs
        for corners in predictions.corners.tolist()
    )
    given_boxes = sum(len(predictions.classes) for _, predictions in pairs)
    assert sum(count for (true, _), count in counts.items() if true == 0) == given_boxes - overlapping


def test_what_scores_less_takes_no_box_from_what_scores_more() -> None:
    all_of_them = Matches.from_boxes(*zip(*random_pairs(9, images=10), strict=True))
    shown = all_of_them.from_score(0.5)
    alone = [
        (truth, given(*[
            (corners.tolist(), int(label), float(score))
            for corners, label, score in zip(predictions.corners, predictions.classes, predictions.scores, strict=True)
            if score >= 0.5
        ]))
        for truth, predictions in random_pairs(9, images=10)
    ]  # fmt: skip
    np.testing.assert_array_equal(shown.taken, Matches.from_boxes(*zip(*alone, strict=True)).taken)
    assert 0 < len(shown.predictions) < len(all_of_them.predictions)
