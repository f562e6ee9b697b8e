"""`models/train/state.json`: how a run ended, for the stages after it and for people.

{"best_metric": "mAP_50", "best_value": 0.86, "best_step": 1000, "steps": 1000, "seconds": 112.4,
 "weights_sha256": "5d1c...", "run_id": "0b9f...", ...}
"""

import json
from pathlib import Path
from typing import Any

from bakeoff.errors import DataError

FILE = "state.json"


def write_state(folder: Path, state: dict[str, Any]) -> None:
    (folder / FILE).write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")


def read_state(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"{path.as_posix()}: missing, so training never finished; run `dvc repro train`")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path.as_posix()}: cannot be read ({error}); run `dvc repro --force train`") from None


def summary(state: dict[str, Any]) -> str:
    """One line for whoever watched the training."""
    best = "undefined" if state["best_value"] is None else f"{state['best_value']:.3f} at step {state['best_step']:,}"
    memory = f"{state['peak_memory_bytes'] / 1e9:.1f} GB (estimated {state['memory_estimate_bytes'] / 1e9:.1f})"
    done = f"{state['step']:,} of " if state["step"] < state["steps"] else ""
    length = f"{done}{state['steps']:,} steps in {state['seconds']:.0f} s"
    return f"{length}; best {state['best_metric']} {best}; peak memory {memory}"
