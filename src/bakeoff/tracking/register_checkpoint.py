"""A checkpoint of a run in a store -> the next version of a registered model, which MLflow loads and serves."""

from typing import TYPE_CHECKING

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import format_names
from bakeoff.tracking.fetch_checkpoints import StoredWork
from bakeoff.tracking.journal.checkpoint_contents import ARCHIVE
from bakeoff.tracking.journal.checkpoint_copies import NAME

if TYPE_CHECKING:
    from mlflow.entities import LoggedModel

SHOWN = 8
MLMODEL = "MLmodel"


def register_checkpoint(work: StoredWork, name: str, step: int | None = None) -> tuple[str, str]:
    """Register the checkpoint of a step, or the best weights. Return what it is called in MLflow, and its version."""
    from bakeoff.tracking.store.mlflow_client import connect, explain

    model = _choose(work, step)
    client = connect(work.target.address)
    from bakeoff.tracking.sync.register_model import register

    try:
        digest = _require_whole(work, model)
        return str(model.name), register(client, model, name, digest)
    except WorkspaceError:
        raise
    except Exception as error:  # whatever a store raises
        raise WorkspaceError(f"run {work.short}: MLflow ({work.target.shown}) says: {explain(error)}") from None


def _choose(work: StoredWork, step: int | None) -> "LoggedModel":
    """Return the checkpoint of a step, the best weights before others; without a step the newest of them."""
    known = {}
    for name, model in work.models.items():
        if match := NAME.fullmatch(name):
            known[int(match["phase"]), int(match["step"]), match["best"] is not None] = model
    bests = [at for at in known if at[2]]
    if step is None:
        return known[max(bests or known)]
    if at_step := [at for at in known if at[1] == step]:
        return known[max(at_step)]
    steps = [f"{at:,}" for at in sorted({at[1] for at in known})]
    raise WorkspaceError(
        f"--step: run {work.short} has no checkpoint of step {step:,} in MLflow; of these it has: "
        f"{format_names(steps, SHOWN)}"
    )


def _require_whole(work: StoredWork, model: "LoggedModel") -> str:
    """Return the digest of a checkpoint's files, which the store has."""
    from bakeoff.tracking.store.mlflow_client import REFERENCE, connect
    from bakeoff.tracking.sync.send_checkpoints import CONTENTS_TAG, NOT_OPENED
    from bakeoff.tracking.sync.stored_copies import list_all_sizes

    if REFERENCE in model.tags:
        raise WorkspaceError(f"{model.name} of run {work.short}: it is {model.tags[REFERENCE]}")
    if CONTENTS_TAG not in model.tags:
        reason = model.tags.get(NOT_OPENED, "it was sent by an earlier version")
        remedy = "`bakeoff continue` resumes from it; track.register registers what export makes"
        raise WorkspaceError(f"{model.name} of run {work.short}: MLflow cannot open it ({reason}); {remedy}")
    has = list_all_sizes(connect(work.target.address), model.artifact_location)
    if lacks := [name for name in (MLMODEL, ARCHIVE) if name not in has]:
        raise WorkspaceError(
            f"{model.name} of run {work.short}: the store has lost {', '.join(lacks)}; `bakeoff track sync` where it "
            "was trained sends it again"
        )
    return model.tags[CONTENTS_TAG]
