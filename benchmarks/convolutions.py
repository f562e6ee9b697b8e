"""What a training step costs on top of the network's convolutions, and what its parts cost.

    python benchmarks/convolutions.py                                        # three networks, a minute each
    python benchmarks/convolutions.py ssd_small mobilenet_v2_035_96@160      # an option of conf/model, and its size

Each network has random weights and one batch that stays in memory. The arms take turns on one machine:

    convolutions   every convolution of the network alone, forward and backward, on inputs of the same shapes, with
                   TensorFlow's own gradients
    network        the network in training, forward and backward, with a loss that is a sum
    losses         the same with the task's loss
    step           the compiled step: with Adam, too
    gradients      the step with TensorFlow's own gradients of convolutions
    keras          the same with the batch norms and the Adam of Keras

Deterministic operations are on, as they are by default. Shown are medians over the turns, in milliseconds of the clock
and of the processor, which other work on the machine hardly changes; and medians of the ratio within a turn.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import keras
import tensorflow as tf
from made_up import CLASSES, made_up_batch, read_option
from result import describe_machine, print_result

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.norms import BatchNormalization
from bakeoff.learning.plan import fused_adam
from bakeoff.learning.plan.optimizers import Adam
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.training import step as step_module
from bakeoff.learning.training.input_gradients import fast_gradients
from bakeoff.learning.training.loop import seed_everything
from bakeoff.learning.training.trainer_state import new_learner

NETWORKS = ("ssd_small", "cnn_small", "mobilenet_v2_035_96@160")
KINDS = (keras.layers.Conv2D, keras.layers.DepthwiseConv2D, keras.layers.SeparableConv2D, keras.layers.Conv3D)
OPTIMIZER = Adam(weight_decay=0.05)  # as in conf/optimizer
Arm = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK", help="and @ pixels of a side")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each arm in each turn")
    arguments = parser.parse_args()
    seed_everything(0, deterministic=True)
    print(f"{describe_machine()}\n")
    print("| network | arm | ms | processor's ms | to convolutions | to the step |\n|---|---|---|---|---|---|")
    for name in arguments.networks:
        compare(name, arms_of(name, arguments.batch), arguments.turns, arguments.seconds)
    print(f"\nload at the end: {os.getloadavg()[0]:.1f}")


def arms_of(name: str, batch_size: int) -> dict[str, Arm]:
    option, _, side = name.partition("@")
    model, task = read_option(option, {"input_size": int(side)} if side else {})
    batch = made_up_batch(model, task, batch_size)

    def new_step() -> tuple[keras.Model, Arm]:
        train = Train(batch_size=batch_size, steps=1)
        learner = new_learner(model, CLASSES, task, OPTIMIZER, train, tf.distribute.get_strategy())
        step, rate = learner.begin((), "train.trainable"), tf.constant(1e-4)
        return learner.network, lambda: step([batch], rate)

    network, step = new_step()

    def backward(loss_of: Callable[[dict[str, tf.Tensor]], tf.Tensor]) -> Arm:
        def gradients() -> list[tf.Tensor]:
            with tf.GradientTape() as tape, fast_gradients(network):
                loss = loss_of(network(batch["image"], training=True))
            return tape.gradient(loss, network.trainable_variables)

        return compile_graph(gradients)

    with gradients_of_tensorflow():
        _, unturned = new_step()
        unturned()  # traces the graph
        with all_of_keras():
            _, of_keras = new_step()
            of_keras()
    return {
        "convolutions": compile_graph(convolutions_of(network, batch_size)),
        "network": backward(lambda outputs: tf.add_n([tf.reduce_sum(one) for one in outputs.values()])),
        "losses": backward(lambda outputs: tf.add_n(list(task.losses(outputs, batch).values()))),
        "step": step,
        "gradients": unturned,
        "keras": of_keras,
    }


def convolutions_of(network: keras.Model, batch_size: int) -> Callable[[], list[tf.Tensor]]:
    """Return the gradients of each call of a convolution, by its weights and its input but for the image."""
    calls = []
    for layer in network.layers:
        for node in layer._inbound_nodes if isinstance(layer, KINDS) else ():
            given, made = node.input_tensors[0].shape[1:], node.output_tensors[0].shape[1:]
            inputs, slope = (tf.random.stateless_normal((batch_size, *shape), (0, 0)) for shape in (given, made))
            calls.append((layer, inputs, slope, given[-1] != 3))

    def gradients() -> list[tf.Tensor]:
        answers_read = []
        for layer, inputs, slope, is_inner in calls:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                made = layer(inputs)
            asked = [*layer.trainable_variables, *([inputs] if is_inner else [])]
            # One number of each is given back: to copy whole gradients out of the graph is no part of the work.
            answers = [made, *tape.gradient(made, asked, output_gradients=slope)]
            answers_read += [tf.reshape(one, [-1])[0] for one in answers]
        return answers_read

    return gradients


@contextmanager
def gradients_of_tensorflow() -> Iterator[None]:
    """In the block, steps are made with TensorFlow's own gradients of convolutions."""
    step_module.fast_gradients = lambda network: nullcontext()
    try:
        yield
    finally:
        step_module.fast_gradients = fast_gradients


@contextmanager
def all_of_keras() -> Iterator[None]:
    """In the block, steps are made of the layers and the optimizer that Keras has."""
    ours, own = BatchNormalization.call, fused_adam.OnePassAdam
    BatchNormalization.call = keras.layers.BatchNormalization.call
    fused_adam.OnePassAdam = keras.optimizers.Adam
    try:
        yield
    finally:
        BatchNormalization.call, fused_adam.OnePassAdam = ours, own


def compare(name: str, arms: dict[str, Arm], turns: int, seconds: float) -> None:
    clock: dict[str, list[float]] = {arm: [] for arm in arms}
    processor: dict[str, list[float]] = {arm: [] for arm in arms}
    for turn in range(turns + 1):
        for arm, call in arms.items():
            call()
            calls, started, used = 0, time.perf_counter(), time.process_time()
            while calls == 0 or time.perf_counter() - started < seconds:
                call()
                calls += 1
            if turn:  # the first warms up
                clock[arm].append((time.perf_counter() - started) / calls * 1000)
                processor[arm].append((time.process_time() - used) / calls * 1000)
    for arm in arms:
        times = f"{statistics.median(clock[arm]):.1f} | {statistics.median(processor[arm]):.1f}"
        ratios = " | ".join(f"{ratio(processor, arm, to):.2f}" for to in ("convolutions", "step"))
        print(f"| `{name}` | {arm} | {times} | {ratios} |", flush=True)
    what, (here, there) = f"a step of `{name}`", (statistics.median(processor[arm]) for arm in ("step", "convolutions"))
    more = ratio(processor, "step", "convolutions")
    print_result(what, f"{here:.1f} ms of CPU", f"{there:.1f} ms", ratio=more, other="its convolutions alone")


def ratio(taken: dict[str, list[float]], arm: str, to: str) -> float:
    return statistics.median(mine / other for mine, other in zip(taken[arm], taken[to], strict=True))


if __name__ == "__main__":
    main()
