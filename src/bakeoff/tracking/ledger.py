"""Which run's result was in which workspace, in order: `.bakeoff/journal/ledger.jsonl`.

{"run": "0b9f…", "here": true}      here: the main workspace, not a copy in which DVC ran an experiment
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from bakeoff.workspace import journals, main_workspace


def lock() -> FileLock:
    return FileLock(journals() / "ledger.lock")


def note(run_id: str, *, experiment: str | None = None, here: bool | None = None) -> None:
    """The workspace that this process stands in, if nothing else is said, holds the result of the run now."""
    row = {
        "run": run_id,
        "here": Path.cwd().resolve() == main_workspace() if here is None else here,
        "experiment": experiment or os.environ.get("DVC_EXP_NAME"),
    }
    journals().mkdir(parents=True, exist_ok=True)
    with _file().open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")


def experiments() -> set[str]:
    """Those that were told of."""
    return {row["experiment"] for row in _rows() if row.get("experiment")}


def last_here() -> str | None:
    return next((row["run"] for row in reversed(list(_rows())) if row["here"]), None)


def is_of_an_experiment(run_id: str) -> bool:
    """Whether it was made in a copy of the workspace and never was here."""
    places = {row["here"] for row in _rows() if row["run"] == run_id}
    return places == {False}


def _rows() -> Iterator[dict[str, Any]]:
    """Lines that a crash cut off are passed over."""
    for line in _file().read_text(encoding="utf-8").splitlines() if _file().is_file() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _file() -> Path:
    return journals() / "ledger.jsonl"
