"""The workspace, or a revision with DVC's cache -> everything that a card tells of a run, and its exported files."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.dataset.records.manifest import FILE as MANIFEST
from bakeoff.dataset.records.manifest import Manifest, read_manifest
from bakeoff.export.settings import DIGESTS, REPORT
from bakeoff.foundation import git
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.files import read_json, read_text, require_whole
from bakeoff.foundation.formatting import as_number
from bakeoff.foundation.workspace import EVALUATION, EXPORTED, RECORDS
from bakeoff.tracking.find_run import find_run
from bakeoff.tracking.results.cached_outputs import find_cached
from bakeoff.tracking.results.results import Result, result_here, result_of
from bakeoff.tracking.sync.system_metrics import ENERGY, energy_tag

SLICES, DATA_REPORT = "slices.json", "report.json"


@dataclass(frozen=True)
class RunFacts:
    result: Result
    commit: str | None
    manifest: Manifest
    data_report: Mapping[str, Any]
    slices: Mapping[str, Any]
    export: Mapping[str, Any]
    files: Mapping[str, Path]  # what was exported, by its names
    energy: Mapping[str, float]  # of the training in joules, by system_metrics.ENERGY, where it was counted

    @property
    def task(self) -> str:
        return self.manifest.task

    @property
    def model(self) -> Mapping[str, Any]:
        return self.result.variant.get("model") or {}


def read_facts(revision: str | None) -> RunFacts:
    """Read those of a revision or a DVC experiment, by default of the workspace. Raises what names what is missing."""
    where = revision or "this workspace"
    if revision is not None and git.commit(revision) is None and git.commit_of(revision) is None:
        remedy = "`git fetch --unshallow` brings the rest" if git.is_shallow() else "`git log --all` lists commits"
        raise WorkspaceError(f"{revision}: is no revision of git in this clone; {remedy}")
    result = result_of(revision) if revision else result_here()
    if not result.metrics:
        raise DataError(f"{where}: has no evaluation of its last training; run `dvc repro evaluate` there")
    records = _find_files(revision, "build_records", RECORDS)
    evaluation = _find_files(revision, "evaluate", EVALUATION / SLICES, is_file=True)
    files = _find_files(revision, "export", EXPORTED)
    for stage, found, name in (("build_records", records, MANIFEST), ("export", files, REPORT)):
        if name not in found:
            raise DataError(f"{where}: its {name} is not here; run `dvc repro {stage}`, or `dvc pull {stage}`")
    manifest = _read_manifest(records[MANIFEST])
    export = read_json(files[REPORT])
    for name, digest in (export.get(DIGESTS) or {}).items():
        if name not in files:
            raise DataError(f"{where}: {name}: missing, though {REPORT} names it; run `dvc repro export`")
        require_whole(files[name], digest, "export")
    return RunFacts(
        result,
        _find_commit(revision),
        manifest,
        _read(records.get(DATA_REPORT)),
        _read(evaluation.get(SLICES)),
        export,
        files,
        _find_energy(result.run_id),
    )


def _find_energy(run_id: str | None) -> dict[str, float]:
    try:
        run = find_run(run_id) if run_id else None
    except WorkspaceError:  # the store that may know it does not answer
        return {}
    tags = run.tags if run else {}
    return {name: joules for name in ENERGY if (joules := as_number(tags.get(energy_tag(name))) or 0) > 0}


def _find_commit(revision: str | None) -> str | None:
    """Return the commit that holds the run; none where the workspace differs from its last commit."""
    if revision is not None:
        return git.commit(revision) or git.commit_of(revision)
    lock = git.file_at("HEAD", "dvc.lock")
    is_committed = lock is not None and lock.strip() == (read_text(Path("dvc.lock")) or "").strip()
    return git.commit() if is_committed and not git.has_uncommitted_changes() else None


def _find_files(revision: str | None, stage: str, output: Path, *, is_file: bool = False) -> dict[str, Path]:
    """Return the files of a stage's output by their names in it; nothing of one that is not here."""
    if revision is None:
        paths: Sequence[Path] = [output] if is_file else sorted(output.rglob("*"))
        base = output.parent if is_file else output
        return {path.relative_to(base).as_posix(): path for path in paths if path.is_file()}
    return dict(find_cached(revision, stage, output).files)


def _read_manifest(path: Path) -> Manifest:
    """Read it, though DVC's cache calls it otherwise."""
    with TemporaryDirectory() as folder:
        shutil.copyfile(path, Path(folder) / MANIFEST)
        return read_manifest(Path(folder))


def _read(path: Path | None) -> dict[str, Any]:
    return read_json(path) if path else {}
