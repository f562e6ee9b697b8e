"""A run, by any name of it -> its network as a Keras model, with the weights that evaluation judges."""

import os
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.inference.predict.select_model import Trained, find_model, find_run, find_run_or_own

if TYPE_CHECKING:
    import keras


def load_network(run: str | os.PathLike[str] | None = None) -> "keras.Model":
    """Build the network of a run with its best weights. Without a run it is the workspace's own."""
    trained = _find(run)
    load_tensorflow()
    from bakeoff.inference.predict.model_interface import restore_network

    return restore_network(trained)


def _find(run: str | os.PathLike[str] | None) -> Trained:
    path = None if run is None else Path(run).absolute()
    if path and path.exists():
        source = find_run(str(path))[0] if (path / workspace.RUN).is_file() else find_model(path)
        if isinstance(source, Trained):
            return source
        raise DataError(
            f"{run}: must be a run or weights that train left, got an export; "
            "keras.layers.TFSMLayer opens a SavedModel, LiteRT a .tflite"
        )
    with chdir(Path.cwd()):  # what was the current folder is so again afterwards
        workspace.enter()
        trained, _ = find_run_or_own(None if run is None else os.fspath(run))
        return replace(trained, weights=trained.weights.absolute())
