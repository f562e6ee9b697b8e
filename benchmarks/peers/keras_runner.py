"""Train and ask a plain Keras network by `fit` on folders, as Keras' own guides have it.

python keras_runner.py job.json        # job.py says what a job is
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import job
import keras
import numpy as np
import tensorflow as tf


def read_folder(task: dict[str, Any], split: str, **settings: Any) -> Any:
    return keras.utils.image_dataset_from_directory(
        Path(task["data"], split), image_size=(task["side"], task["side"]), seed=task["seed"], **settings
    )


def build(side: int, classes: int, rate: float) -> keras.Model:
    layers = keras.layers
    network = keras.Sequential([keras.Input((side, side, 3)), layers.Rescaling(1 / 255)])
    for channels in (16, 32, 64):
        network.add(layers.Conv2D(channels, 3, padding="same", activation="relu"))
        network.add(layers.MaxPooling2D())
    for layer in (layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(classes)):
        network.add(layer)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile(keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
    return network


def train(task: dict[str, Any], out: Path) -> dict[str, Any]:
    keras.utils.set_random_seed(task["seed"])
    settings = dict(task["settings"])
    rate = settings.pop("learning_rate", 0.001)  # Adam's own default
    images = read_folder(task, "train", **settings)
    classes = images.class_names
    images = images.cache().shuffle(1000, seed=task["seed"]).prefetch(tf.data.AUTOTUNE)
    network = build(task["side"], len(classes), rate)
    keeper = keras.callbacks.BackupAndRestore(out / "backup")
    clock = keras.callbacks.LambdaCallback(on_train_batch_end=job.note_step)
    network.fit(images, epochs=task["length"], verbose=0, callbacks=[keeper, clock])
    network.save(out / "final.keras")
    (out / "classes.json").write_text(json.dumps(classes), encoding="utf-8")
    digest = hashlib.sha256(b"".join(one.tobytes() for one in network.get_weights()))
    return {"weights": digest.hexdigest(), "parameters": network.count_params()}


def predict(task: dict[str, Any], out: Path) -> dict[str, Any]:
    network = keras.saving.load_model(out / "final.keras")
    classes = json.loads((out / "classes.json").read_text(encoding="utf-8"))
    images = read_folder(task, "validation", shuffle=False)
    best = np.argmax(network.predict(images, verbose=0), axis=-1)
    return {"labels": {file: classes[int(one)] for file, one in zip(images.file_paths, best, strict=True)}}


def export(task: dict[str, Any], out: Path) -> dict[str, Any]:
    network = keras.saving.load_model(out / "final.keras")
    network(np.zeros((1, *network.input_shape[1:]), np.float32))  # a loaded network that was never called is refused
    network.export(out / "model.onnx", format="onnx", verbose=False)
    return {"file": str(out / "model.onnx")}


if __name__ == "__main__":
    job.run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), train, predict, export)
