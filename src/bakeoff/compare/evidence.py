"""Where the examples of a run's evaluation are: handed over and kept, in MLflow's artifacts, here, in DVC's cache."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

from bakeoff import dvc
from bakeoff.compare.contender import Contender
from bakeoff.errors import WorkspaceError
from bakeoff.tracking import git, stored_run
from bakeoff.tracking.artifacts import fetch_file
from bakeoff.tracking.journal_files import kept_file
from bakeoff.tracking.result import result_here
from bakeoff.workspace import EVALUATION

FILE = "examples.parquet"
NAME = f"evaluation/{FILE}"  # among a run's artifacts


def examples_of(contender: Contender, address: str) -> Path:
    """`address` is the store's. Raises WorkspaceError if the file is nowhere."""
    for place in (_kept, _in_own_artifacts, _here, _in_cache):
        found = place(contender)
        if found is not None:
            return found
    if contender.mlflow_id and urlsplit(contender.artifacts or "").scheme not in ("", "file"):
        fetched = fetch_file(address, contender.mlflow_id, NAME)
        if fetched is not None:
            return fetched
    raise WorkspaceError(
        f"{contender.label}: has no {NAME}, neither here nor in MLflow nor in DVC's cache, so its examples cannot be "
        "drawn again; it was not evaluated, or its files were deleted: `dvc repro evaluate` on it writes them"
    )


def _kept(contender: Contender) -> Path | None:
    entry = stored_run.kept_entry(contender.journal, NAME) if contender.journal else None
    return kept_file(entry, contender.journal / "files") if entry and contender.journal else None


def _in_own_artifacts(contender: Contender) -> Path | None:
    place = urlsplit(contender.artifacts or "")
    file = Path(unquote(place.path)) / NAME
    return file if place.scheme in ("", "file") and place.path and file.is_file() else None


def _here(contender: Contender) -> Path | None:
    """If the workspace's own evaluation is of this run."""
    root = contender.files or Path()
    result = result_here(root)
    file = root / EVALUATION / FILE
    return file if result.metrics and result.run_id == contender.run_id and file.is_file() else None


def _in_cache(contender: Contender) -> Path | None:
    """Of a DVC experiment or a revision, by the digest in its dvc.lock."""
    revision = contender.revision or contender.experiment
    lock = git.file_at(revision, "dvc.lock") if revision else None
    try:
        outs = yaml.safe_load(lock or "")["stages"]["evaluate"]["outs"]
        [digest] = [out["md5"] for out in outs if out["path"] == (EVALUATION / FILE).as_posix()]
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return None
    return dvc.cached_file(digest)
