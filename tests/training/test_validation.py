"""Looks at validation: broken off when unwanted, guessed at before the first, judged by a number that exists."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.errors import ConfigError
from bakeoff.networks.cnn import Cnn
from bakeoff.tasks.classification import Classification
from bakeoff.tasks.task import compile_answer
from bakeoff.training.rig import Validation, choose_headline

NETWORK = Cnn(input_size=16, width=0.25)
CLASSES = ("a", "b", "c")
TASK = Classification(NETWORK, CLASSES)


class Asked:
    """Three batches of images, of which it is written down how many were asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __iter__(self) -> Any:
        for size in (4, 4, 2):
            self.sizes.append(size)
            yield {"image": tf.zeros([size, 16, 16, 3]), "label": tf.ones([size], tf.int64)}


@pytest.fixture(scope="module")
def network() -> keras.Model:
    return NETWORK.build(len(CLASSES))


def test_a_look_that_becomes_unwanted_is_broken_off_after_the_batch(network: keras.Model) -> None:
    batches, answers = Asked(), iter([False, True, True])
    look = Validation(TASK, compile_answer(network, TASK), batches, examples=10, is_unwanted=lambda: next(answers))
    assert look() is None and batches.sizes == [4, 4]


def test_a_look_that_is_wanted_counts_every_example(network: keras.Model) -> None:
    result = Validation(TASK, compile_answer(network, TASK), Asked(), examples=10)()
    given = int(np.argmax(network(tf.zeros([1, 16, 16, 3]), training=False)["classes"]))
    assert result is not None and result["accuracy"] == float(given == 0)


def test_a_rehearsal_goes_through_a_few_batches_only(network: keras.Model) -> None:
    batches = Asked()
    assert Validation(TASK, compile_answer(network, TASK), batches, examples=1000).seconds() > 0
    assert len(batches.sizes) == 3


def test_weights_are_choose_headline_the_headline_or_by_the_number_that_was_chosen() -> None:
    task = Classification(NETWORK, CLASSES, multi_label=True)
    assert choose_headline(task, None) == "mean_average_precision" and choose_headline(task, "f1") == "f1"
    assert choose_headline(task, "loss") == "loss"  # of which less is better


def test_a_number_that_no_look_gives_is_refused_with_the_nearest() -> None:
    message = (
        r"^train\.best_by: no such metric 'f2'; did you mean 'f1'\? "
        r"one of: best_f1, f1, loss, mean_auc, mean_average_precision, precision, recall$"
    )
    with pytest.raises(ConfigError, match=message):
        choose_headline(Classification(NETWORK, CLASSES, multi_label=True), "f2")
