"""Our numbers beside those that `detector_there.py` wrote: how far they are apart at most."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.input.augment_and_resize import resample_whole
from bakeoff.learning.networks.ssd_fpn import SsdFpn
from bakeoff.learning.networks.ssd_multibox import SsdMultibox
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.weight_source import origin_of
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.training.step import Step

Settings = SsdFpn | SsdMultibox
RATE, MOMENTUM = 0.01, 0.9
ALIKE = 1e-5  # scores


def compare(settings: Settings, folder: Path) -> dict[str, float]:
    """Return the largest difference of each kind; of what has no scale of its own, as a share of the largest number."""
    inputs, there = np.load(folder / "inputs.npz"), np.load(folder / "numbers.npz")
    names = [str(number) for number in range(int(inputs["num_classes"]))]
    keras.utils.set_random_seed(0)
    network, task = settings.build(len(names)), Detection(settings, names)
    differences = {"variables": float(abs(_count(folder / "weights") - len(network.weights)))}
    differences |= _starts(network, settings, folder)
    load(network, settings, folder / "weights")
    pixels = there["resized"]
    images = resample_whole(tf.constant(inputs["images"]), settings.input_size, settings.resizing).numpy()
    differences |= {
        "resized pixels": _largest(images, pixels),
        "anchors": _largest(task.head.anchors, there["anchors"]),
    }
    outputs = network(pixels, training=False)
    differences["codes"] = _largest(outputs["boxes"].numpy(), there["codes"].reshape(outputs["boxes"].shape))
    differences["logits"] = _largest(outputs["classes"].numpy(), there["logits"])
    differences |= _in_float64(settings, names, folder, there)
    differences |= _detections(task.predict(outputs), there)
    differences |= _costs(network, task, outputs, inputs, there)
    differences |= _step(network, settings, task, pixels, inputs, there, folder)
    return differences


def _in_float64(settings: Settings, names: list[str], folder: Path, there: Any) -> dict[str, float]:
    """How far the answers are apart without float32's rounding, which a hundred layers pass on."""
    _compute_in("float64")
    try:
        network = settings.build(len(names))
        load(network, settings, folder / "weights")
        assert {weight.dtype for weight in network.weights} == {"float64"}
        for layer in network.layers:
            if isinstance(layer, keras.layers.Rescaling):  # which makes a float32 of a Python number first
                layer.scale, layer.offset = np.float64(layer.scale), np.float64(layer.offset)
        outputs = network(there["resized"].astype(np.float64), training=False)
    finally:
        _compute_in("float32")
    codes = there["codes in float64"].reshape(outputs["boxes"].shape)
    return {
        "codes in float64": _largest(outputs["boxes"].numpy(), codes),
        "logits in float64": _largest(outputs["classes"].numpy(), there["logits in float64"]),
    }


def _compute_in(numbers: str) -> None:
    keras.config.set_floatx(numbers)
    keras.config.set_dtype_policy(numbers)


def load(network: keras.Model, settings: Settings, path: Path) -> dict[str, Any]:
    init = Init(str(path))
    report = load_first_weights(network, settings, init, origin_of(init, Path))
    assert not (report["left_random"] or report["skipped"] or report["unused"]), report
    return report


def go_on(settings: Settings, folder: Path, *, steps: int, start: str = "trained") -> tuple[np.ndarray, np.ndarray]:
    """Train on from a checkpoint of theirs; return our losses without the weight penalty, and theirs."""
    inputs, there = np.load(folder / "inputs.npz"), np.load(folder / "numbers.npz")
    names = [str(number) for number in range(int(inputs["num_classes"]))]
    network, task = settings.build(len(names)), Detection(settings, names)
    load(network, settings, folder / start)
    step = Step(network, keras.optimizers.SGD(RATE, momentum=MOMENTUM), task)
    batch = {"image": tf.constant(there["resized"])} | _encoded(task, inputs)
    taken = [step([batch], tf.constant(RATE)) for _ in range(steps)]
    ours = [float(losses["train/loss_classes"] + losses["train/loss_boxes"]) for losses in taken]
    return np.array(ours, np.float32), there["losses"]


def _count(path: Path) -> int:
    return sum("/.ATTRIBUTES/" in name for name, _ in tf.train.list_variables(str(path)) if "save_counter" not in name)


def _largest(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(np.asarray(ours, np.float64) - theirs).max())


def _values(network: keras.Model) -> dict[str, np.ndarray]:
    return {weight.path: weight.numpy() for weight in network.weights}


def _starts(network: keras.Model, settings: Settings, folder: Path) -> dict[str, float]:
    """How far apart the spreads of starting kernels are, as a share, and the numbers of all that starts equal."""
    ours = _values(network)
    load(network, settings, folder / "initial")
    theirs = _values(network)
    kernels = [path for path in ours if "kernel" in path and ours[path].size >= 5000]
    spread = max(abs(ours[path].std() / theirs[path].std() - 1) for path in kernels)
    fixed = [path for path in ours if "kernel" not in path]
    return {
        "spread at the start": float(spread),
        "others at the start": max(_largest(ours[p], theirs[p]) for p in fixed),
    }


def _detections(here: dict[str, tf.Tensor], there: Any) -> dict[str, float]:
    """How far from each of theirs the nearest of ours of the same class is; scores that are alike may change places."""
    assert here["count"].numpy().tolist() == there["num_detections"].astype(int).tolist()
    apart = []
    for image, count in enumerate(there["num_detections"].astype(int)):
        ours = np.concatenate([here["boxes"][image], here["scores"][image, :, None]], axis=-1)
        theirs = np.concatenate([there["detection_boxes"][image], there["detection_scores"][image, :, None]], axis=-1)
        classes = here["classes"][image].numpy() - 1 == there["detection_classes"][image][:, None]
        distances = np.where(classes, np.abs(ours[None] - theirs[:, None]).max(-1), 2.0).min(1)
        last = there["detection_scores"][image, count - 1]
        apart += distances[theirs[:, -1] > last + ALIKE].tolist()  # which of the last are left out is by chance
    return {"detections": float(max(apart))}


def _encoded(task: Detection, inputs: Any) -> dict[str, tf.Tensor]:
    examples = zip(inputs["boxes"], inputs["classes"], strict=True)
    coded = [task.encode({"boxes": tf.constant(b), "classes": tf.constant(c, tf.int64)}) for b, c in examples]
    return {name: tf.stack([one[name] for one in coded]) for name in coded[0]}


def _costs(network: keras.Model, task: Detection, outputs: dict, inputs: Any, there: Any) -> dict[str, float]:
    targets = _encoded(task, inputs)
    classes = targets["classes"].numpy()
    theirs = there["target/classes"][..., 1:]
    asked = there["target/class_weights"].max(-1) > 0
    matched = there["target/box_weights"] > 0
    assert (matched == (classes > 0)).all() and (asked == (classes >= 0)).all()
    assert (theirs.argmax(-1)[matched] + 1 == classes[matched]).all() and (theirs[classes <= 0] == 0).all()
    losses = task.losses(outputs, targets)
    cost = {"classes": there["cost/classification_loss"], "boxes": there["cost/localization_loss"]}
    differences = {f"loss on {name}": _share(float(losses[name]), float(cost[name])) for name in cost}
    penalty = float(tf.add_n(network.losses)) if network.losses else 0.0
    differences["weight penalty"] = _share(penalty, float(there["cost/penalty"]))
    boxes = _largest(targets["boxes"].numpy()[matched], there["target/boxes"][matched])
    return {"targets": boxes} | differences


def _share(ours: float, theirs: float) -> float:
    return abs(ours - theirs) / max(abs(theirs), 1e-12)


def _step(
    network: keras.Model, settings: Settings, task: Detection, pixels: np.ndarray, inputs: Any, there: Any, folder: Path
) -> dict[str, float]:
    before = _values(network)
    with tf.GradientTape() as tape:
        penalty = tf.add_n(network.losses)
    slopes = tape.gradient(penalty, network.trainable_variables)
    slopes = {
        weight.path: np.zeros(weight.shape) if slope is None else slope.numpy()
        for weight, slope in zip(network.trainable_variables, slopes, strict=True)
    }
    step = Step(network, keras.optimizers.SGD(RATE), task)
    step([{"image": tf.constant(pixels)} | _encoded(task, inputs)], tf.constant(RATE))
    after = _values(network)
    load(network, settings, folder / "penalty")
    penalties = _values(network)
    load(network, settings, folder / "stepped")
    stepped = _values(network)
    moved = {path: (after[path] - before[path], stepped[path] - before[path]) for path in after}
    learned = {weight.path for weight in network.trainable_variables}
    return {
        "slope of the penalty": max(_largest(slopes[path], penalties[path]) for path in slopes),
        "one step, weights": _apart([moved[path] for path in moved if path in learned]),
        "one step, heads": _apart([moved[path] for path in moved if path in learned and path.startswith("head.")]),
        "one step, statistics": _apart([moved[path] for path in moved if path not in learned]),
    }


def _apart(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """As a share of the whole move: of a single kernel deep down, a rounding of the pixels changes a tenth."""
    apart = sum(float(np.square(ours - theirs).sum()) for ours, theirs in pairs)
    return float(np.sqrt(apart / sum(float(np.square(theirs).sum()) for _, theirs in pairs)))
