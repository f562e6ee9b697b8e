"""Several devices, and half precision. The devices are two logical CPUs, which a process must ask for at its start."""

import json
import subprocess
import sys
import textwrap
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from bakeoff.experiments.runs import device
from bakeoff.experiments.runs.device import device_tags
from bakeoff.foundation import machine
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.machine import Gpu
from bakeoff.learning.input.memory_budget import Memory
from bakeoff.learning.tasks.task import compile_answer
from bakeoff.learning.training.accelerators import has_gpus, precision, strategy_of, use_devices, use_threads
from bakeoff.learning.training.step import Step
from support.imports import ROOT
from support.slope import Slope, batches, sgd, weight_of

CHILD = """
    import json
    import keras, numpy as np, tensorflow as tf
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    from bakeoff.learning.networks.anchors import Anchors
    from bakeoff.learning.networks.cnn import Cnn
    from bakeoff.learning.networks.detector_settings import DetectionLoss, HardExamples
    from bakeoff.learning.networks.ssd import Ssd
    from bakeoff.learning.tasks.task import make_task
    from bakeoff.learning.training.accelerators import strategy_of
    from bakeoff.learning.training.trainer_state import new_learner
    from bakeoff.learning.plan.optimizers import Momentum, RmsProp
    from bakeoff.learning.plan.train_settings import Train

    SOFTMAX = DetectionLoss(classes="softmax", divide_boxes_by_code_size=True)

    MINING = HardExamples(min_negatives_per_image=2)
    SUMMED = DetectionLoss(divide_by_matches=False)
    SQUARES = {"input_size": 32, "anchors": Anchors(scale=1.0, aspect_ratios=(1.0,))}  # 16 + 4 + 1 anchors

    # Both are quick to compile: in place of the layers between, a batch norm of four channels.

    class Labels(Cnn):
        def build(self, num_classes):
            image = keras.Input((16, 16, 3))
            seen = keras.layers.BatchNormalization(momentum=0.9)(keras.layers.Conv2D(4, 3, strides=4)(image))
            logits = keras.layers.Dense(num_classes)(keras.layers.Flatten()(keras.layers.ReLU()(seen)))
            return keras.Model(image, {"classes": logits})

    class Boxes(Ssd):
        # An answer for every anchor from all pixels.

        def build(self, num_classes):
            image = keras.Input((32, 32, 3))
            seen = keras.layers.BatchNormalization(momentum=0.9)(keras.layers.Dense(4)(keras.layers.Flatten()(image)))
            answers = {
                name: keras.layers.Reshape((21, numbers))(keras.layers.Dense(21 * numbers)(seen))
                for name, numbers in (("boxes", 4), ("classes", self.loss.outputs(num_classes)))
            }
            return keras.Model(image, answers)

    CASES = {
        "momentum": (Labels(input_size=16), Momentum(weight_decay=0.1, clip_norm=0.5), 1),
        "rmsprop": (Labels(input_size=16), RmsProp(), 2),
        "matches": (Boxes(loss=SOFTMAX, mining=MINING, **SQUARES), Momentum(), 1),
        "summed": (Boxes(loss=SUMMED, **SQUARES), Momentum(clip_norm=1.0), 1),
    }

    def targets_of(model, numbers, batch):
        if model.task == "classification":
            return {"label": tf.constant(numbers.integers(1, 4, 8))}
        # Three objects in the first half of a batch and twenty in the second; none at all in the last batch.
        objects = [0, 1, 0, 2, 5, 0, 8, 7] if batch < 2 else [0] * 8
        classes = np.zeros((8, 21), np.int64)
        for row, count in enumerate(objects):
            classes[row, numbers.permutation(21)[:count]] = numbers.integers(1, 4, count)
        classes[0, :3] = -1
        return {"classes": tf.constant(classes), "boxes": tf.constant(numbers.normal(0, 1, (8, 21, 4)), tf.float32)}

    def trained(strategy, model, optimizer, together):
        keras.utils.set_random_seed(4)
        task = make_task(model, ["a", "b", "c"])
        settings = Train(batch_size=8, steps=3, ema_decay=0.8)
        learner = new_learner(model, 3, task, optimizer, settings, strategy)
        step = learner.begin((), "train.trainable")
        numbers = np.random.default_rng(0)
        size, losses = model.input_size, []
        for batch in range(3):
            taken = []
            for _ in range(together):
                images = tf.constant(numbers.uniform(0, 255, (8, size, size, 3)), tf.float32)
                taken.append({"image": images} | targets_of(model, numbers, batch))
            losses.append(float(step(taken, tf.constant(0.05))["train/loss"]))
        state = learner.state()
        learner.restore(state)
        return losses, {name: np.asarray(array, np.float64) for name, array in state.items()}

    alone, together = strategy_of(1, [8]), strategy_of("all", [8])  # one for all cases, as a process has only one
    assert (alone.num_replicas_in_sync, together.num_replicas_in_sync) == (1, 2)
    found = {}
    for name, case in CASES.items():
        one, many = trained(alone, *case), trained(together, *case)
        assert one[1].keys() == many[1].keys()
        far = max(float(np.max(np.abs(one[1][name] - many[1][name]))) for name in one[1])
        size = max(float(np.max(np.abs(array))) for array in one[1].values())
        found[name] = {"losses": [one[0], many[0]], "far": far, "size": size}
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def by_one_and_two() -> dict[str, dict[str, Any]]:
    """Losses of three steps on one device and on two, and how far apart all variables are in the end."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize("case", ["momentum", "rmsprop", "matches", "summed"])
def test_two_devices_train_as_one_does(case: str, by_one_and_two: dict[str, dict[str, Any]]) -> None:
    """Batch norm over the whole batch, clipping, decay, averages, several batches a step, and a detector's matches,
    of which the first device's half of the images has fewer."""
    comparison = by_one_and_two[case]
    assert comparison["losses"][0] == pytest.approx(comparison["losses"][1], rel=1e-4)
    assert comparison["losses"][0][0] != comparison["losses"][0][2]
    assert comparison["far"] < 1e-4 * max(1.0, comparison["size"])


def test_more_devices_than_there_are_is_refused() -> None:
    there = len(tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU"))
    message = rf"^train\.devices:\D+{there}\D+{there + 1}$"
    with pytest.raises(ConfigError, match=message):
        strategy_of(there + 1, [8])


def test_a_batch_that_does_not_divide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: ["a", "b", "c"] if kind == "GPU" else ["d"])
    message = r"^train\.batch_size: .*train\.devices=3\D+8\D+6\D+9\D+$"
    with pytest.raises(ConfigError, match=message):
        strategy_of("all", [9, 8])
    with pytest.raises(ConfigError, match=r"train\.devices=3\D+2\D+3\D"):
        strategy_of(3, [2])


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> context.Context:
    """TensorFlow's own settings of a process that has computed nothing yet, on a machine with two GPUs."""
    fresh = context.Context()
    fresh._initialize_physical_devices()
    gpus = [context.PhysicalDevice(f"/physical_device:GPU:{number}", "GPU") for number in range(2)]
    fresh._physical_devices += gpus
    fresh._visible_device_list = list(fresh._physical_devices)
    fresh._memory_growth_map |= dict.fromkeys(gpus)
    monkeypatch.setattr(context, "_context", fresh)
    return fresh


@pytest.mark.parametrize(
    ("devices", "visible"), [(1, "0"), (2, "0,1"), (3, "0,1"), ("all", "0,1"), ("gpu", "0,1"), ("cpu", "")]
)
def test_gpus_are_chosen_by_number_or_type(devices: int | str, visible: str, two_gpus: context.Context) -> None:
    use_devices(devices, "growth")  # type: ignore[arg-type]
    assert two_gpus._compute_gpu_options().visible_device_list == visible
    assert has_gpus() is bool(visible)


@pytest.mark.parametrize(
    ("memory", "grows", "limits"),
    [("growth", True, []), ("all", False, []), ("8GB", False, [[7629.0]]), ("500MiB", False, [[500.0]])],
)
def test_a_gpus_memory_is_taken_as_needed_or_at_once_or_up_to_a_limit(
    memory: str, grows: bool, limits: list[list[float]], two_gpus: context.Context
) -> None:
    use_devices(1, Memory("2GB", gpu_memory=memory).gpu_memory_limit)
    options = two_gpus._compute_gpu_options()
    assert options.allow_growth is grows
    assert [list(one.memory_limit_mb) for one in options.experimental.virtual_devices] == limits


def test_without_a_gpu_one_that_must_be_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    message = r"^train\.devices:\D+cpu\D+all\D+'gpu'.*`bakeoff doctor`"
    with pytest.raises(ConfigError, match=message):
        use_devices("gpu", "growth")
    use_devices("cpu", "growth")


def test_mlflow_is_told_what_the_gpu_is(two_gpus: context.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    details = {"device_name": "NVIDIA A10", "compute_capability": (8, 6)}
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: details)
    monkeypatch.setattr(device, "list_gpus", lambda: [Gpu("GPU-5a", "NVIDIA A10", "550.54.15", 23028 * 2**20, 0)])
    text = "2 GPUs: 2 x NVIDIA A10; compute capability 8.6; 24.1 GB; driver 550.54.15"
    use_threads(3)
    assert device_tags(2) == {"bakeoff.device": text, "bakeoff.threads": "3"}
    use_devices("cpu", "growth")
    assert device_tags(1) == {"bakeoff.device": "CPU", "bakeoff.threads": "3"}


def test_an_operation_has_the_threads_that_are_wanted_or_as_many_as_tensorflow_takes(
    two_gpus: context.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 6)
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    assert [use_threads(wanted) for wanted in (1, 3, None)] == [1, 3, 6]
    assert two_gpus.config.intra_op_parallelism_threads == 6
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "4")
    assert [use_threads(wanted) for wanted in (3, None)] == [3, 4]


THREADS = """
import numpy as np, tensorflow as tf
from bakeoff.learning.training.accelerators import use_threads
used = [use_threads(3)]
tf.add(1, 2)
print(used + [use_threads(1)])
"""


def test_a_process_that_has_computed_keeps_its_threads() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [3, 3]


def test_half_precision_computes_in_bfloat16_and_keeps_full_weights() -> None:
    def network() -> keras.Model:
        given = keras.Input((1,))
        layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
        return keras.Model(given, layer(given))

    with precision(mixed=True):
        mixed = network()
    assert keras.config.dtype_policy().name == "float32" and network()(tf.ones([1, 1])).dtype == tf.float32
    assert mixed(tf.ones([1, 1])).dtype == tf.bfloat16 and mixed.weights[0].dtype == "float32"
    losses = Step(mixed, sgd(mixed), Slope())(batches(1.00390625), tf.constant(0.5))  # type: ignore[arg-type]
    # bfloat16 has eight bits: 1 + 1/256 is 1 to it, in the loss and in the gradient.
    assert losses["train/loss"].dtype == tf.float32 and float(losses["train/loss"]) == 1.0
    assert weight_of(mixed) == 0.5
    assert compile_answer(mixed, Slope())({"image": tf.ones([1, 1])})["answer"].dtype == tf.float32  # type: ignore[arg-type]
