"""All that a step draws from, and all that it changes, is in the checkpoint."""

import random
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.networks import weights
from bakeoff.learning.plan.optimizers import Adam
from bakeoff.learning.pretrained.weight_files import open_weights
from bakeoff.learning.tasks.task import Tensors
from bakeoff.learning.training import trainer_state
from bakeoff.learning.training.average import Average
from bakeoff.learning.training.loop import seed_everything
from bakeoff.learning.training.trainer_state import Learner
from support.kitchen import kept_digest
from support.slope import Slope


class Unseeded(keras.layers.Layer):
    """Draws from Keras' own generator, which no layer holds."""

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x + keras.random.normal(tf.shape(x))


def drawing_network() -> keras.Model:
    picture = keras.Input((6, 6, 3))
    x = keras.layers.RandomContrast(0.9)(keras.layers.RandomFlip("horizontal")(picture))
    x = keras.layers.Dropout(0.4, seed=None)(Unseeded()(keras.layers.Flatten()(x)))
    return keras.Model(picture, keras.layers.Dense(1, name="last")(x))


def picture_batch(number: int) -> Tensors:
    draw = np.random.default_rng(number)
    return {
        "image": tf.constant(draw.uniform(0, 255, (4, 6, 6, 3)), tf.float32),
        "factor": tf.constant(draw.normal(size=(4, 1)), tf.float32),
    }


def new_learner() -> Learner:
    """As a process has it that just began."""
    seed_everything(3, deterministic=False)
    network = drawing_network()
    return Learner(
        network, average=Average(network, 0.9), parts={"all": ("*",)}, task=Slope(),  # type: ignore[arg-type]
        optimizer=Adam(clip_norm=1.0), strategy=tf.distribute.get_strategy(),
    )  # fmt: skip


def trained(learner: Learner, steps: range, go_on_from: dict[str, Any] | None = None) -> dict[str, np.ndarray]:
    """Its state after the steps."""
    step = learner.begin((), "train.trainable")
    if go_on_from is not None:
        learner.restore(go_on_from)
    for number in steps:
        step([picture_batch(number)], tf.constant(0.05))
    return {name: np.array(value) for name, value in learner.state().items()}


def test_layers_without_a_seed_draw_on_where_they_were() -> None:
    """Dropout, random augmentation, and a layer that draws from Keras' own generator."""
    whole = new_learner()
    expected = trained(whole, range(5))
    state = trained(new_learner(), range(2))
    for steps in (range(2, 4), range(4, 5)):
        state = trained(resumed := new_learner(), steps, go_on_from=state)
    assert weights.digest(resumed.network) == weights.digest(whole.network)
    assert kept_digest(resumed) == kept_digest(whole)
    assert {name: bits.tobytes() for name, bits in state.items()} == {
        name: bits.tobytes() for name, bits in expected.items()
    }


def test_every_variable_that_a_step_reads_or_writes_is_in_the_checkpoint() -> None:
    learner = new_learner()
    step = learner.begin((), "train.trainable")
    batch = picture_batch(0)
    traced = compile_graph(lambda: step([batch], tf.constant(0.1))).get_concrete_function()
    captured = {tensor.ref() for tensor in traced.captured_inputs if tensor.dtype == tf.resource}
    assert learner.average
    averages = {variable.handle.ref() for variable in learner.average.variables}
    saved = {variable.value.handle.ref() for variable in learner._variables().values()} | averages
    assert captured <= saved
    # Two random layers, dropout, Keras' own; 2 weights; of Adam 2 of each weight, steps, rate; averages.
    assert len(captured) == len(saved) == 4 + 2 + (2 * 2 + 2) + 1


def test_a_checkpoint_says_which_of_its_arrays_are_the_weights_that_another_run_may_begin_with(tmp_path: Path) -> None:
    learner = new_learner()
    state = trained(learner, range(2))
    checkpoint.write(tmp_path / "00000002", {"paths": learner.kept_in_state}, state)
    with open_weights(tmp_path / "00000002") as layers:
        arrays = {name: stored.read() for name, stored in layers["last"].items()}
    assert arrays.keys() == {"kernel", "bias"} and layers.keys() == {"last"}
    layer = learner.network.get_layer("last")
    assert not np.array_equal(arrays["kernel"], layer.kernel.numpy())
    with learner.kept():
        np.testing.assert_array_equal(arrays["kernel"], layer.kernel.numpy())


def test_drawing_goes_on_from_a_state_to_the_same_numbers() -> None:
    random.seed(5)
    np.random.seed(6)

    def drawn() -> list[float]:
        return [random.random(), random.gauss(0, 1), float(np.random.normal()), float(np.random.uniform())]

    drawn()  # one normal number of each pair is still in hand
    states = trainer_state.random_states_outside_keras()
    expected = [drawn(), drawn()]
    trainer_state.restore_random_states(states)
    assert [drawn(), drawn()] == expected
    assert all(states[name][-1] == 1 for name in (trainer_state.PYTHON, trainer_state.NUMPY))


def test_a_generator_with_no_normal_number_in_hand_comes_back_without_one() -> None:
    random.seed(5)
    np.random.seed(6)
    states = trainer_state.random_states_outside_keras()
    expected = random.gauss(0, 1), float(np.random.normal())
    trainer_state.restore_random_states(states)
    assert (random.gauss(0, 1), float(np.random.normal())) == expected


def test_a_checkpoint_of_another_kind_of_network_is_refused() -> None:
    learner = new_learner()
    learner.begin((), "train.trainable")
    state: dict[str, Any] = {name: np.asarray(value) for name, value in learner.state().items()}
    del state["seeds/00000"]
    with pytest.raises(DataError, match=r"other variables\b.*train\.fresh: true\b"):
        learner.restore(state)
