"""Files that a variant names must lie where DVC looks: elsewhere an edit of one would go unnoticed."""

import os
from pathlib import Path

from bakeoff.run.parse import Problems
from bakeoff.training.origin import RUN_ID
from bakeoff.training.settings import Init
from bakeoff.workspace import RAW, WEIGHTS

NO_FILE = ("none", "imagenet")


def check_data_path(path: str, problems: Problems) -> None:
    """Note a folder of data in which DVC would see no edit."""
    _require_in(RAW, Path(path), "data.path", "a folder", problems)


def check_first_weights(init: Init, problems: Problems) -> None:
    """Note files of first weights of which DVC would see no edit; runs and ImageNet's are known by what they hold."""
    path = Path(init.weights).expanduser()
    is_run = RUN_ID.fullmatch(init.weights) and not path.exists()
    if init.weights not in NO_FILE and not is_run:
        _require_in(WEIGHTS, path, "train.init.weights", "a file or folder", problems)
    if init.names is not None:
        _require_in(WEIGHTS, Path(init.names).expanduser(), "train.init.names", "a file", problems)


def _require_in(watched: Path, path: Path, key: str, kind: str, problems: Problems) -> None:
    if path.resolve().is_relative_to(watched.resolve()):
        return
    rule = f"must be {kind} in {watched.as_posix()}/, where DVC sees every edit, got {path.as_posix()!r}"
    if Path(os.path.abspath(path)).is_relative_to(Path.cwd() / watched):
        target = path.resolve().as_posix()
        problems.add(key, f"{rule}, a link to {target}; `rm {path.as_posix()} && cp -r {target} {path.as_posix()}`")
    else:
        problems.add(key, f"{rule}; `cp -r {path.as_posix()} {watched.as_posix()}/` and name it there")
