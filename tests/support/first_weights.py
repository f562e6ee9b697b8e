"""A small network, files of its weights in every format, and a start from them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import h5py
import keras
import numpy as np

from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.networks.network import Network
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.weight_source import origin_of


@dataclass(frozen=True)
class Small:
    """Two layers and a head of so many classes."""

    task: ClassVar[str] = "classification"
    input_size: int = 8
    frames: int = 1

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        return {"backbone": ("Conv1", "bn_Conv1"), "head": ("logits",)}

    def build(self, num_classes: int) -> keras.Model:
        image = keras.Input((8, 8, 3))
        x = keras.layers.Conv2D(4, 3, use_bias=False, name="Conv1")(image)
        x = keras.layers.BatchNormalization(name="bn_Conv1")(x)
        x = keras.layers.GlobalAveragePooling2D()(x)
        return keras.Model(image, keras.layers.Dense(num_classes, name="logits")(x))


@dataclass(frozen=True)
class Famous(Small):
    """With weights to download."""

    failure: str = ""

    def imagenet(self) -> keras.Model:
        if self.failure:
            raise Exception(self.failure)
        return numbered(self.build(7))


BACKBONE = ["Conv1/kernel", *(f"bn_Conv1/{name}" for name in ("gamma", "beta", "moving_mean", "moving_variance"))]
HEAD = ["logits/kernel", "logits/bias"]


def numbered(network: keras.Model) -> keras.Model:
    """Every weight filled with a number of its own, from 1 on."""
    for number, weight in enumerate(network.weights, start=1):
        weight.assign(np.full(weight.shape, number))
    return network


def start(
    path: Path | str, num_classes: int = 3, model: Network | None = None, names: Path | None = None, **init: tuple
) -> tuple[keras.Model, dict]:
    model = model or Small()
    network = model.build(num_classes)
    return network, start_in(network, path, model, names, **init)


def start_in(
    network: keras.Model, path: Path | str, model: Network, names: Path | None = None, **init: tuple
) -> dict[str, Any]:
    settings = Init(str(path), names=names and str(names), **init)
    return load_first_weights(network, model, settings, origin_of(settings, lambda run_id: Path(run_id)))


def firsts(network: keras.Model) -> dict[str, float]:
    return {weight.path: float(weight.numpy().ravel()[0]) for weight in network.weights}


def whole_model(path: Path, network: keras.Model) -> None:
    """As an older Keras saved it: variables by name, and the network's configuration beside."""
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Lambda", "config": {"function": "import os"}})
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [b"outer", b"logits"]
        outer, head = group.create_group("outer"), group.create_group("logits")
        for place, weights in ((outer, network.weights[:5]), (head, network.weights[5:])):
            place.attrs["weight_names"] = [f"{weight.path}:0".encode() for weight in weights]
            for weight in weights:
                place[f"{weight.path}:0"] = weight.numpy()


def own_checkpoint(path: Path, network: keras.Model) -> None:
    weights = {f"{number:05d}": weight for number, weight in enumerate(network.weights)}
    arrays = {name: weight.numpy() for name, weight in weights.items()}
    checkpoint.write(path, {"paths": {name: weight.path for name, weight in weights.items()}}, arrays)


SAVED: dict[str, Callable[[Path, keras.Model], object]] = {
    "one.weights.h5": lambda path, network: network.save_weights(path),
    "one.keras": lambda path, network: network.save(path),
    "one.h5": whole_model,
    "best-00000100": own_checkpoint,
}
