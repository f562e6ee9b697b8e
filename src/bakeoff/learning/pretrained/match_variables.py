"""What a start finds: which of the arrays in a file or a checkpoint is for which variable of the network."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import keras
import numpy as np

from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.learning.networks.network import Network, Pretrained, select
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.name_tables import find_differences
from bakeoff.learning.pretrained.stored import Layers, Stored
from bakeoff.learning.pretrained.tf_checkpoint import TensorFlowCheckpoint, layers_of
from bakeoff.learning.pretrained.weight_files import open_weights
from bakeoff.learning.pretrained.weight_source import KEY, WeightSource

KERAS_RESNET = "conv1_conv"  # in Keras' own it has a bias, and sees blue, green, red


class NamedArrays:
    """Arrays by name, and the name of each variable's."""

    def __init__(self, arrays: Mapping[str, Stored], names: Mapping[str, str], head: "ClassHead | None" = None) -> None:
        """`names`: of variables of the network, by their paths."""
        self._arrays, self._names, self._head = arrays, names, head
        self.names = list(arrays)

    def differences(self, paths: Iterable[str]) -> list[str]:
        """Say what else these variables' layers compute here than where they come from."""
        return find_differences([self._names[path] for path in paths])

    def name_of(self, path: str) -> str | None:
        return self._names.get(path)

    def fitted(self, path: str, shape: tuple[int, ...]) -> Stored:
        """Return what is for a variable, in its shape if it only stands there in another one."""
        stored = self._arrays[self._names[path]]
        if self._head and path in self._head.paths:
            stored = self._head.without_background(stored, shape)
        same = len(stored.shape) != len(shape) and [n for n in stored.shape if n > 1] == [n for n in shape if n > 1]
        return Stored(shape, lambda: np.reshape(stored.read(), shape)) if same else stored

    def beside(self, layers: Collection[str]) -> list[str]:
        """Return the names that are for no variable, of what is stored for these layers."""
        used = set(self._names.values())
        whole = {_scope(name) for path, name in self._names.items() if path.rpartition("/")[0] in layers}
        return [name for name in self.names if name not in used and _scope(name) in whole]


def _scope(name: str) -> str:
    return name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE").rpartition("/")[0]


@dataclass(frozen=True)
class ClassHead:
    """The layers that answer classes; elsewhere each anchor has one number more in front, for the background."""

    paths: frozenset[str]
    numbers: int  # of an anchor here

    def without_background(self, stored: Stored, shape: tuple[int, ...]) -> Stored:
        anchors = shape[-1] // self.numbers if shape else 0
        if stored.shape[:-1] != shape[:-1] or stored.shape[-1] != anchors * (self.numbers + 1):
            return stored

        def read() -> np.ndarray:
            by_anchor = np.reshape(stored.read(), (*shape[:-1], anchors, self.numbers + 1))
            return by_anchor[..., 1:].reshape(shape)

        return Stored(shape, read)


@contextmanager
def open_stock(network: keras.Model, model: Network, init: Init, origin: WeightSource) -> Iterator[NamedArrays]:
    if origin.is_tf_checkpoint:
        assert origin.path is not None
        checkpoint = TensorFlowCheckpoint(origin.path)
        if init.names is None:
            names = checkpoint.names_of(network)
        else:
            names = checkpoint.names_by(Path(init.names), [weight.path for weight in network.weights])
        arrays = {
            key: checkpoint.stored(key) for key in {**dict.fromkeys(checkpoint.keys), **dict.fromkeys(names.values())}
        }
        yield NamedArrays(arrays, names, _class_head(network, model))
    elif origin.path is None:
        yield _by_layer(network, _of_imagenet(model))
    else:
        with open_weights(origin.path) as layers:
            yield _by_layer(network, layers)


def _class_head(network: keras.Model, model: Network) -> ClassHead | None:
    if model.task != "detection":
        return None
    paths = [weight.path for weight in network.weights]
    return ClassHead(frozenset(select(paths, ["head.classes"], model.parts)), network.output["classes"].shape[-1])


def _by_layer(network: keras.Model, layers: Layers) -> NamedArrays:
    """Layers have the same names; their variables have the same names, or numbers in their order."""
    if _is_keras_resnet(network, layers):
        layers = _resnet_as_here(layers)
    arrays = {f"{layer}/{name}": stored for layer, inside in layers.items() for name, stored in inside.items()}
    names = {}
    for layer in layers_of(network):
        own = layers.get(layer.name, {})
        for number, (path, _) in enumerate(layer.variables):
            if key_there := next((key for key in (path.rpartition("/")[2], str(number)) if key in own), None):
                names[path] = f"{layer.name}/{key_there}"
    return NamedArrays(arrays, names)


def _is_keras_resnet(network: keras.Model, layers: Layers) -> bool:
    here = [layer for layer in network.layers if layer.name == KERAS_RESNET]
    return bool(here) and not here[0].use_bias and len(layers.get(KERAS_RESNET, {})) == 2


def _resnet_as_here(layers: Layers) -> Layers:
    """Turn Keras' ResNet into ours without a change of what it computes.

    A bias before a batch norm is the same as a lower mean of it, and colours in another order as kernels in that order.
    """
    changed = {layer: dict(inside) for layer, inside in layers.items()}
    for layer, inside in changed.items():
        if not layer.endswith("_conv") or len(inside) != 2:
            continue
        bias = inside.pop("bias", None) or inside.pop("1")
        norm = changed[f"{layer.removesuffix('_conv')}_bn"]
        place = "moving_mean" if "moving_mean" in norm else "2"
        norm[place] = _less(norm[place], bias)
    kernel = next(iter(changed[KERAS_RESNET]))
    changed[KERAS_RESNET][kernel] = _other_way_round(changed[KERAS_RESNET][kernel])
    return changed


def _less(mean: Stored, bias: Stored) -> Stored:
    return replace(mean, read=lambda: mean.read() - bias.read())


def _other_way_round(kernel: Stored) -> Stored:
    return replace(kernel, read=lambda: kernel.read()[:, :, ::-1])


def _of_imagenet(model: Network) -> Layers:
    if not isinstance(model, Pretrained):
        raise ConfigError(f"{KEY}: must not be imagenet, for Keras has no trained weights of {type(model).__name__}")
    try:
        trained = model.imagenet()
    except Exception as error:  # Keras raises a bare one for whatever the network answers
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{KEY}: ImageNet's weights could not be downloaded ({reason}); "
            "connect to the internet, or name a file of weights"
        ) from None
    return {
        layer.name: {
            weight.path.rpartition("/")[2]: Stored(tuple(weight.shape), weight.numpy) for weight in layer.weights
        }
        for layer in trained._flatten_layers(include_self=False)
    }
