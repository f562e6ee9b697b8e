"""`train.init.weights`, a text, -> the files that it means, and a digest of what they hold."""

import errno
import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import ConfigError, show
from bakeoff.training.settings import Init

BEST, FINAL = "best.weights.h5", "final.weights.h5"
RUN_ID = re.compile(r"[0-9a-f]{32}")
KEY = "train.init.weights"


@dataclass(frozen=True)
class Origin:
    """Where first weights come from; `path` is None for random ones and ImageNet's."""

    path: Path | None
    digest: str
    is_tf_checkpoint: bool = False


def origin_of(init: Init, fetch: Callable[[str], Path]) -> Origin:
    """`fetch` gives the weights of an MLflow run as a file."""
    if init.weights in ("none", "imagenet"):
        return Origin(None, init.weights)
    try:
        return _origin_of_file(init, fetch)
    except RuntimeError:  # it begins with ~ and the name of nobody
        raise _not_there(init) from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise _not_there(init) from None


def _origin_of_file(init: Init, fetch: Callable[[str], Path]) -> Origin:
    path = Path(init.weights).expanduser()
    if not path.exists() and RUN_ID.fullmatch(init.weights):
        path = fetch(init.weights)
    if path.is_dir():
        path = _in_folder(path)
    if path.is_file() and path.suffix != ".index":
        require_no_table(init)
        return Origin(path, _digest([path]))
    prefix = path.with_suffix("") if path.suffix == ".index" else path
    if prefix.with_name(f"{prefix.name}.index").is_file():
        if init.names is None:
            raise ConfigError(f"train.init.names: must be a table of names, for {prefix.as_posix()} is a TF checkpoint")
        parts = sorted(prefix.parent.glob(f"{_literal(prefix.name)}.*"))
        return Origin(prefix, _digest([*parts, Path(init.names)]), is_tf_checkpoint=True)
    raise _not_there(init)


def _not_there(init: Init) -> ConfigError:
    return ConfigError(
        f"{KEY}: must be none, imagenet, a file of Keras weights, the folder of another run, the id of an MLflow run "
        f"or the prefix of a TensorFlow checkpoint, got {show(init.weights)}, which is not there"
    )


def require_no_table(init: Init) -> None:
    if init.names is not None:
        raise ConfigError(f"train.init.names: must be null, for {init.weights} is no TF checkpoint, got {init.names!r}")


def _in_folder(folder: Path) -> Path:
    """Of `models/train` of another clone, or of a run's work in flight, the best weights."""
    for name in (BEST, FINAL):
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.glob("*/best-*"))
    if found:
        return found[-1]
    raise ConfigError(f"{KEY}: {folder.as_posix()} holds no {BEST}, {FINAL} or work in flight; name the file itself")


def _digest(paths: Iterable[Path]) -> str:
    content = hashlib.sha256()
    for path in paths:
        if not path.is_file():
            raise ConfigError(f"train.init: {path.as_posix()} is no file")
        with path.open("rb") as file:
            content.update(hashlib.file_digest(file, "sha256").digest())
    return content.hexdigest()


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
