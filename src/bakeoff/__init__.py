"""Train TensorFlow vision models on your own data; keep every variant reproducible and comparable.

The code that runs is the code of the folder one stands in. DVC runs an experiment in a temporary
copy of the repository, where `import bakeoff` would still find the editable install of the main
one; so a workspace with its own `src/bakeoff` takes its modules from there.

    import bakeoff
    bakeoff.runs()  # a table; app/api/functions.py has the functions
    network = bakeoff.load("9e1f70b2")  # the Keras model of a run
"""

from __future__ import annotations

import os.path  # which Python has loaded by now; a Path takes long enough for a Ctrl-C to come in between
import sys

TYPE_CHECKING = False  # type checkers know this name; `typing` need not be loaded for it
if TYPE_CHECKING:
    import keras

    from bakeoff.app.api.functions import better, compare, plan, run, runs, sweep, train

__all__ = ["better", "compare", "load", "plan", "run", "runs", "sweep", "train"]

if os.path.isfile("dvc.yaml") and os.path.isdir("src/bakeoff/stages"):
    __path__ = [os.path.realpath("src/bakeoff")]


def _keep_whole_bytecode_only() -> None:
    """Remove compiled code that did not fit on the disk. Python before 3.14 keeps a part, and then imports no more."""
    importing = vars(sys.modules["_frozen_importlib_external"])
    if (write := importing.get("_write_atomic")) is None:
        return

    def write_whole(path: str, data: bytes, mode: int = 0o666) -> None:
        write(path, data, mode)
        if os.stat(path).st_size != len(data):
            os.unlink(path)

    importing["_write_atomic"] = write_whole


_keep_whole_bytecode_only()


def load(run: str | os.PathLike[str] | None = None) -> keras.Model:
    """Return the Keras model that a run trained, with its best weights; without a run, the workspace's own.

    A run goes by any of its names, as in every command. A file of weights or another workspace's folder is taken, too.
    """
    from bakeoff.inference.predict.loading import load_network

    return load_network(run)


def __getattr__(name: str) -> object:
    """Return a function of the API, which loads when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bakeoff.app.api import functions

    return getattr(functions, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
