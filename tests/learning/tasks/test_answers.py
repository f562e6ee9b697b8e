"""Answers to batches of many sizes come from one graph."""

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import compile_answer

SIZES = ((2, 3), (2, 1), (1, 2))  # images and boxes of each


def make_batch(images: int, boxes: int) -> dict[str, tf.Tensor]:
    draw = np.random.default_rng(images + boxes)
    corners = np.sort(draw.uniform(0, 1, (images, boxes, 2, 2)), axis=2).reshape(images, boxes, 4)
    return {
        "image": tf.constant(draw.uniform(0, 255, (images, 32, 32, 3)), tf.float32),
        "boxes": tf.constant(corners, tf.float32),
        "classes": tf.constant(draw.integers(0, 2, (images, boxes)), tf.int64),
        "number": tf.range(images, dtype=tf.int64),
    }


def test_one_graph_answers_batches_of_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Ssd(input_size=32, width=0.25, pyramid_channels=8)
    network, task, predict, graphs = model.build(1), Detection(model, ("a",)), Detection.predict, []
    monkeypatch.setattr(Detection, "predict", lambda *given: graphs.append(1) or predict(*given))
    answer = compile_answer(network, task, with_losses=True)
    answers = [answer(make_batch(*size)) for size in SIZES]
    assert len(graphs) == 1
    for size, one in zip(SIZES, answers, strict=True):
        batch = make_batch(*size)
        outputs = network(batch["image"], training=False)
        alone = compile_graph(task.example_losses)(outputs, batch)
        np.testing.assert_allclose(one["losses"], alone["losses"], rtol=1e-5)
        np.testing.assert_allclose(one["scores"], predict(task, outputs)["scores"], rtol=1e-5)
