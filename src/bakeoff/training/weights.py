"""Weights as files: `final.weights.h5`, `best.weights.h5`. The network itself is rebuilt from run.yaml."""

import hashlib
import shutil
import warnings
from pathlib import Path

import keras

from bakeoff.errors import DataError, WorkspaceError
from bakeoff.networks import Network

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


def restore(model: Network, num_classes: int, path: Path) -> keras.Model:
    """The network of these settings with the weights of a file."""
    if not path.is_file():
        raise DataError(f"{path.as_posix()}: missing; run `dvc repro train`")
    network = model.build(num_classes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras counts what it skips before it says what is wrong
            network.load_weights(path)
    except (ValueError, OSError) as error:
        reason = str(error).splitlines()[0]
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
