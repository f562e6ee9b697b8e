"""Run by the Object Detection API's own environment: a detector's numbers as that code has them.

python detector_there.py pipeline.config inputs.npz out/

writes, each as a checkpoint of that API, `initial` (weights as they start), `weights` (random ones), `penalty` (the
slope of the weight penalty in each), `stepped` (after one step of plain SGD), `backbone/ckpt-1` (a classification
checkpoint) and `trained` (after some steps), and in `numbers.npz` what it answers and what it costs.
"""

import os
import re
import sys
from unittest.mock import MagicMock

os.environ |= {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"  # its protos are of an older protobuf
EFFICIENTNET = "official.vision.image_classification.efficientnet"
for unused in ("tensorflow_io", EFFICIENTNET, "official.modeling.optimization"):  # networks that are not looked at
    sys.modules[unused] = MagicMock()

import numpy as np
import tensorflow as tf
from google.protobuf.message import Message
from object_detection.builders import model_builder
from object_detection.utils import config_util

RATE, MOMENTUM = 0.01, 0.9
ANSWER = re.compile(r"(Box|BoxEncoding|Class)Predictor/(pointwise_)?kernel")


def main(config_file: str, inputs_file: str, out: str) -> None:
    tf.random.set_seed(0)
    inputs = np.load(inputs_file)
    config = config_util.get_configs_from_pipeline_file(config_file)["model"]
    model = model_builder.build(config, is_training=True)
    batch = [tf.constant(image, tf.float32)[None] for image in inputs["images"]]
    resized, shapes = zip(*(model.preprocess(image) for image in batch), strict=True)
    pixels, shapes = tf.concat(resized, 0), tf.concat(shapes, 0)
    model.predict(pixels, shapes)  # makes the variables
    checkpoint = tf.train.Checkpoint(model=model)
    checkpoint.write(f"{out}/initial")

    shuffle(model)
    settle(model, pixels, shapes)
    checkpoint.write(f"{out}/weights")
    backbone = tf.train.Checkpoint(feature_extractor=model._feature_extractor.classification_backbone)
    tf.train.CheckpointManager(backbone, f"{out}/backbone", max_to_keep=1).save()
    numbers = {"resized": resize(model, batch), **answer(model, pixels, shapes), **anchors(model)}
    numbers |= costs(model, pixels, shapes, inputs)
    numbers |= answer_in_float64(model, config, numbers["resized"], shapes)
    write_slopes(model, checkpoint, f"{out}/penalty")
    numbers |= step_once(model, pixels, shapes, inputs)
    checkpoint.write(f"{out}/stepped")
    if int(inputs["steps"]):
        checkpoint.read(f"{out}/initial")
        numbers["losses"] = train(model, pixels, shapes, inputs, f"{out}/trained", checkpoint)
    np.savez(f"{out}/numbers.npz", **numbers)


def shuffle(model: tf.Module) -> None:
    """Give each variable numbers that keep signals alive, as those of a start do not."""
    random = np.random.default_rng(7)
    for variable in variables_of(model):
        shape, name = variable.shape, variable.name
        if "moving_variance" in name or "gamma" in name:
            value = random.uniform(0.5, 1.2, shape)
        elif len(shape) == 4:
            inside = np.prod(shape[:3]) if "depthwise" not in name else np.prod(shape[:2])
            value = random.normal(0, np.sqrt(2 / inside), shape) * (0.2 if ANSWER.search(name) else 1)
        else:
            value = random.normal(0, 0.1, shape)
        variable.assign(value.astype(np.float32))


def settle(model: tf.Module, pixels: tf.Tensor, shapes: tf.Tensor) -> None:
    """Give each batch norm the statistics of the batch, or signals grow from layer to layer, and errors with them."""
    norms = [
        layer
        for part in (model._feature_extractor, model._box_predictor)
        for layer in part.submodules
        if isinstance(layer, tf.keras.layers.BatchNormalization)
    ]
    momentum = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    tf.keras.backend.set_learning_phase(1)
    model.predict(pixels, shapes)
    for norm, before in zip(norms, momentum, strict=True):
        norm.momentum = before
        norm.moving_variance.assign(tf.maximum(norm.moving_variance, 0.5))  # what is constant would be blown up


def resize(model: tf.Module, batch: list[tf.Tensor]) -> np.ndarray:
    """Return the pixels 0..255 as the network is shown them, before they are scaled."""
    return np.concatenate([model._image_resizer_fn(image[0])[0][None].numpy() for image in batch])


def variables_of(model: tf.Module) -> list[tf.Variable]:
    variables = {
        id(variable): variable for variable in (*model._feature_extractor.variables, *model._box_predictor.variables)
    }
    return list(variables.values())


def answer(model: tf.Module, pixels: tf.Tensor, shapes: tf.Tensor) -> dict[str, np.ndarray]:
    tf.keras.backend.set_learning_phase(0)
    predicted = model.predict(pixels, shapes)
    detections = model.postprocess(predicted, shapes)
    keys = ("detection_boxes", "detection_scores", "detection_classes", "num_detections")
    numbers = {key: detections[key].numpy() for key in keys}
    numbers["codes"] = predicted["box_encodings"].numpy()
    return numbers | {"logits": predicted["class_predictions_with_background"].numpy()}


def answer_in_float64(
    model: tf.Module, config: Message, resized: np.ndarray, shapes: tf.Tensor
) -> dict[str, np.ndarray]:
    """Return the answers of the same weights without float32's rounding, which a hundred layers pass on."""
    tf.keras.backend.set_floatx("float64")
    twin = model_builder.build(config, is_training=True)
    pixels = twin._feature_extractor.preprocess(tf.constant(resized, tf.float64))
    twin.predict(pixels, shapes)  # makes the variables
    for variable, single in zip(variables_of(twin), variables_of(model), strict=True):
        assert variable.dtype == tf.float64
        variable.assign(tf.cast(single, tf.float64))
    tf.keras.backend.set_learning_phase(0)
    predicted = twin.predict(pixels, shapes)
    tf.keras.backend.set_floatx("float32")
    codes, logits = predicted["box_encodings"].numpy(), predicted["class_predictions_with_background"].numpy()
    return {"codes in float64": codes, "logits in float64": logits}


def anchors(model: tf.Module) -> dict[str, np.ndarray]:
    return {"anchors": model.anchors.get().numpy()}


def costs(model: tf.Module, pixels: tf.Tensor, shapes: tf.Tensor, inputs: dict) -> dict[str, np.ndarray]:
    """With the statistics of the weights, not of the batch."""
    tf.keras.backend.set_learning_phase(0)
    provide(model, inputs)
    losses = model.loss(model.predict(pixels, shapes), shapes)
    numbers = {f"cost/{name.rpartition('/')[2]}": value.numpy() for name, value in losses.items()}
    numbers["cost/penalty"] = np.float32(sum(float(one) for one in model.regularization_losses()))
    targets = model._assign_targets(model.groundtruth_lists("boxes"), model.groundtruth_lists("classes"))
    classes, class_weights, boxes, box_weights, _ = targets
    return numbers | {
        "target/classes": classes.numpy(), "target/class_weights": class_weights.numpy(),
        "target/boxes": boxes.numpy(), "target/box_weights": box_weights.numpy(),
    }  # fmt: skip


def provide(model: tf.Module, inputs: dict) -> None:
    number, classes = int(inputs["num_classes"]), inputs["classes"]
    one_hot = [tf.one_hot(one - 1, number) for one in classes]
    model.provide_groundtruth([tf.constant(one) for one in inputs["boxes"]], one_hot)


def write_slopes(model: tf.Module, checkpoint: tf.train.Checkpoint, path: str) -> None:
    before = [variable.numpy() for variable in variables_of(model)]
    with tf.GradientTape() as tape:
        penalty = tf.add_n(model.regularization_losses())
    slopes = tape.gradient(penalty, variables_of(model))
    for variable, slope in zip(variables_of(model), slopes, strict=True):
        variable.assign(tf.zeros_like(variable) if slope is None else slope)
    checkpoint.write(path)
    for variable, value in zip(variables_of(model), before, strict=True):
        variable.assign(value)


def step_once(model: tf.Module, pixels: tf.Tensor, shapes: tf.Tensor, inputs: dict) -> dict[str, np.ndarray]:
    optimizer = tf.keras.optimizers.SGD(RATE)
    return {"step/loss": np.float32(take_step(model, optimizer, pixels, shapes, inputs))}


def take_step(
    model: tf.Module, optimizer: tf.keras.optimizers.Optimizer, pixels: tf.Tensor, shapes: tf.Tensor, inputs: dict
) -> float:
    tf.keras.backend.set_learning_phase(1)
    provide(model, inputs)
    with tf.GradientTape() as tape:
        losses = model.loss(model.predict(pixels, shapes), shapes)
        of_data = tf.add_n(list(losses.values()))
        whole = of_data + tf.add_n(model.regularization_losses())
    variables = [one for one in variables_of(model) if one.trainable]
    optimizer.apply_gradients(zip(tape.gradient(whole, variables), variables, strict=True))
    return float(of_data)


def train(
    model: tf.Module, pixels: tf.Tensor, shapes: tf.Tensor, inputs: dict, path: str, checkpoint: tf.train.Checkpoint
) -> np.ndarray:
    """Some steps, a checkpoint, and the losses of the steps after it by a new optimizer."""
    for steps, is_kept in ((int(inputs["steps"]), False), (int(inputs["more_steps"]), True)):
        optimizer = tf.keras.optimizers.SGD(RATE, momentum=MOMENTUM)
        losses = [take_step(model, optimizer, pixels, shapes, inputs) for _ in range(steps)]
        if not is_kept:
            checkpoint.write(path)
    return np.array(losses, np.float32)


if __name__ == "__main__":
    main(*sys.argv[1:])
