import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.metrics.detection import DetectionScore, Loss
from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.detector_settings import DetectionLoss, Suppression
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import TASKS, judge, make_task
from support.score_rows import rows_of

# Anchors of 64 pixels that tile the image: 8 x 8 of an eighth of its side, 4 x 4 of a quarter, 2 x 2 of a half.
TILES = Anchors(scale=1.0, aspect_ratios=(1.0,))
QUARTERS, HALVES = 64, 80  # rows at which the coarser levels begin
CLASSES = ("ant", "bee", "cow")


def detection(**settings: Any) -> Detection:
    return Detection(Ssd(input_size=64, anchors=settings.pop("anchors", TILES), **settings), CLASSES)


def encoded(task: Detection, boxes: list[list[float]], classes: list[int]) -> dict[str, np.ndarray]:
    example = {
        "boxes": tf.reshape(tf.constant(boxes, tf.float32), [-1, 4]),
        "classes": tf.constant(classes, tf.int64),
    }
    direct = {name: value.numpy() for name, value in task.encode(example).items()}
    in_graph = compile_graph(task.encode)(example)
    for name, value in direct.items():
        np.testing.assert_allclose(in_graph[name], value, rtol=1e-6)
    return direct


def answered(targets: dict[str, np.ndarray]) -> dict[int, int]:
    """Which anchors stand for a box, and its class."""
    return {int(anchor): int(targets["classes"][anchor]) for anchor in np.flatnonzero(targets["classes"])}


# Targets.


def test_anchor_that_is_the_box_answers_it_without_an_offset() -> None:
    targets = encoded(detection(), [[0.0, 0.5, 0.5, 1.0]], [3])
    assert answered(targets) == {HALVES + 1: 3}
    np.testing.assert_allclose(targets["boxes"][HALVES + 1], [0, 0, 0, 0], atol=1e-5)


def test_box_is_coded_against_its_anchor_in_tenths_and_fifths() -> None:
    # Centre 0.25 0.225, size 0.5 0.45, against an anchor with centre 0.25 0.25 and size 0.5 0.5.
    targets = encoded(detection(), [[0.0, 0.0, 0.5, 0.45]], [1])
    assert answered(targets) == {HALVES: 1}
    np.testing.assert_allclose(targets["boxes"][HALVES], [0, -0.05 * 10, 0, 5 * math.log(0.9)], atol=1e-5)


def test_image_without_boxes_asks_every_anchor_for_the_background() -> None:
    targets = encoded(detection(), [], [])
    assert not targets["classes"].any() and np.isfinite(targets["boxes"]).all()
    assert targets["classes"].shape == (84,) and targets["boxes"].shape == (84, 4)


def test_small_box_is_answered_by_the_anchor_that_overlaps_it_most_however_little() -> None:
    # A tenth of an eighth's area, in the cell of row 2 and column 5.
    box = [2.2 / 8, 5.2 / 8, 2.5 / 8, 5.5 / 8]
    assert answered(encoded(detection(), [box], [2])) == {2 * 8 + 5: 2}


def test_anchors_that_overlap_by_the_threshold_answer_too() -> None:
    # Two neighbouring quarters lie in this box, each covers exactly half of it.
    box = [[0.25, 0.25, 0.5, 0.75]]
    pair = {QUARTERS + 4 + 1: 2, QUARTERS + 4 + 2: 2}
    assert answered(encoded(detection(), box, [2])) == pair
    stricter = detection(loss=DetectionLoss(matched_from=0.51))
    assert answered(encoded(stricter, box, [2])) == {QUARTERS + 4 + 1: 2}  # the best one, the first of two


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_anchor_that_overlaps_two_boxes_answers_the_one_it_overlaps_more(order: list[int]) -> None:
    """A box of a half with one of a quarter in its corner; from an overlap of 0.05 their inner anchors answer too."""
    boxes, classes = [[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.25, 0.25]], [1, 2]
    task = detection(loss=DetectionLoss(matched_from=0.05))
    small_in_half = {row * 8 + column: 1 for row in range(4) for column in range(4)}
    small_in_quarter = {0: 2, 1: 2, 8: 2, 9: 2}
    larger = {HALVES: 1, QUARTERS: 2, QUARTERS + 1: 1, QUARTERS + 4: 1, QUARTERS + 5: 1}
    given = answered(encoded(task, [boxes[i] for i in order], [classes[i] for i in order]))
    assert given == small_in_half | small_in_quarter | larger


def test_boxes_apart_are_answered_by_their_own_anchors() -> None:
    boxes = [[0.0, 0.0, 0.5, 0.5], [0.75, 0.75, 1.0, 1.0], [0.0, 0.875, 0.125, 1.0]]
    assert answered(encoded(detection(), boxes, [3, 1, 2])) == {HALVES: 3, QUARTERS + 15: 1, 7: 2}


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_anchor_that_is_best_for_two_boxes_answers_the_one_it_overlaps_more(order: list[int]) -> None:
    """Whatever the order in which an annotator drew them."""
    boxes, classes = [[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.5, 0.4]], [1, 2]
    targets = encoded(detection(), [boxes[i] for i in order], [classes[i] for i in order])
    assert targets["classes"][HALVES] == 1
    np.testing.assert_allclose(targets["boxes"][HALVES], [0, 0, 0, 0], atol=1e-5)


def test_every_box_is_answered_though_two_have_the_same_best_anchor() -> None:
    targets = encoded(detection(), [[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.5, 0.4]], [1, 2])
    assert set(answered(targets).values()) == {1, 2}


@pytest.mark.parametrize("box", [[0.99, 0.99, 1.0, 1.0], [0.9, 0.9, 0.9, 0.95]], ids=["in a gap", "without area"])
def test_box_that_no_anchor_overlaps_is_not_asked_of_a_far_one(box: list[float]) -> None:
    """Anchors of a quarter of the stride leave gaps."""
    task = detection(anchors=Anchors(scale=0.25, aspect_ratios=(1.0,)))
    assert not (task.head.anchors[:, 2:] > 0.985).any()
    assert 0 not in answered(encoded(task, [box], [1]))


def test_matched_boxes_decode_to_the_truth() -> None:
    draw = np.random.default_rng(0)
    low = draw.uniform(0, 0.5, (6, 2))
    truth = np.concatenate([low, low + draw.uniform(0.1, 0.5, (6, 2))], axis=1)
    task = detection()
    targets = encoded(task, truth.tolist(), [1, 2, 3, 1, 2, 3])
    anchors = task.head.anchors
    for anchor in answered(targets):
        y, x, height, width = targets["boxes"][anchor] / [10, 10, 5, 5]
        tall, wide = anchors[anchor][2:] - anchors[anchor][:2]
        centre = (anchors[anchor][:2] + anchors[anchor][2:]) / 2 + [y * tall, x * wide]
        half = np.array([tall * math.exp(height), wide * math.exp(width)]) / 2
        box = np.concatenate([centre - half, centre + half])
        assert np.abs(truth - box).max(axis=1).min() < 1e-5


# Losses.


def losses_by_hand(
    outputs: dict[str, np.ndarray], targets: dict[str, np.ndarray], rule: DetectionLoss
) -> dict[str, float]:
    """One number at a time, focal loss as the paper writes it: -alpha_t (1 - p_t)^gamma log p_t."""
    classes = boxes = matches = 0.0
    for row in range(len(targets["classes"])):
        for anchor, truth in enumerate(targets["classes"][row]):
            for number, logit in enumerate(outputs["classes"][row, anchor], start=1):
                probability = 1 / (1 + math.exp(-float(logit)))
                is_it = number == truth
                answer = probability if is_it else 1 - probability
                weight = rule.focal_alpha if is_it else 1 - rule.focal_alpha
                classes -= weight * (1 - answer) ** rule.focal_gamma * math.log(answer)
            if truth:
                matches += 1
                for given, wanted in zip(outputs["boxes"][row, anchor], targets["boxes"][row, anchor], strict=True):
                    off = abs(float(given) - float(wanted))
                    if off < rule.smooth_l1_delta:
                        boxes += off**2 / 2
                    else:
                        boxes += rule.smooth_l1_delta * (off - rule.smooth_l1_delta / 2)
    matches = max(matches, 1.0)
    return {"classes": rule.class_weight * classes / matches, "boxes": rule.box_weight * boxes / matches}


def random_outputs(seed: int, batch: int = 2) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {
        "classes": draw.normal(-1, 2, (batch, 84, 3)).astype(np.float32),
        "boxes": draw.normal(0, 2, (batch, 84, 4)).astype(np.float32),
    }


@pytest.mark.parametrize(
    "rule",
    [
        DetectionLoss(),
        DetectionLoss(focal_alpha=0.9, focal_gamma=0.0, smooth_l1_delta=0.11),
        DetectionLoss(focal_gamma=1.5, smooth_l1_delta=3.0, class_weight=2.5, box_weight=0.5),
    ],
)
def test_losses_equal_those_counted_one_by_one(rule: DetectionLoss) -> None:
    draw = np.random.default_rng(5)
    matched = draw.random((2, 84)) < 0.1
    targets = {
        "classes": np.where(matched, draw.integers(1, 4, (2, 84)), 0),
        "boxes": draw.normal(0, 2, (2, 84, 4)).astype(np.float32),
    }
    outputs = random_outputs(6)
    given = detection(loss=rule).losses(
        {name: tf.constant(value) for name, value in outputs.items()},
        {name: tf.constant(value) for name, value in targets.items()},
    )
    expected = losses_by_hand(outputs, targets, rule)
    assert {name: float(value) for name, value in given.items()} == pytest.approx(expected, rel=1e-4)


def test_images_without_boxes_have_a_class_loss_and_no_box_loss() -> None:
    outputs = random_outputs(7, batch=1)
    targets = {"classes": np.zeros((1, 84), np.int64), "boxes": np.full((1, 84, 4), 99, np.float32)}
    given = detection().losses(
        {name: tf.constant(value) for name, value in outputs.items()},
        {name: tf.constant(value) for name, value in targets.items()},
    )
    expected = losses_by_hand(outputs, targets, DetectionLoss())
    assert float(given["boxes"]) == 0.0
    assert float(given["classes"]) == pytest.approx(expected["classes"], rel=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_gradient_is_finite_though_the_network_is_quite_sure(gamma: float) -> None:
    """Where the score is 1 or 0 to the last bit."""
    logits = tf.Variable(tf.fill([1, 84, 3], -200.0))
    logits[0, 0].assign([200.0, -200.0, 200.0])
    targets = {"classes": tf.one_hot([0], 84, dtype=tf.int64), "boxes": tf.zeros([1, 84, 4])}
    with tf.GradientTape() as tape:
        parts = detection(loss=DetectionLoss(focal_gamma=gamma)).losses(
            {"classes": logits, "boxes": tf.zeros([1, 84, 4])}, targets
        )
        loss = tf.add_n(list(parts.values()))
    assert np.isfinite(tape.gradient(loss, logits)).all()


# Predictions.


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    both = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    return float(both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both))


def suppressed_by_hand(
    outputs: dict[str, np.ndarray], row: int, anchors: np.ndarray, rule: Suppression
) -> list[tuple[float, int, np.ndarray]]:
    """Best first, class by class, each box against every better one that was kept."""
    half = (anchors[:, 2:] - anchors[:, :2]) / 2
    centre = (anchors[:, 2:] + anchors[:, :2]) / 2 + outputs["boxes"][row][:, :2] / 10 * half * 2
    size = half * np.exp(outputs["boxes"][row][:, 2:] / 5)
    boxes = np.concatenate([centre - size, centre + size], axis=1)
    scores = 1 / (1 + np.exp(-outputs["classes"][row].astype(float)))
    kept: list[tuple[float, int, np.ndarray]] = []
    for label in range(scores.shape[1]):
        of_class: list[int] = []
        for anchor in np.argsort(-scores[:, label]):
            if scores[anchor, label] <= rule.min_score or len(of_class) == rule.max_detections:
                break
            if all(overlap(boxes[anchor], boxes[other]) <= rule.max_overlap for other in of_class):
                of_class.append(anchor)
        kept += [(scores[anchor, label], label + 1, np.clip(boxes[anchor], 0, 1)) for anchor in of_class]
    return sorted(kept, key=lambda box: -box[0])[: rule.max_detections]


@pytest.mark.parametrize(
    ("anchors", "rule"),
    [
        (Anchors(scale=2.0, aspect_ratios=(1.0,)), Suppression(min_score=0.3, max_overlap=0.4, max_detections=100)),
        (Anchors(scale=3.0, aspect_ratios=(1.0,)), Suppression(min_score=0.05, max_overlap=0.7, max_detections=12)),
        (Anchors(scale=1.0, aspect_ratios=(1.0,)), Suppression(min_score=0.0, max_overlap=0.5, max_detections=300)),
        (Anchors(scale=2.0, aspect_ratios=(1.0,)), Suppression(min_score=0.9, max_overlap=1.0, max_detections=50)),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_suppression_keeps_what_a_count_of_all_pairs_keeps(anchors: Anchors, rule: Suppression, seed: int) -> None:
    task, outputs = detection(anchors=anchors, suppression=rule), random_outputs(seed)
    predictions = {name: value.numpy() for name, value in task.predict(outputs).items()}
    for row in range(2):
        expected = suppressed_by_hand(outputs, row, task.head.anchors, rule)
        count = predictions["count"][row]
        assert count == len(expected) > 5
        np.testing.assert_allclose(predictions["scores"][row][:count], [score for score, _, _ in expected], rtol=1e-5)
        assert predictions["classes"][row][:count].tolist() == [label for _, label, _ in expected]
        np.testing.assert_allclose(predictions["boxes"][row][:count], [box for _, _, box in expected], atol=1e-5)


def test_nothing_above_the_score_gives_no_detections() -> None:
    outputs = {"classes": tf.fill([2, 84, 3], -10.0), "boxes": tf.zeros([2, 84, 4])}
    assert detection().predict(outputs)["count"].numpy().tolist() == [0, 0]


def test_boxes_of_different_classes_do_not_suppress_each_other() -> None:
    logits = np.full((1, 84, 3), -10, np.float32)
    logits[0, HALVES] = [3.0, 2.0, -10.0]
    predictions = detection().predict({"classes": tf.constant(logits), "boxes": tf.zeros([1, 84, 4])})
    assert predictions["count"].numpy() == [2] and predictions["classes"].numpy()[0, :2].tolist() == [1, 2]
    np.testing.assert_allclose(predictions["boxes"][0, :2], [[0, 0, 0.5, 0.5]] * 2, atol=1e-6)


# Scores.


def batch_of(boxes: list[list[list[float]]], classes: list[list[int]], sizes: list[tuple[int, int]]) -> dict:
    return {
        "image": tf.zeros([len(sizes), 64, 64, 3]),
        "boxes": tf.constant(boxes, tf.float32),
        "classes": tf.constant(classes, tf.int64),
        "height": tf.constant([height for height, _ in sizes], tf.int64),
        "width": tf.constant([width for _, width in sizes], tf.int64),
    }


BATCH = batch_of(
    [[[0.0, 0.0, 0.5, 0.25], [0.5, 0.5, 1.0, 1.0]], [[0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0]]],
    [[1, 3], [2, 0]],
    [(100, 200), (50, 40)],
)
PREDICTIONS = {
    "boxes": tf.constant([[[0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.25]], [[0.9, 0.9, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]]),
    "scores": tf.constant([[0.75, 0.5], [0.25, 0.0]]),
    "classes": tf.constant([[3, 1], [2, 1]], tf.int64),
    "count": tf.constant([2, 1]),
}


def boxes_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def plain(box: dict[str, Any]) -> dict[str, Any]:
        sides = [round(box[side], 4) for side in ("ymin", "xmin", "ymax", "xmax")]
        return {"label": box["label"], "box": sides} | ({"score": box["score"]} if "score" in box else {})

    return [
        {"example": row["example"]} | {key: [plain(box) for box in row[key]] for key in ("truth", "prediction")}
        for row in rows
    ]


@pytest.mark.parametrize("at_once", [0, 10**6])  # numbers of an image, of which there are 588
def test_losses_of_examples_are_those_of_training_on_each_alone_without_the_padding(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.learning.tasks.detection.AT_ONCE", at_once)
    task, outputs = detection(), random_outputs(8)
    losses = task.example_losses(outputs, BATCH)["losses"].numpy()  # of classes, of boxes, matched anchors
    for row, count in enumerate((2, 1)):
        targets = encoded(task, BATCH["boxes"][row, :count].numpy().tolist(), BATCH["classes"][row, :count].numpy())
        alone = (
            {name: value[row : row + 1] for name, value in outputs.items()},
            {n: v[None] for n, v in targets.items()},
        )
        assert losses[row, :2] == pytest.approx(list(losses_by_hand(*alone, DetectionLoss()).values()), rel=1e-4)
        assert losses[row, 2] == np.count_nonzero(targets["classes"])
    judged = task.judge(BATCH, PREDICTIONS | {"losses": tf.constant(losses)})
    assert judged.losses == tuple(Loss(*parts) for parts in losses.tolist())


def test_boxes_are_judged_in_the_pixels_of_the_original_without_the_padding() -> None:
    assert boxes_of(rows_of(detection().judge(BATCH, PREDICTIONS))) == [
        {
            "example": 0,
            "truth": [
                {"label": "ant", "box": [0.0, 0.0, 50.0, 50.0]},
                {"label": "cow", "box": [50.0, 100.0, 100.0, 200.0]},
            ],
            "prediction": [
                {"label": "cow", "box": [50.0, 100.0, 100.0, 200.0], "score": 0.75},
                {"label": "ant", "box": [0.0, 0.0, 50.0, 50.0], "score": 0.5},
            ],
        },
        {
            "example": 1,
            "truth": [{"label": "bee", "box": [5.0, 8.0, 15.0, 16.0]}],
            "prediction": [{"label": "bee", "box": [45.0, 36.0, 50.0, 40.0], "score": 0.25}],
        },
    ]


def test_score_of_all_batches_is_the_score_of_their_sum() -> None:
    task = detection()
    whole = judge(task, {"it": lambda batch: PREDICTIONS}, [BATCH, BATCH])["it"]
    assert rows_of(whole) == rows_of(task.judge(BATCH, PREDICTIONS) + task.judge(BATCH, PREDICTIONS))
    result = whole.result()
    assert result["AP_50"] == pytest.approx({"ant": 1, "bee": 0, "cow": 1})
    assert result["mAP_50"] == pytest.approx(2 / 3)


def test_headline_is_one_of_the_numbers_of_the_score() -> None:
    result = detection().judge(BATCH, PREDICTIONS).result()
    assert Detection.headline in result
    # Of sizes that no true box has there is no number.
    assert {name for name in result if name.startswith(("mAP", "AR"))} <= set(Detection.measures)
    assert {"f1", "precision", "recall"} <= set(result) & set(Detection.measures)


def test_score_starts_empty() -> None:
    assert detection().score() == DetectionScore(CLASSES)


def test_shown_examples_hold_their_own_boxes_and_no_padding() -> None:
    (first, values), (_, other) = detection().iterate_pictures(BATCH, PREDICTIONS)
    assert first.shape == (64, 64, 3)
    assert values["true_classes"].tolist() == [1, 3] and values["classes"].tolist() == [3, 1]
    assert values["scores"].tolist() == [0.75, 0.5]
    np.testing.assert_array_equal(values["true_boxes"], BATCH["boxes"][0])
    np.testing.assert_array_equal(values["boxes"], PREDICTIONS["boxes"][0])
    assert other["true_classes"].tolist() == [2] and len(other["true_boxes"]) == 1
    assert [len(other[name]) for name in ("boxes", "classes", "scores")] == [1, 1, 1]


def test_the_task_of_a_detector_is_detection() -> None:
    task = make_task(Ssd(input_size=64), list(CLASSES))
    assert isinstance(task, Detection) and task.classes == CLASSES
    assert TASKS["detection"] is Detection
