"""A run that was made elsewhere -> a journal, from the files that it left.

A store that has the run already gets nothing of this.
"""

import json
from pathlib import Path
from typing import Any

import yaml

from bakeoff.tracking.journal import Journal
from bakeoff.tracking.params import flattened, params_of
from bakeoff.workspace import EVALUATION, RUN, TRAINED

RESTORED = "bakeoff.restored"


def restore(journal: Journal) -> None:
    """Its whole story."""
    journal.restoring = True
    state = _json(TRAINED / "state.json")
    journal.run(run_name())
    journal.tags({RESTORED: "true", "bakeoff.weights_sha256": str(state.get("weights_sha256", "unknown"))})
    tell_results(journal)
    for folder, name in ((RUN.parent, "config"), (TRAINED, "train"), (EVALUATION, "evaluation")):
        for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if file.is_file():
                journal.file(file, f"{name}/{file.relative_to(folder).as_posix()}")
    journal.state("FINISHED")
    journal.restoring = False


def tell_results(journal: Journal) -> None:
    """Params and metrics of the variant in the workspace."""
    if RUN.is_file():
        journal.params(params_of(yaml.safe_load(RUN.read_text(encoding="utf-8"))))
    history = TRAINED / "history.jsonl"
    for line in history.read_text(encoding="utf-8").splitlines() if history.is_file() else ():
        values = json.loads(line)
        step = values.pop("step")
        journal.metrics(step, {key: value for key, value in values.items() if isinstance(value, int | float)})
    evaluation = _json(EVALUATION / "metrics.json")
    if evaluation:
        values = {f"evaluation/{key}": value for key, value in flattened(evaluation) if value is not None}
        journal.metrics(int(_json(TRAINED / "state.json").get("steps", 0)), values)


def run_name() -> str:
    """As the variant's own."""
    variant: dict[str, str] = {}
    if RUN.is_file():
        variant = yaml.safe_load(RUN.read_text(encoding="utf-8")).get("variant", {})
    return " · ".join(str(variant.get(group, "?")) for group in ("model", "lr", "memory"))


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
