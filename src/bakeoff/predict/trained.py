"""Weights that train left, with what is needed to build their network anew: of this workspace or of another run."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from bakeoff import dvc, workspace
from bakeoff.errors import DataError, WorkspaceError
from bakeoff.networks import Network
from bakeoff.run.file import load
from bakeoff.tracking import artifacts, git, stored

WEIGHTS, LABELS, LOCK = "best.weights.h5", "labels.txt", "dvc.lock"
WEIGHTS_SUFFIX = ".weights.h5"
KINDS = "the folder of a workspace, a DVC experiment (`dvc exp list`), a git revision, or the id of an MLflow run"


@dataclass(frozen=True)
class Trained:
    model: Network
    weights: Path
    labels: tuple[str, ...]
    multi_label: bool


def of_workspace(folder: Path, weights: Path | None = None) -> Trained:
    """`weights` are best.weights.h5 unless told otherwise."""
    labels = [folder / workspace.RECORDS / LABELS, folder / workspace.EXPORTED / LABELS]
    found = next((path for path in labels if path.is_file()), None)
    if found is None:
        raise WorkspaceError(f"{labels[0]}: missing, so its answers have no names; run `dvc repro build_records`")
    run = (folder / workspace.RUN).read_text(encoding="utf-8") if (folder / workspace.RUN).is_file() else None
    if run is None:
        raise WorkspaceError(f"{folder / workspace.RUN}: missing, so nothing is known of the network; run `dvc repro`")
    return _trained(str(folder), run, weights or folder / workspace.TRAINED / WEIGHTS, found.read_text("utf-8"))


def named(name: str) -> Trained:
    """A run by any of its names."""
    folder = Path(name)
    if folder.is_dir():
        inner = next((one for one in (folder, *folder.absolute().parents[:2]) if (one / workspace.RUN).is_file()), None)
        if inner is None:
            raise WorkspaceError(f"{name}: is no workspace, it has no {workspace.RUN.as_posix()}")
        return of_workspace(inner)
    lock, run = git.file_at(name, LOCK), git.file_at(name, workspace.RUN.as_posix())
    if lock and run:
        return _trained(name, run, *_of_lock(name, lock))
    if len(name) == 32 and (run := stored.run_yaml(name)):
        labels = artifacts.fetch(name, f"export/{LABELS}").read_text("utf-8")
        return _trained(name, run, artifacts.fetch_best(name), labels)
    raise WorkspaceError(f"{name}: no run is known by this name; it can be {KINDS}")


def _trained(name: str, run_yaml: str, weights: Path, labels: str) -> Trained:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.yaml"
        path.write_text(run_yaml, encoding="utf-8")
        run = load(path)
    classes = tuple(labels.splitlines())
    if len(classes) != run.derived.num_classes:
        raise DataError(f"{name}: its network answers {run.derived.num_classes} classes, {LABELS} has {len(classes)}")
    if not weights.is_file():
        raise WorkspaceError(f"{weights}: missing; run `dvc repro train`")
    return Trained(run.model, weights, classes, run.derived.multi_label)


def _of_lock(name: str, lock: str) -> tuple[Path, str]:
    """Weights and labels, from DVC's cache."""
    stages = yaml.safe_load(lock).get("stages", {})
    folders = {out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs", ())}
    weights = _cached(name, folders, workspace.TRAINED, WEIGHTS)
    return weights, _cached(name, folders, workspace.RECORDS, LABELS).read_text("utf-8")


def _cached(name: str, folders: dict[str, str], folder: Path, file: str) -> Path:
    lacking = f"{name}: {(folder / file).as_posix()} is not in DVC's cache; `dvc fetch` may bring it from a remote"
    digest = folders.get(folder.as_posix())
    if digest is None:
        raise WorkspaceError(f"{name}: its {LOCK} knows no {folder.as_posix()}, so it was never trained to the end")
    entry = (dvc.cached_folder(digest) or {}).get(file)
    path = dvc.cached_file(entry) if entry else None
    if path is None:
        raise WorkspaceError(lacking)
    return path
