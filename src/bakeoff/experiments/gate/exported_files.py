"""A run -> what was exported of it: the bytes of each file, and the files, wherever they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.experiments.compare.run_row import Contender
from bakeoff.foundation.files import read_json
from bakeoff.foundation.workspace import EXPORTED
from bakeoff.tracking.results.cached_outputs import find_cached
from bakeoff.tracking.results.results import result_here

REPORT = "export.json"
PLACE, BYTES = "export/", ".bytes"  # of a metric: export/dynamic.bytes
TIMED = (".tflite", ".onnx")


def read_sizes(contender: Contender) -> dict[str, float]:
    """Return bytes by the names of formats; nothing of a run that was not exported, or whose export is elsewhere."""
    measured = {
        name.removeprefix(PLACE).removesuffix(BYTES): value
        for name, value in contender.metrics.items()
        if name.startswith(PLACE) and name.endswith(BYTES)
    }
    return measured or {form: file["bytes"] for form, file in _read_report(contender).items()}


def find_timed(contender: Contender) -> dict[str, Path]:
    """Return the files that `bakeoff measure` times, by their names."""
    names = [file["file"] for file in _read_report(contender).values()]
    timed = {name: _find(contender, name) for name in names if name.endswith(TIMED)}
    return {name: file for name, file in timed.items() if file}


def _read_report(contender: Contender) -> Mapping[str, Any]:
    report = _find(contender, REPORT)
    return (read_json(report).get("files") or {}) if report else {}


def _find(contender: Contender, name: str) -> Path | None:
    """In the workspace, if its export is of this run, in MLflow's artifacts, or in DVC's cache."""
    root = contender.files or Path()
    if result_here(root).run_id == contender.run_id and (root / EXPORTED / name).is_file():
        return root / EXPORTED / name
    if file := contender.artifact(PLACE + name):
        return file
    return find_cached(contender.revision or contender.experiment, "export", EXPORTED).files.get(name)
