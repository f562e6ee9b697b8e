"""Which model `--model`, `--run` or neither means: a file, or weights with what builds their network anew."""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.config.compose.whole_run import Run, load
from bakeoff.config.track_settings import Mlflow
from bakeoff.export.settings import MAIN, ONNX_FILE, SAVED_MODEL
from bakeoff.foundation import git, workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.learning.checkpoints.trained_state import STATE as STATE_FILE
from bakeoff.learning.checkpoints.trained_state import TrainedLineage, TrainedState
from bakeoff.learning.networks.network import Network
from bakeoff.tracking.find_run import target_here
from bakeoff.tracking.resolve_name import find_tracked
from bakeoff.tracking.results.cached_outputs import find_cached
from bakeoff.tracking.results.results import result_here
from bakeoff.tracking.results.run_id import Names
from bakeoff.tracking.store import fetch_artifacts
from bakeoff.tracking.store.target import Target

SAVED = "saved_model.pb"
EXPORTED = (SAVED_MODEL, MAIN, ONNX_FILE)  # which of them is opened, if there are several
WEIGHTS, LABELS, LOCK = "best.weights.h5", "labels.txt", "dvc.lock"
WEIGHTS_SUFFIX = ".weights.h5"
STATE = "train/state.json"  # among a run's artifacts


@dataclass(frozen=True)
class Trained:
    """Weights that train left, of this workspace or of another run."""

    model: Network
    weights: Path
    labels: tuple[str, ...]
    multi_label: bool
    run: Run | None = None  # the whole variant, where it is known
    digest: str | None = None  # the SHA-256 of the file of weights, where it is known
    lineage: TrainedLineage = field(default_factory=TrainedLineage)


def chosen(model: Path | None, run: str | None) -> tuple[Path | Trained, str]:
    """Return what to open, and what to call it. The workspace's own: what it exported, else what it trained."""
    if model and run:
        raise WorkspaceError("predict: must be given either --model or --run, got both")
    if run:
        return find_run_or_own(run)
    if model:
        return find_model(model), str(model)
    exported = workspace.EXPORTED
    for path in (exported / name for name in EXPORTED):
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
        if inner := next((path / name for name in EXPORTED if (path / name).exists()), None):
            return inner
        if (path / WEIGHTS).is_file():
            return _of_workspace(_workspace_of(path), path / WEIGHTS)
        wanted = "a SavedModel, or a folder like models/export or models/train"
        raise DataError(f"{path}: holds no model; it must be {wanted}")
    if not path.is_file():
        raise DataError(f"{path}: no such file or folder")
    if path.name.endswith(WEIGHTS_SUFFIX):
        return _of_workspace(_workspace_of(path.parent), path)
    return path  # a .onnx, or else a .tflite, whatever it is called: its first bytes tell


def find_run(name: str) -> tuple[Trained, str]:
    """Find a run by any of its names; return it, and what lists call it."""
    folder = Path(name)
    if folder.is_dir():
        inner = next((one for one in (folder, *folder.absolute().parents[:2]) if (one / workspace.RUN).is_file()), None)
        if inner is None:
            raise WorkspaceError(f"{name}: is no workspace, it has no {workspace.RUN.as_posix()}")
        return _of_workspace(inner), name
    target = target_here()
    run = find_tracked(name, target, " or a workspace's folder")
    return fetch_run(run, target, name), run.label


def fetch_run(run: Names, target: Target, asked: str = "") -> Trained:
    """Take a run's weights from where they are: the workspace, DVC's cache, MLflow."""
    if run.run_id and result_here().run_id == run.run_id:
        return _of_workspace(Path())
    trouble: WorkspaceError | None = None
    for revision in filter(None, dict.fromkeys([run.revision, run.experiment, asked])):
        try:
            if trained := trained_at(revision):
                return trained
        except WorkspaceError as error:  # MLflow may have what DVC's cache lacks
            trouble = error
    if trouble and not run.mlflow_id:
        raise trouble
    return trained_in_mlflow(run, target)


def trained_at(revision: str) -> Trained | None:
    """Return what a git revision or a DVC experiment holds, with weights from DVC's cache."""
    lock, run_yaml = git.file_at(revision, LOCK), git.file_at(revision, workspace.RUN.as_posix())
    if not lock or not run_yaml:
        return None
    weights = _find_cached(revision, "train", workspace.TRAINED / WEIGHTS)
    labels = _find_cached(revision, "build_records", workspace.RECORDS / LABELS)
    state = TrainedState.at(_find_cached(revision, "train", workspace.TRAINED / STATE_FILE))
    return build_trained(revision, run_yaml, weights, labels.read_text("utf-8"), state, WEIGHTS)


def trained_in_mlflow(run: Names, target: Target) -> Trained:
    if not run.mlflow_id:
        raise WorkspaceError(
            f"{run.label}: its weights are neither here nor in DVC's cache nor in MLflow; "
            "`dvc exp apply` or `dvc checkout` brings back what DVC has"
        )
    run_yaml = fetch_artifacts.fetch_file(target.address, run.mlflow_id, fetch_artifacts.CONFIG)
    if run_yaml is None:
        raise WorkspaceError(f"{run.label}: MLflow has no {fetch_artifacts.CONFIG} of it, so its network is not known")
    state = state_in_mlflow(run, target)  # before the weights, which it has the digest of
    try:
        weights = fetch_artifacts.fetch_best(run.mlflow_id, Mlflow(target.experiment, target.address))
    except WorkspaceError as error:
        raise WorkspaceError(f"{run.label}: {error}") from None
    text = run_yaml.read_text(encoding="utf-8")
    return build_trained(run.label, text, weights, labels_of(state), state, WEIGHTS)


def find_run_or_own(name: str | None) -> tuple[Trained, str]:
    """Find a run by any name, or without one what this workspace trained; and what to call it."""
    if name is not None:
        trained, label = find_run(name)
        return trained, f"run {label}"
    if not (workspace.TRAINED / WEIGHTS).is_file():
        raise nothing_trained(workspace.TRAINED)
    return find_run(".")[0], "this workspace's run"


def nothing_trained(folder: Path) -> WorkspaceError:
    """Return the error for a folder such as models/train without weights."""
    return WorkspaceError(f"{folder.as_posix()}: nothing has been trained here; run `dvc repro`, or name a run")


def state_in_mlflow(run: Names, target: Target) -> TrainedState:
    """Return how a run ended; an unknown end if the store does not give it."""
    place = fetch_artifacts.fetch_file(target.address, run.mlflow_id, STATE) if run.mlflow_id else None
    return TrainedState.at(place) if place else TrainedState()


def labels_of(state: TrainedState) -> str:
    """Return the labels that a run was trained with, one a line."""
    if not state.classes:
        raise DataError(f"{STATE}: names no classes, so nobody knows what the answers mean; train the run again")
    return "".join(f"{label}\n" for label in state.classes)


def _workspace_of(folder: Path) -> Path:
    """Return that of a folder such as models/train."""
    return folder.resolve().parents[1]


def _of_workspace(folder: Path, weights: Path | None = None) -> Trained:
    """`weights` are best.weights.h5 by default."""
    labels = [folder / workspace.RECORDS / LABELS, folder / workspace.EXPORTED / LABELS]
    labels_file = next((path for path in labels if path.is_file()), None)
    if labels_file is None:
        raise WorkspaceError(f"{labels[0]}: missing, so its answers have no names; run `dvc repro build_records`")
    run = folder / workspace.RUN
    if not run.is_file():
        raise WorkspaceError(f"{run}: missing, so nothing is known of the network; run `dvc repro`")
    texts = run.read_text(encoding="utf-8"), labels_file.read_text("utf-8")
    weights = weights or folder / workspace.TRAINED / WEIGHTS
    state = TrainedState.at(weights.with_name(STATE_FILE))
    return build_trained(str(folder), texts[0], weights, texts[1], state, weights.name)


def build_trained(name: str, run_yaml: str, weights: Path, labels: str, state: TrainedState, called: str) -> Trained:
    """Put together what is known of a run; `labels` has one a line, `called` is what its state calls the weights."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.yaml"
        path.write_text(run_yaml, encoding="utf-8")
        run = load(path)
    classes = tuple(labels.splitlines())
    if len(classes) != run.derived.num_classes:
        raise DataError(f"{name}: its network answers {run.derived.num_classes} classes, {LABELS} has {len(classes)}")
    if not weights.is_file():
        raise WorkspaceError(f"{weights}: missing; run `dvc repro train`")
    digest = state.files.get(called)
    return Trained(run.model, weights, classes, run.derived.multi_label, run, digest, state.lineage)


def _find_cached(name: str, stage: str, file: Path) -> Path:
    """Return a file of a stage's output in DVC's cache."""
    cached = find_cached(name, stage, file.parent)
    if not cached.is_known:
        folder = file.parent.as_posix()
        raise WorkspaceError(f"{name}: its {LOCK} knows no {folder}, so it was never trained to the end")
    if file.name not in cached.files:
        raise WorkspaceError(f"{name}: {file.as_posix()} is not in DVC's cache; `dvc fetch` may bring it from a remote")
    return cached.compared(file.name)[file.name]
