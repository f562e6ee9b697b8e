"""A run -> a zip to carry along: for one robot the one file that it takes, or all that was exported.

limelight_coral.zip   model.tflite, labels.txt, README.html with a sketch of the robot's page, reader.py
bakeoff-4f2a91c0.zip  model.tflite, the SavedModel, labels, the report and README.txt
"""

import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from bakeoff.app.web.robot_sketch import draw_sketch
from bakeoff.app.web.robots import Robot
from bakeoff.app.web.safe_paths import own_folder
from bakeoff.experiments.runs.cleanup import named_by
from bakeoff.experiments.runs.curve_drawings import read_last_values
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.export import hailo
from bakeoff.export.licences import state_licences
from bakeoff.export.settings import require_exported
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_json, read_text
from bakeoff.foundation.html import template
from bakeoff.inference.device import run_export
from bakeoff.inference.device.run_export import find_export, name_file, name_model, read_network, read_run_file
from bakeoff.tracking.results.cached_outputs import find_cached
from bakeoff.tracking.results.results import result_here

READER = Path(run_export.__file__).with_name("reader.py")
BESIDE = f"{hailo.FOLDER}/"  # a folder whose files go with the model
FACTS, LABELS, LITE = "export.json", "labels.txt", "model.tflite"


def pack(run: KnownRun) -> tuple[IO[bytes], str]:
    """Return the zip of all exported files as an open file, and what to call it. Raises WorkspaceError without any."""
    short = (run.run_id or run.fingerprint)[:8]
    files = find_exported(run)
    if not files:
        raise WorkspaceError(
            f"{short}: its exported files are neither in models/export nor in DVC's cache; train it to its end, or "
            f"`dvc exp apply` its experiment and `dvc repro export`"
        )
    return _write_zip(short, files, _list_texts(run, files)), f"bakeoff-{short}.zip"


def pack_for(run: KnownRun, robot: Robot) -> tuple[IO[bytes], str]:
    """Return the zip for a robot as an open file, and what to call it. Raises WorkspaceError where it is not made."""
    short = (run.run_id or run.fingerprint)[:8]
    files = find_for(run, robot)
    if not files:
        raise WorkspaceError(f"{short}: has no file for {robot.name} yet; make it first on the page Robot")
    report = read_json(files[FACTS])
    exported = name_file(report)
    labels = (read_text(files[LABELS]) or "").splitlines()
    texts = {
        "README.html": _write_readme(run, robot, labels, exported, report),
        READER.name: READER.read_text(encoding="utf-8"),
    }
    folder = f"{robot.option}-{short}"
    carried = {name: path for name, path in files.items() if name in (exported, LABELS) or name.startswith(BESIDE)}
    return _write_zip(folder, carried, texts.items()), f"{folder}.zip"


def find_for(run: KnownRun, robot: Robot) -> dict[str, Path]:
    """Return the files that were exported for a robot: with the training, or later from the run."""
    if made := find_export(run, robot.option):
        return made
    return find_exported(run) if read_own_device(run) == robot.option else {}


def read_own_device(run: KnownRun) -> str:
    """Return the robot for which a run was exported with its training; "" where it was none."""
    export = read_run_file(run).get("export")
    return str(export.get("device") or "") if isinstance(export, dict) else ""


def _write_readme(run: KnownRun, robot: Robot, labels: list[str], file: str, report: Mapping[str, Any]) -> str:
    network = read_network(read_run_file(run))
    side = str(network.input_size) if network is not None else "its input's side"
    steps = [
        step.replace("FILE", name_model(report)).replace("SIZE", side).replace("`", "") for step in robot.guide.steps
    ]
    threshold = read_last_values(run.run_id).get("evaluation/threshold")
    name = run.status.name if run.status else "A model"
    return str(
        template.render(
            "robot_readme.html.jinja", robot=robot, called=f"Run {(run.run_id or run.fingerprint)[:8]}, {name}.",
            steps=steps, file=file, labels_file=LABELS, labels=labels, licences=_list_licences(report),
            sketch=draw_sketch(robot.option, file, LABELS),
            score=f"{threshold:.2f}" if threshold is not None else "0.50",
        )
    )  # fmt: skip


def _list_licences(report: Mapping[str, Any]) -> list[str]:
    lineage = report.get("lineage") or {}
    return state_licences(lineage.get("starts") or (), lineage.get("own"))


def _write_zip(folder: str, files: Mapping[str, Path], texts: Iterable[tuple[str, str]]) -> IO[bytes]:
    """Return a zip with a folder of these files and texts.

    It has no name on the disk, so that nothing of it stays, however the download ends.
    """
    own_folder("downloads").mkdir(parents=True, exist_ok=True)
    file = tempfile.TemporaryFile(dir=own_folder("downloads"))
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for inside, path in sorted(files.items()):
                archive.write(path, f"{folder}/{inside}")
            for inside, text in texts:
                archive.writestr(f"{folder}/{inside}", text)
    except BaseException:
        file.close()
        raise
    return file


def find_exported(run: KnownRun) -> dict[str, Path]:
    """Return the files of models/export of a run, from the workspace or from DVC's cache, by their names in it."""
    if run.run_id and result_here().run_id == run.run_id and workspace.EXPORTED.is_dir():
        root = workspace.EXPORTED
        require_exported(root)
        return {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    own = run.status.experiment if run.status else None
    for revision in filter(None, dict.fromkeys([own, *named_by().get(run.fingerprint, ())])):
        if (cached := find_cached(revision, "export", workspace.EXPORTED)).is_whole:
            return dict(cached.compared())
    return {}


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
