"""Which model `--model`, `--run` or neither means: a file, or weights with what builds their network anew."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from bakeoff import dvc, workspace
from bakeoff.errors import DataError, WorkspaceError
from bakeoff.networks.network import Network
from bakeoff.run.file import load
from bakeoff.run.options import MAIN, SAVED_MODEL
from bakeoff.run.settings import Run
from bakeoff.tracking import artifacts, git

SAVED = "saved_model.pb"
WEIGHTS, LABELS, LOCK = "best.weights.h5", "labels.txt", "dvc.lock"
WEIGHTS_SUFFIX = ".weights.h5"
KINDS = "the folder of a workspace, a DVC experiment (`dvc exp list`), a git revision, or the id of an MLflow run"


@dataclass(frozen=True)
class Trained:
    """Weights that train left, of this workspace or of another run."""

    model: Network
    weights: Path
    labels: tuple[str, ...]
    multi_label: bool
    run: Run | None = None  # the whole variant, where it is known


def chosen(model: Path | None, run: str | None) -> tuple[Path | Trained, str]:
    """Return what to open, and what to call it. The workspace's own: what it exported, else what it trained."""
    if model and run:
        raise WorkspaceError("predict: must be told either --model or --run, got both")
    if run:
        return find_run(run), f"run {run}"
    if model:
        return find_model(model), str(model)
    exported = workspace.EXPORTED
    for path in (exported / SAVED_MODEL, exported / MAIN):
        if path.exists():
            return path, path.as_posix()
    if (workspace.TRAINED / WEIGHTS).is_file():
        return _of_workspace(Path(".")), workspace.TRAINED.as_posix()
    raise WorkspaceError("predict: nothing has been trained here; run `dvc repro`, or say --model or --run")


def find_model(path: Path) -> Path | Trained:
    """Find what a file or a folder holds."""
    if path.is_dir():
        if (path / SAVED).is_file():
            return path
        if inner := next((path / name for name in (SAVED_MODEL, MAIN) if (path / name).exists()), None):
            return inner
        if (path / WEIGHTS).is_file():
            return _of_workspace(_workspace_of(path), path / WEIGHTS)
        wanted = "a SavedModel, or a folder like models/export or models/train"
        raise DataError(f"{path}: holds no model; it must be {wanted}")
    if not path.is_file():
        raise DataError(f"{path}: no such file or folder")
    if path.name.endswith(WEIGHTS_SUFFIX):
        return _of_workspace(_workspace_of(path.parent), path)
    return path  # a .tflite, whatever it is called: its first bytes tell


def find_run(name: str) -> Trained:
    """Find a run by any of its names."""
    folder = Path(name)
    if folder.is_dir():
        inner = next((one for one in (folder, *folder.absolute().parents[:2]) if (one / workspace.RUN).is_file()), None)
        if inner is None:
            raise WorkspaceError(f"{name}: is no workspace, it has no {workspace.RUN.as_posix()}")
        return _of_workspace(inner)
    lock, run = git.file_at(name, LOCK), git.file_at(name, workspace.RUN.as_posix())
    if lock and run:
        return build_trained(name, run, *_of_lock(name, lock))
    if len(name) == 32 and (run := artifacts.fetch_run_yaml(name)):
        labels = artifacts.fetch(name, f"export/{LABELS}").read_text("utf-8")
        return build_trained(name, run, artifacts.fetch_best(name), labels)
    raise WorkspaceError(f"{name}: no run is known by this name; it can be {KINDS}")


def _workspace_of(folder: Path) -> Path:
    """Return that of a folder such as models/train."""
    return folder.resolve().parents[1]


def _of_workspace(folder: Path, weights: Path | None = None) -> Trained:
    """`weights` are best.weights.h5 unless told otherwise."""
    labels = [folder / workspace.RECORDS / LABELS, folder / workspace.EXPORTED / LABELS]
    found = next((path for path in labels if path.is_file()), None)
    if found is None:
        raise WorkspaceError(f"{labels[0]}: missing, so its answers have no names; run `dvc repro build_records`")
    run = folder / workspace.RUN
    if not run.is_file():
        raise WorkspaceError(f"{run}: missing, so nothing is known of the network; run `dvc repro`")
    texts = run.read_text(encoding="utf-8"), found.read_text("utf-8")
    return build_trained(str(folder), texts[0], weights or folder / workspace.TRAINED / WEIGHTS, texts[1])


def build_trained(name: str, run_yaml: str, weights: Path, labels: str) -> Trained:
    """Put together what is known of a run; `labels` has one a line."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.yaml"
        path.write_text(run_yaml, encoding="utf-8")
        run = load(path)
    classes = tuple(labels.splitlines())
    if len(classes) != run.derived.num_classes:
        raise DataError(f"{name}: its network answers {run.derived.num_classes} classes, {LABELS} has {len(classes)}")
    if not weights.is_file():
        raise WorkspaceError(f"{weights}: missing; run `dvc repro train`")
    return Trained(run.model, weights, classes, run.derived.multi_label, run)


def _of_lock(name: str, lock: str) -> tuple[Path, str]:
    """Return weights and labels, from DVC's cache."""
    stages = yaml.safe_load(lock).get("stages", {})
    folders = {out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs", ())}
    weights = _find_cached(name, folders, workspace.TRAINED, WEIGHTS)
    return weights, _find_cached(name, folders, workspace.RECORDS, LABELS).read_text("utf-8")


def _find_cached(name: str, folders: dict[str, str], folder: Path, file: str) -> Path:
    digest = folders.get(folder.as_posix())
    if digest is None:
        raise WorkspaceError(f"{name}: its {LOCK} knows no {folder.as_posix()}, so it was never trained to the end")
    entry = (dvc.cached_folder(digest) or {}).get(file)
    path = dvc.cached_file(entry) if entry else None
    if path is None:
        place = (folder / file).as_posix()
        raise WorkspaceError(f"{name}: {place} is not in DVC's cache; `dvc fetch` may bring it from a remote")
    return path
