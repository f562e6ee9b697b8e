"""Which model `--model`, `--run` or neither means."""

from pathlib import Path

from bakeoff import workspace
from bakeoff.errors import DataError, WorkspaceError
from bakeoff.predict import trained
from bakeoff.predict.trained import Trained
from bakeoff.run.options import MAIN, SAVED_MODEL

SAVED = "saved_model.pb"


def chosen(model: Path | None, run: str | None) -> tuple[Path | Trained, str]:
    """What to open, and what to call it. The workspace's own: what it exported, else what it trained."""
    if model and run:
        raise WorkspaceError("predict: must be told either --model or --run, got both")
    if run:
        return trained.named(run), f"run {run}"
    if model:
        return of_path(model), str(model)
    exported = workspace.EXPORTED
    for path in (exported / SAVED_MODEL, exported / MAIN):
        if path.exists():
            return path, path.as_posix()
    if (workspace.TRAINED / trained.WEIGHTS).is_file():
        return trained.of_workspace(Path(".")), workspace.TRAINED.as_posix()
    raise WorkspaceError("predict: nothing has been trained here; run `dvc repro`, or say --model or --run")


def of_path(path: Path) -> Path | Trained:
    if path.is_dir():
        if (path / SAVED).is_file():
            return path
        inner = next((path / name for name in (SAVED_MODEL, MAIN) if (path / name).exists()), None)
        if inner:
            return inner
        if (path / trained.WEIGHTS).is_file():
            return trained.of_workspace(_workspace_of(path), path / trained.WEIGHTS)
        raise DataError(
            f"{path}: holds no model; it must be a SavedModel, or a folder like models/export or models/train"
        )
    if not path.is_file():
        raise DataError(f"{path}: no such file or folder")
    if path.name.endswith(trained.WEIGHTS_SUFFIX):
        return trained.of_workspace(_workspace_of(path.parent), path)
    return path  # a .tflite, whatever it is called: its first bytes tell


def _workspace_of(folder: Path) -> Path:
    """Of a folder such as models/train."""
    return folder.resolve().parents[1]
