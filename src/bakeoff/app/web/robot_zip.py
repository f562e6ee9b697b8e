"""A run -> a zip to carry to a robot: model.tflite, SavedModel, labels, the report, and a README on how to use it."""

import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bakeoff.app.web.safe_paths import own_folder
from bakeoff.experiments.runs.cleanup import named_by
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.export.settings import require_exported
from bakeoff.foundation import dvc, git, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_json, read_text, require_whole
from bakeoff.foundation.html import template
from bakeoff.tracking.results.results import output_digest, parse_yaml, result_here

LOCK, FACTS, LABELS, LITE = "dvc.lock", "export.json", "labels.txt", "model.tflite"


def pack(run: KnownRun) -> tuple[IO[bytes], str]:
    """Return the zip as an open file, and what to call it. Raises WorkspaceError where nothing was exported.

    The file has no name on the disk, so that nothing of it stays, however the download ends.
    """
    short = (run.run_id or run.fingerprint)[:8]
    files = find_exported(run)
    if not files:
        raise WorkspaceError(
            f"{short}: its exported files are neither in models/export nor in DVC's cache; train it to its end, or "
            f"`dvc exp apply` its experiment and `dvc repro export`"
        )
    folder = own_folder("downloads")
    folder.mkdir(parents=True, exist_ok=True)
    file = tempfile.TemporaryFile(dir=folder)
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for inside, path in sorted(files.items()):
                archive.write(path, f"{short}/{inside}")
            for inside, text in _list_texts(run, files):
                archive.writestr(f"{short}/{inside}", text)
    except BaseException:
        file.close()
        raise
    return file, f"bakeoff-{short}.zip"


def find_exported(run: KnownRun) -> dict[str, Path]:
    """Return the files of models/export of a run, from the workspace or from DVC's cache, by their names in it."""
    if run.run_id and result_here().run_id == run.run_id and workspace.EXPORTED.is_dir():
        root = workspace.EXPORTED
        require_exported(root)
        return {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    own = run.status.experiment if run.status else None
    for revision in filter(None, dict.fromkeys([own, *named_by().get(run.fingerprint, ())])):
        if files := _find_in_cache(git.file_at(revision, LOCK)):
            return files
    return {}


def _find_in_cache(lock: str | None) -> dict[str, Path]:
    """Return the exported files that a dvc.lock names; nothing if one of them is not in the cache."""
    digest = output_digest(parse_yaml(lock), "export", workspace.EXPORTED)
    entries = (dvc.cached_folder(digest) if digest else None) or {}
    cached = {name: path for name, entry in entries.items() if (path := dvc.cached_file(entry))}
    if len(cached) < len(entries):
        return {}
    for name, path in cached.items():
        require_whole(path, entries[name], "cache")
    return cached


def _list_texts(run: KnownRun, files: dict[str, Path]) -> Iterator[tuple[str, str]]:
    report = read_text(workspace.results() / f"{run.fingerprint}.html")
    if report:
        yield "report.html", report
    facts = read_json(files[FACTS]) if FACTS in files else {}
    labels = (read_text(files[LABELS]) or "").splitlines() if LABELS in files else []
    yield "README.txt", str(
        template.render(
            "robot.txt.jinja", run=run, status=run.status, facts=facts, labels=labels, has_lite=LITE in files,
            input=json.dumps(facts.get("input")) if facts.get("input") else "",
        )
    )  # fmt: skip
