"""`train.init.weights`, a text, -> the files that it means, and a digest of what they hold."""

import errno
import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bakeoff.foundation.errors import ConfigError, show
from bakeoff.foundation.files import hash_file, require_whole
from bakeoff.foundation.formatting import format_names
from bakeoff.foundation.workspace import WEIGHTS
from bakeoff.learning.checkpoints.trained_state import STATE as RUN_STATE
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.plan.train_settings import Init

BEST, FINAL = "best.weights.h5", "final.weights.h5"
BUILT_IN = ("none", "imagenet")  # first weights that are not in a file
RUN_ID = re.compile(r"[0-9a-f]{32}")
KEY = "train.init.weights"
ZOO = "zoo/"
PACKED = (".zip", ".gz", ".tgz", ".tar", ".bz2", ".xz")
SAME_ARCHIVE = "the checkpoint of the same archive: checkpoint/ckpt-0 or model.ckpt, with its .index and .data files"
SINGLE = (".h5", ".ckpt", ".pth", ".safetensors")  # of which a folder may hold one, under any name
SHOWN = 5
TABLE = bytes.fromhex("57fb808b247547db")
STATE = re.compile(r'^model_checkpoint_path: *"(.+)"$', re.MULTILINE)


@dataclass(frozen=True)
class WeightSource:
    """Where first weights come from; `path` is None for random ones and ImageNet's."""

    path: Path | None
    digest: str
    is_tf_checkpoint: bool = False


def origin_of(init: Init, fetch: Callable[[str], Path]) -> WeightSource:
    """`fetch` gives the weights of an MLflow run as a file."""
    if init.weights in BUILT_IN:
        return WeightSource(None, init.weights)
    try:
        return _origin_of_file(init, fetch)
    except RuntimeError:  # it begins with ~ and the name of an unknown user
        raise _not_there(init) from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise _not_there(init) from None


def _origin_of_file(init: Init, fetch: Callable[[str], Path]) -> WeightSource:
    path = find_place(init.weights)
    if not path.exists() and RUN_ID.fullmatch(init.weights):
        path = fetch(init.weights)
    if path.is_dir():
        path = _in_folder(path)
    tables = [Path(init.names)] if init.names is not None else []
    if path.is_file() and path.suffix != ".index":
        _require_weights(path)
        state = TrainedState.at(path.with_name(RUN_STATE))  # of another run, if it stands beside
        require_whole(path, state.files.get(path.name))
        if _is_old_checkpoint(path):
            return WeightSource(path, _digest([path, *tables]), is_tf_checkpoint=True)
        if tables:
            raise ConfigError(
                f"train.init.names: must be null, for {init.weights} is no TF checkpoint, got {init.names!r}"
            )
        return WeightSource(path, _digest([path]))
    if parts := find_parts(path):
        prefix = path.with_suffix("") if path.suffix == ".index" else path
        if not any(part.name.startswith(f"{prefix.name}.data-") for part in parts):
            raise ConfigError(f"{KEY}: {prefix.as_posix()}.index has no {prefix.name}.data-… beside it; copy that, too")
        return WeightSource(prefix, _digest([*parts, *tables]), is_tf_checkpoint=True)
    raise _not_there(init)


def find_parts(path: Path) -> list[Path]:
    """Return the files of a TensorFlow checkpoint, by its prefix or its .index file; none if there is no such file."""
    prefix = path.with_suffix("") if path.suffix == ".index" else path
    if not prefix.with_name(f"{prefix.name}.index").is_file():
        return []
    return sorted(prefix.parent.glob(f"{glob.escape(prefix.name)}.*"))


def _is_old_checkpoint(path: Path) -> bool:
    """Whether it is one of TensorFlow's first kind, a single file: a table of LevelDB, by its last bytes."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) < len(TABLE):
            return False
        file.seek(-len(TABLE), os.SEEK_END)
        return file.read() == TABLE


def find_place(weights: str) -> Path:
    """Return the path that a text means; `zoo/<name>` is a folder or file of `data/weights/zoo`."""
    if weights.startswith(ZOO) and not Path(weights).exists():
        return WEIGHTS / weights
    return Path(weights).expanduser()


def _not_there(init: Init) -> ConfigError:
    if init.weights.startswith(ZOO):
        name = init.weights.removeprefix(ZOO)
        return ConfigError(
            f"{KEY}: {(WEIGHTS / init.weights).as_posix()} is not there; `bakeoff weights get {name}` brings it, or "
            "`init: {weights: none}` starts from random weights"
        )
    return ConfigError(
        f"{KEY}: must be none, imagenet, a file of Keras weights, the folder of another run, the id of an MLflow run, "
        "the prefix or the folder of a TensorFlow checkpoint, or zoo/<name> for one of data/weights/zoo, "
        f"got {show(init.weights)}, which is not there"
    )


def _require_weights(path: Path) -> None:
    """Refuse the files beside a checkpoint that hold its weights in a form that cannot be trained on."""
    if path.suffix == ".pb":
        raise ConfigError(
            f"{KEY}: must not be a frozen graph or SavedModel, got {path.as_posix()}; take {SAME_ARCHIVE}"
        )
    if ".data-" in path.name:
        prefix = path.as_posix().rpartition(".data-")[0]
        raise ConfigError(
            f"{KEY}: must be the checkpoint without the number of its part: {prefix}, got {path.as_posix()}"
        )
    if path.suffix in PACKED:
        raise ConfigError(f"{KEY}: must not be packed, got {path.as_posix()}; unpack it and name the folder")


def _in_folder(folder: Path) -> Path:
    """Of `models/train` of another clone or of a run's work in flight the best weights, else the newest checkpoint,
    else the only file of weights.
    """
    for name in (BEST, FINAL):
        if (folder / name).is_file():
            return folder / name
    files = sorted(folder.glob("*/best-*[0-9]"))
    if files:
        return files[-1]
    for place in (folder, folder / "checkpoint"):
        if place.is_dir() and (newest := _newest_checkpoint(place)):
            return newest
    single = sorted(path for path in folder.glob("*") if path.suffix in SINGLE and path.is_file())
    if len(single) == 1:
        return single[0]
    if single:
        names = format_names([path.name for path in single], SHOWN)
        raise ConfigError(
            f"{KEY}: {folder.as_posix()} must hold one file of weights, holds {names}; name the file itself"
        )
    if (folder / "saved_model.pb").is_file() or (folder / "saved_model").is_dir():
        raise ConfigError(
            f"{KEY}: {folder.as_posix()} holds a SavedModel, which cannot be trained on; take {SAME_ARCHIVE}"
        )
    raise ConfigError(
        f"{KEY}: {folder.as_posix()} holds no {BEST}, {FINAL}, work in flight, TensorFlow checkpoint (.index) or "
        f"{', '.join(SINGLE)}; name the file itself"
    )


def _newest_checkpoint(folder: Path) -> Path | None:
    """Return the checkpoint that TensorFlow's own note names, or the one with the highest number."""
    note = folder / "checkpoint"
    named = STATE.search(note.read_text(encoding="utf-8", errors="replace")) if note.is_file() else None
    if named:
        prefix = folder / Path(named[1]).name
        if prefix.with_name(f"{prefix.name}.index").is_file():
            return prefix
    files = [path.with_suffix("") for path in folder.glob("*.index")]
    return max(files, key=lambda path: (_number(path), path.name), default=None)


def _number(prefix: Path) -> int:
    number = re.search(r"(\d+)$", prefix.name)
    return int(number[1]) if number else -1


def _digest(paths: Iterable[Path]) -> str:
    content = hashlib.sha256()
    for path in paths:
        if not path.is_file():
            raise ConfigError(f"train.init: {path.as_posix()} is no file")
        content.update(bytes.fromhex(hash_file(path)))
    return content.hexdigest()
