"""TensorFlow checkpoints: which variable of a network is which key, by a table of the user's or by one of ours."""

from collections.abc import Iterable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from bakeoff.foundation.errors import ConfigError, DataError, did_you_mean
from bakeoff.learning.pretrained.name_tables import LayerNames, find_names
from bakeoff.learning.pretrained.stored import Stored

BOOKKEEPING = (  # parts of keys that hold no weights
    "_CHECKPOINTABLE_OBJECT_GRAPH", "OPTIMIZER_SLOT", "optimizer/", "save_counter", "global_step",
    "ExponentialMovingAverage", "Momentum", "RMSProp", "Adam", "step/.ATTRIBUTES",
)  # fmt: skip
SHOWN = 3


class TensorFlowCheckpoint:
    """Arrays by key, read when they are wanted."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        try:
            self._reader = tf.train.load_checkpoint(str(prefix))
            self._shapes = self._reader.get_variable_to_shape_map()
        except (tf.errors.OpError, ValueError) as error:
            raise self._unreadable(error) from None
        self.keys = sorted(key for key in self._shapes if not any(part in key for part in BOOKKEEPING))

    def stored(self, key: str) -> Stored:
        return Stored(tuple(self._shapes[key]), lambda: self._read(key))

    def _read(self, key: str) -> np.ndarray:
        try:
            return self._reader.get_tensor(key)
        except (tf.errors.OpError, ValueError, IndexError) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> DataError:
        reason = str(error).splitlines()[0] if str(error) else "it ends too early"
        return DataError(f"{self.prefix.as_posix()}: cannot be read as a TensorFlow checkpoint ({reason})")

    def names_by(self, table: Path, variables: Iterable[str]) -> dict[str, str]:
        """Return the key of each variable that a table of the user's names."""
        names = read_table(table, variables)
        for here, there in names.items():
            if there not in self._shapes:
                near = did_you_mean(there, sorted(self._shapes)).strip()
                raise DataError(
                    f"{self.prefix.as_posix()}: has no {there!r}, which train.init.names gives for {here!r}"
                    f"{near and f'; {near}'}"
                )
        return names

    def names_of(self, network: keras.Model) -> dict[str, str]:
        """Return the key of each variable that the tables here find."""
        names = find_names(layers_of(network), self.keys)
        if not names:
            held = ", ".join(self.keys[:SHOWN]) or "nothing"
            raise DataError(
                f"{self.prefix.as_posix()}: holds no names that are known of this network (it holds {held}): weights "
                "of another architecture, or name the variables in a table, train.init.names"
            )
        return names


def layers_of(network: keras.Model) -> list[LayerNames]:
    layers = []
    for layer in network._flatten_layers(include_self=False):
        own = [*layer._trainable_variables, *layer._non_trainable_variables]
        variables = tuple((weight.path, _name_in_tables(layer, weight.path)) for weight in own)
        if variables:
            layers.append(LayerNames(layer.name, variables))
    return layers


def _name_in_tables(layer: keras.layers.Layer, path: str) -> str:
    name = path.rpartition("/")[2]
    return "depthwise_kernel" if isinstance(layer, keras.layers.DepthwiseConv2D) and name == "kernel" else name


def read_table(path: Path, variables: Iterable[str]) -> dict[str, str]:
    """Variable of the network -> name in the checkpoint."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"train.init.names: {path.as_posix()} cannot be read ({error})") from None
    variables, table = set(variables), {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        here, _, there = (part.strip() for part in line.partition("\t"))
        if not there:
            raise ConfigError(f"{path.as_posix()}:{number}: must be `variable<TAB>name there`, got {line!r}")
        if here not in variables:
            near = did_you_mean(here, sorted(variables)).strip()
            raise ConfigError(f"{path.as_posix()}:{number}: the network has no variable {here!r}{near and f'; {near}'}")
        table[here] = there
    return table
