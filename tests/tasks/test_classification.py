import math

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.metrics.classification import Answer, ClassificationScore
from bakeoff.networks.cnn import ClipCnn, Cnn
from bakeoff.tasks.classification import Classification
from bakeoff.tasks.task import score_all, task_of

CLASSES = ("ant", "bee", "cow")


def classification(label_smoothing: float = 0.0) -> Classification:
    return Classification(Cnn(label_smoothing=label_smoothing), CLASSES)


def loss(task: Classification, logits: list[list[float]], labels: list[int]) -> float:
    parts = task.losses({"classes": tf.constant(logits)}, {"label": tf.constant(labels, tf.int64)})
    assert list(parts) == ["classes"]
    return float(parts["classes"])


def test_targets_are_the_label_and_nothing_else() -> None:
    example = {"image": tf.zeros([8, 8, 3]), "label": tf.constant(2, tf.int64)}
    assert {name: int(value) for name, value in classification().encode(example).items()} == {"label": 2}


def test_loss_is_the_mean_of_minus_log_probability_of_the_true_class() -> None:
    # Probabilities 1/2 1/4 1/4 and 1/8 1/8 6/8.
    logits = [[math.log(2), 0.0, 0.0], [0.0, 0.0, math.log(6)]]
    assert loss(classification(), logits, [1, 3]) == pytest.approx((math.log(2) + math.log(8 / 6)) / 2, rel=1e-5)
    assert loss(classification(), logits, [2, 1]) == pytest.approx((math.log(4) + math.log(8)) / 2, rel=1e-5)


def test_label_smoothing_gives_every_class_its_share() -> None:
    # With 0.3, the true class is wanted at 0.8 and the two others at 0.1 each.
    expected = 0.8 * math.log(2) + 2 * 0.1 * math.log(4)
    assert loss(classification(0.3), [[math.log(2), 0.0, 0.0]], [1]) == pytest.approx(expected, rel=1e-5)


def test_loss_of_very_wrong_logits_is_finite() -> None:
    assert loss(classification(), [[1e4, 0.0, 0.0]], [2]) == pytest.approx(1e4)


def test_prediction_is_the_likeliest_class_from_one_and_its_probability() -> None:
    found = classification().predict({"classes": tf.constant([[math.log(2), 0.0, 0.0], [0.0, 0.0, math.log(6)]])})
    assert found["classes"].numpy().tolist() == [1, 3]
    np.testing.assert_allclose(found["scores"], [0.5, 0.75], rtol=1e-6)


BATCH = {"image": tf.reshape(tf.range(24.0), [2, 2, 2, 3]), "label": tf.constant([2, 3], tf.int64)}
FOUND = {"classes": tf.constant([2, 1], tf.int64), "scores": tf.constant([0.75, 0.5])}


def test_batch_is_judged_example_by_example() -> None:
    assert classification().judge(BATCH, FOUND) == ClassificationScore(CLASSES, (Answer(2, 2, 0.75), Answer(3, 1, 0.5)))


def test_score_of_all_batches_is_the_score_of_their_sum() -> None:
    score = score_all(classification(), lambda images: FOUND, [BATCH, BATCH, BATCH])
    assert score.result() == {"accuracy": 0.5, "recall": {"bee": 1.0, "cow": 0.0}}
    assert len(score.rows()) == 6


def test_headline_is_one_of_the_numbers_of_the_score() -> None:
    assert Classification.headline in classification().judge(BATCH, FOUND).result()


def test_shown_examples_hold_their_pixels_and_answer() -> None:
    (first, values), (second, other) = classification().shown(BATCH, FOUND)
    np.testing.assert_array_equal(np.stack([first, second]), BATCH["image"])
    assert values == {"truth": 2, "given": 2, "score": 0.75} and other == {"truth": 3, "given": 1, "score": 0.5}


@pytest.mark.parametrize("model", [Cnn(), ClipCnn()])
def test_images_and_clips_are_classified_alike(model: Cnn | ClipCnn) -> None:
    task = task_of(model, list(CLASSES))
    assert isinstance(task, Classification) and task.classes == CLASSES
