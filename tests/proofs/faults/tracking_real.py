"""A training with TensorFlow, killed now and then, its MLflow server killed as well, and what MLflow has of it then."""

import random
import re
from pathlib import Path

from proofs.faults.kills import VARIANTS
from proofs.faults.kills import killed as killed_while_training
from proofs.faults.tracking_store import Server, contents, differences
from support.workspace_copy import tiny_workspace

# Times, memory, a file of events for each attempt, the page and the name with the run's id, where it went on, and which
# steps have a checkpoint: one that comes due while another is being written is left out.
OF_THE_CLOCK = re.compile(
    r"examples_per_second|system/.*|train/(history.jsonl|state.json|plots/.*|tensorboard/.*)|evaluation/report.html"
    r"|bakeoff.run|bakeoff.peak_memory_bytes|bakeoff.seconds|bakeoff.resumed_at_steps|name|mlflow.runName"
    r"|(checkpoint|best-so-far)-.*"
)


def real(folder: Path) -> list[str]:
    """What MLflow has of a training that met faults and one that met none, apart from what the clock says."""
    folder.mkdir()
    server = Server(folder / "server")
    server.start()
    store = {"track": f"track: {{use: mlflow, uri: '{server.uri}'}}"}
    whole = tiny_workspace(folder / "whole", VARIANTS["classification"] | store)
    try:
        for stage in ("build_records", "render_config"):
            whole.run("python", "-m", f"bakeoff.stages.{stage}")
        cut = whole.copy(folder / "cut")
        for stage in ("train", "evaluate"):
            whole.run("python", "-m", f"bakeoff.stages.{stage}")
        killed_while_training(cut, random.Random(0), 2)
        server.kill()
        killed_while_training(cut, random.Random(1), 1)
        cut.run("python", "-m", "bakeoff.stages.train")
        server.start()
        cut.run("python", "-m", "bakeoff.stages.evaluate")
        for workspace in (whole, cut):
            workspace.run("python", "-m", "bakeoff", "track", "sync")
        stored_runs = contents(server.uri)
        pair = [stored_runs.pop((workspace.folder / ".bakeoff/journal/ledger.jsonl").read_text().split('"')[3])
                for workspace in (whole, cut)]  # fmt: skip
    finally:
        server.kill()
    lines = differences(*({"runs": len(runs), **without_the_clock(runs[0])} for runs in pair))
    return lines + [f"{len(stored_runs)} runs too many"] * bool(stored_runs)


def without_the_clock(run: dict) -> dict:
    return {
        key: {name: what for name, what in value.items() if not OF_THE_CLOCK.fullmatch(name)}
        if isinstance(value, dict)
        else value
        for key, value in run.items()
        if not OF_THE_CLOCK.fullmatch(key)
    }
