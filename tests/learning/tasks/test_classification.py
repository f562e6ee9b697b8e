import math

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.metrics.classification import Answer, ClassificationScore
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from bakeoff.learning.networks.applications import InceptionV3
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.networks.s3dg import S3dG
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.tasks.task import judge, make_task
from support.score_rows import rows_of

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
    predictions = classification().predict({"classes": tf.constant([[math.log(2), 0.0, 0.0], [0.0, 0.0, math.log(6)]])})
    assert predictions["classes"].numpy().tolist() == [1, 3]
    np.testing.assert_allclose(predictions["scores"], [0.5, 0.75], rtol=1e-6)
    np.testing.assert_allclose(predictions["probabilities"], [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], rtol=1e-6)


BATCH = {"image": tf.reshape(tf.range(24.0), [2, 2, 2, 3]), "label": tf.constant([2, 3], tf.int64)}
PREDICTIONS = {
    "classes": tf.constant([2, 1], tf.int64),
    "scores": tf.constant([0.75, 0.5]),
    "probabilities": tf.constant([[0.125, 0.75, 0.125], [0.5, 0.125, 0.375]]),
}


def test_batch_is_judged_example_by_example() -> None:
    answers = Answer(2, 2, 0.75, 0.75, 0), Answer(3, 1, 0.5, 0.375, 1)
    assert classification().judge(BATCH, PREDICTIONS) == ClassificationScore(CLASSES, answers)
    assert classification().example_losses({}, BATCH) == {}  # they follow from the probabilities


def test_score_of_all_batches_is_the_score_of_their_sum() -> None:
    score = judge(classification(), {"it": lambda batch: PREDICTIONS}, [BATCH, BATCH, BATCH])["it"]
    assert score.result()["accuracy"] == 0.5 and score.result()["recall"] == {"bee": 1.0, "cow": 0.0}
    assert len(rows_of(score)) == 6


def test_headline_is_one_of_the_numbers_of_the_score() -> None:
    result = classification().judge(BATCH, PREDICTIONS).result()
    assert classification().headline in result
    assert set(classification().measures) == {"accuracy", "macro_precision", "macro_recall", "macro_f1"}
    assert set(classification().measures) <= set(result)


def test_shown_examples_hold_their_pixels_and_answer() -> None:
    (first, values), (second, other) = classification().iterate_pictures(BATCH, PREDICTIONS)
    np.testing.assert_array_equal(np.stack([first, second]), BATCH["image"])
    assert values == {"truth": 2, "given": 2, "score": 0.75} and other == {"truth": 3, "given": 1, "score": 0.5}


@pytest.mark.parametrize("model", [Cnn(), ClipCnn(), InceptionV3(), S3dG()])
def test_images_and_clips_are_classified_alike(model: Cnn | ClipCnn | InceptionV3 | S3dG) -> None:
    task = make_task(model, list(CLASSES))
    assert isinstance(task, Classification) and task.classes == CLASSES


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_losses_of_both_heads_equal_numpy() -> None:
    draw = np.random.default_rng(0)
    main, auxiliary = (draw.normal(0, 3, (5, 3)).astype(np.float32) for _ in range(2))
    labels = np.array([1, 3, 2, 2, 1])
    task = Classification(InceptionV3(label_smoothing=0.1, auxiliary_weight=0.4), CLASSES)
    losses = task.losses({"classes": main, "auxiliary": auxiliary}, {"label": tf.constant(labels)})
    wanted = 0.9 * np.eye(3)[labels - 1] + 0.1 / 3
    expected = {
        "classes": np.mean(-np.sum(wanted * np.log(softmax(main)), axis=1)),
        "auxiliary": 0.4 * np.mean(-np.sum(wanted * np.log(softmax(auxiliary)), axis=1)),
    }
    assert {name: float(value) for name, value in losses.items()} == pytest.approx(expected, rel=1e-5)


def test_auxiliary_head_takes_no_part_in_predictions() -> None:
    task = Classification(InceptionV3(), CLASSES)
    predictions = task.predict({"classes": tf.constant([[5.0, 0.0, 0.0]]), "auxiliary": tf.constant([[0.0, 9.0, 0.0]])})
    assert predictions["classes"].numpy().tolist() == [1]


def test_background_is_logit_zero_to_the_loss() -> None:
    task = Classification(InceptionV3(background=True, auxiliary_weight=0.0, label_smoothing=0.2), CLASSES)
    logits = np.array([[1.0, 2.0, 0.5, -1.0]], np.float32)
    [loss] = task.losses({"classes": logits}, {"label": tf.constant([1], tf.int64)}).values()
    wanted = np.array([0.05, 0.85, 0.05, 0.05])
    assert float(loss) == pytest.approx(-np.sum(wanted * np.log(softmax(logits)[0])), rel=1e-5)


def test_background_is_never_the_answer_but_keeps_its_share() -> None:
    """Of probabilities 0.6 for background and 0.1, 0.1, 0.2, the answer is the third class at 0.2."""
    task = Classification(InceptionV3(background=True), CLASSES)
    predictions = task.predict({"classes": tf.math.log([[0.6, 0.1, 0.1, 0.2]])})
    assert predictions["classes"].numpy().tolist() == [3]
    assert predictions["scores"].numpy() == pytest.approx([0.2])


def multi_label(label_smoothing: float = 0.0) -> Classification:
    return Classification(Cnn(label_smoothing=label_smoothing), CLASSES, multi_label=True)


SEVERAL = {"image": BATCH["image"], "labels": tf.constant([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])}


def test_targets_of_several_labels_are_a_vector() -> None:
    example = {"image": tf.zeros([8, 8, 3]), "labels": tf.constant([0.0, 1.0, 1.0])}
    [(name, labels)] = multi_label().encode(example).items()
    assert name == "labels" and labels.numpy().tolist() == [0, 1, 1]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_loss_of_several_labels_is_the_mean_over_yes_or_no_questions(smoothing: float) -> None:
    logits = np.random.default_rng(1).normal(0, 3, (2, 3)).astype(np.float32)
    [loss] = multi_label(smoothing).losses({"classes": logits}, {"labels": SEVERAL["labels"]}).values()
    yes = 1 / (1 + np.exp(-logits))
    wanted = SEVERAL["labels"].numpy() * (1 - smoothing) + smoothing / 2
    assert float(loss) == pytest.approx(-np.mean(wanted * np.log(yes) + (1 - wanted) * np.log(1 - yes)), rel=1e-5)


def test_auxiliary_head_learns_several_labels_too() -> None:
    task = Classification(InceptionV3(label_smoothing=0.0, auxiliary_weight=0.5), CLASSES, multi_label=True)
    zeros = tf.zeros([2, 3])
    losses = task.losses({"classes": zeros, "auxiliary": zeros}, {"labels": SEVERAL["labels"]})
    expected = {"classes": math.log(2), "auxiliary": math.log(2) / 2}
    assert {name: float(value) for name, value in losses.items()} == pytest.approx(expected, rel=1e-5)


def test_every_class_gets_its_own_score() -> None:
    predictions = multi_label().predict({"classes": tf.constant([[0.0, math.log(3), -math.log(3)]])})
    assert list(predictions) == ["scores"]
    np.testing.assert_allclose(predictions["scores"], [[0.5, 0.75, 0.25]], rtol=1e-6)


def test_several_labels_are_judged_by_their_scores() -> None:
    scores = {"scores": tf.constant([[0.9, 0.1, 0.6], [0.2, 0.3, 0.4]])}
    score = judge(multi_label(), {"it": lambda batch: scores}, [SEVERAL])["it"]
    assert isinstance(score, MultiLabelScore)
    result = score.result()
    assert result["mean_average_precision"] == 1.0 and result["f1"] == 1.0
    assert multi_label().headline == "mean_average_precision" and classification().headline == "accuracy"
    assert set(multi_label().measures) <= set(result)


def test_shown_examples_of_several_labels_hold_the_true_ones_and_all_scores() -> None:
    predictions = {"scores": tf.constant([[0.9, 0.1, 0.6], [0.2, 0.3, 0.4]])}
    (pixels, values), (_, other) = multi_label().iterate_pictures(SEVERAL, predictions)
    np.testing.assert_array_equal(pixels, SEVERAL["image"][0])
    assert values["true_classes"].tolist() == [1, 3] and other["true_classes"].tolist() == []
    assert values["class_scores"] == pytest.approx([0.9, 0.1, 0.6])


def test_records_say_whether_an_example_may_have_several_labels() -> None:
    assert make_task(Cnn(), CLASSES, multi_label=True).headline == "mean_average_precision"
    assert make_task(Cnn(), CLASSES).headline == "accuracy"


def test_background_beside_several_labels_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^model\.background: .*false.*several labels.*True\b"):
        Classification(InceptionV3(background=True), CLASSES, multi_label=True)
