"""Run by the Object Detection API's own environment: checkpoints as TensorFlow 1 wrote them, and what they compute.

python slim_there.py out/ mobilenet_v1|mobilenet_v2|resnet50|inception_v3
python slim_there.py out/ pipeline.config

writes `model.ckpt` of random weights, and `numbers.npz` with images 0..255 and what the network answers.
"""

import importlib
import os
import re
import sys
from pathlib import Path
from unittest.mock import MagicMock

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF2_BEHAVIOR": "0"}
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"  # its protos are of an older protobuf
UNUSED = (
    "tensorflow_io", "official.vision.image_classification.efficientnet", "official.modeling.optimization",
    "tensorflow.contrib", "tensorflow.contrib.image", "tensorflow.contrib.image.python",
    "tensorflow.contrib.image.python.ops",
)  # fmt: skip
sys.modules |= {name: MagicMock() for name in UNUSED}

import numpy as np
import object_detection
import tensorflow.compat.v1 as tf

sys.path.insert(0, str(Path(object_detection.__file__).parent))  # where its copy of TF-Slim's `nets` is
import tf_slim as slim

tf.disable_v2_behavior()
for kind in ("", ".base", ".convolutional", ".core", ".normalization", ".pooling"):  # where TensorFlow looks for them
    sys.modules[f"tf_keras.legacy_tf_layers{kind}"] = importlib.import_module(f"tf_keras.src.legacy_tf_layers{kind}")
np.int, np.float, np.bool = int, float, bool  # that code is of an older numpy
SIDE, OUTPUTS = 96, 7
INCEPTION_SIDE = 299  # smaller ones change a kernel of the second head


def main(out: str, what: str) -> None:
    if what.endswith(".config"):
        images, answers = detector(what)
    else:
        images, answers = classifier(what)
    random = np.random.default_rng(7)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            variable.load(draw(variable, random), session)
        pixels = random.uniform(0, 255, (2, *images.shape[1:3].as_list(), 3)).astype(np.float32)
        numbers = session.run(answers, {images: pixels})
        tf.train.Saver().save(session, f"{out}/model.ckpt", write_meta_graph=False)
    np.savez(f"{out}/numbers.npz", pixels=pixels, **numbers)


def draw(variable: tf.Variable, random: np.random.Generator) -> np.ndarray:
    shape, name = variable.shape.as_list(), variable.op.name
    if variable.dtype.base_dtype.is_integer:
        return np.zeros(shape, variable.dtype.base_dtype.as_numpy_dtype)
    if "moving_variance" in name or "gamma" in name:
        return random.uniform(0.5, 1.5, shape).astype(np.float32)
    if len(shape) == 4:
        inside = np.prod(shape[:2]) if "depthwise" in name else np.prod(shape[:3])
        answers = re.search(r"(Box|BoxEncoding|Class)Predictor/(pointwise_)?weights", name)
        return (random.normal(0, np.sqrt(2 / inside), shape) * (0.05 if answers else 1)).astype(np.float32)
    return random.normal(0, 0.1, shape).astype(np.float32)


def classifier(name: str) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """The network of that name, without dropout and with the statistics of its weights."""
    from nets import inception_v3, mobilenet_v1, resnet_v1
    from nets.mobilenet import mobilenet_v2

    side = INCEPTION_SIDE if name == "inception_v3" else SIDE
    images = tf.placeholder(tf.float32, (None, side, side, 3))
    scaled = images / 127.5 - 1
    if name == "mobilenet_v1":
        with slim.arg_scope(mobilenet_v1.mobilenet_v1_arg_scope(is_training=False)):
            _, ends = mobilenet_v1.mobilenet_v1(scaled, OUTPUTS, is_training=False)
        return images, {"features": ends["Conv2d_13_pointwise"]}
    if name == "mobilenet_v2":
        with slim.arg_scope(mobilenet_v2.training_scope(is_training=False)):
            _, ends = mobilenet_v2.mobilenet(scaled, OUTPUTS)
        return images, {"features": ends["layer_19"]}
    if name == "inception_v3":
        with slim.arg_scope(inception_v3.inception_v3_arg_scope()):
            logits, ends = inception_v3.inception_v3(scaled, OUTPUTS, is_training=False)
        return images, {"classes": logits, "auxiliary": ends["AuxLogits"]}
    with slim.arg_scope(resnet_v1.resnet_arg_scope()):
        _, ends = resnet_v1.resnet_v1_50(images - tf.constant([123.68, 116.779, 103.939]), OUTPUTS, is_training=False)
    return images, {"features": ends["resnet_v1_50/block4"]}


def detector(config_file: str) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    from object_detection.builders import model_builder
    from object_detection.utils import config_util

    config = config_util.get_configs_from_pipeline_file(config_file)["model"]
    model = model_builder.build(config, is_training=False)
    shape = config.ssd.image_resizer.fixed_shape_resizer
    images = tf.placeholder(tf.float32, (None, shape.height, shape.width, 3))
    pixels, shapes = model.preprocess(images)
    predicted = model.predict(pixels, shapes)
    return images, {"codes": predicted["box_encodings"], "logits": predicted["class_predictions_with_background"]}


if __name__ == "__main__":
    main(*sys.argv[1:])
