"""Which weights are trained; weights as files, `final.weights.h5` and `best.weights.h5`.

The network itself is rebuilt from run.yaml.
"""

import hashlib
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path

import keras

from bakeoff.foundation.errors import ConfigError, DataError, WorkspaceError, one_line
from bakeoff.foundation.files import require_whole
from bakeoff.learning.networks.network import Network, Parts, select, unmatched
from bakeoff.learning.networks.quantized.quantizable import Quantizable, has_ranges

FILE_SHARE, FILE_BYTES = 1.1, 2**20  # a file of weights takes a little more than the weights
FINAL, BEST = "final.weights.h5", "best.weights.h5"


def save(network: keras.Model, path: Path) -> None:
    # HDF5 crashes the process if the disk fills up while it writes, so that is found out before.
    needed, free = FILE_SHARE * 4 * network.count_params() + FILE_BYTES, shutil.disk_usage(path.parent).free
    if free < needed:
        raise WorkspaceError(
            f"no space left on the disk for {path.as_posix()}: {free / 1e6:.1f} of {needed / 1e6:.1f} MB are free; "
            "free some and run the same command again"
        )
    network.save_weights(path)


def build(model: Network, num_classes: int, *, quantizes: bool) -> keras.Model:
    """Return the network with new weights; with `quantizes` one that has ranges of eight bits, too."""
    network = model.build(num_classes)
    return Quantizable(network) if quantizes else network


def restore(model: Network, num_classes: int, path: Path, digest: str | None = None) -> keras.Model:
    """Return the network of these settings with the weights of a file, which has this digest if one is known.

    The file says whether the network has ranges of eight bits.
    """
    if not path.is_file():
        raise DataError(f"{path.as_posix()}: missing; run `dvc repro train`")
    require_whole(path, digest)
    network = build(model, num_classes, quantizes=has_ranges(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras counts what it skips before it says what is wrong
            network.load_weights(path)
    except (ValueError, OSError, RuntimeError, KeyError, TypeError, AttributeError) as error:  # of Keras and HDF5
        reason = one_line(error)
        raise DataError(
            f"{path.as_posix()}: does not fit this network ({reason}); run `dvc repro --force train`"
        ) from None
    return network


def digest(network: keras.Model) -> str:
    """Equal for bit-equal weights; the file's own bytes may hold more than the weights."""
    content = hashlib.sha256()
    for weight in network.weights:
        content.update(weight.path.encode())
        content.update(weight.numpy().tobytes())
    return content.hexdigest()


def train_only(
    network: keras.Model, patterns: Sequence[str], parts: Parts, key: str, *, ranges_learn: bool = False
) -> None:
    """Everything if there are no patterns; ranges of eight bits, if the network has them, where they are to learn."""
    # Whatever the phase before froze; Keras passes a value on only where it changes.
    network.trainable = False
    network.trainable = True
    _let_ranges_learn(network, ranges_learn)
    if not patterns:
        return
    paths = [weight.path for weight in network.weights]
    require_matches(paths, patterns, parts, key)
    chosen = set(select(paths, patterns, parts))
    for layer in network._flatten_layers(include_self=False):
        if layer.weights and not any(weight.path in chosen for weight in layer.weights):
            layer.trainable = False
    for weight in network.trainable_weights:
        weight.trainable = weight.path in chosen
    _let_ranges_learn(network, ranges_learn)
    if not network.trainable_weights:
        raise ConfigError(f"{key}: {', '.join(patterns)} names nothing that can be trained, only statistics")


def _let_ranges_learn(network: keras.Model, learn: bool) -> None:
    if isinstance(network, Quantizable):
        network.ranges.trainable = learn
        network.ranges.ends.trainable = learn


def require_matches(paths: Sequence[str], patterns: Sequence[str], parts: Parts, key: str) -> None:
    for pattern, near in unmatched(paths, patterns, parts).items():
        meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        named = ", ".join(sorted(parts)) or "(none)"
        raise ConfigError(f"{key}: no variable of the network matches {pattern!r}; {meant}its parts are: {named}")
