"""Where things are. Paths are relative to the workspace, which is the folder a stage runs in.

DVC runs an experiment in a temporary workspace; what must outlive it lives in the main one.
"""

import os
import shutil
from pathlib import Path

from bakeoff.errors import WorkspaceError

PARAMS = Path("params.yaml")
CONF = Path("conf")
RECORDS = Path("data/records")
RUN = Path("models/config/run.yaml")
TRAINED = Path("models/train")
EVALUATION = Path("models/evaluation")
EXPORTED = Path("models/export")

IN_FLIGHT = ".bakeoff"


def main_workspace() -> Path:
    """The user's own clone, also when DVC runs this process in a temporary copy of it."""
    return Path(os.environ.get("DVC_ROOT") or Path.cwd()).resolve()


def enter() -> None:
    """Make the workspace that holds this folder the current one, as git and DVC do."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "dvc.yaml").is_file() and (folder / CONF).is_dir():
            os.chdir(folder)
            return
    raise WorkspaceError(
        f"{here}: not in a bakeoff workspace (no dvc.yaml and conf/ here or above); cd into your clone"
    )


def require_own_code() -> None:
    """A stage must run the code of the workspace it stands in, or its result would be filed under the wrong code."""
    own, used = Path("src/bakeoff").resolve(), Path(__file__).resolve().parent
    if own.is_dir() and used != own:
        raise WorkspaceError(f"{used}: this code is not the workspace's own, {own}; run `python -m` from the workspace")


def replace_folder(partial: Path, final: Path) -> None:
    """Put a finished folder in place of an old one; a kill in between leaves the old one beside, never a mixture."""
    old = final.with_name(final.name + ".old")
    remove_folder(old)
    if final.exists():
        final.replace(old)
    partial.replace(final)
    remove_folder(old)


def fresh_folder(path: Path) -> Path:
    """An empty folder to build an output in, beside where it will go."""
    partial = path.with_name(path.name + ".partial")
    remove_folder(partial)
    partial.mkdir(parents=True)
    return partial


def remove_folder(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)
