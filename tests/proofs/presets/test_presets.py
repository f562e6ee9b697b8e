"""Each preset to its end: `make presets`. The network and its input have their real size; minutes each.

Records, configuration, training that is stopped and resumed, evaluation, export, predictions, and what MLflow has of
it. Each test prints a row of the table in docs/performance.md.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.foundation.formatting import format_size
from proofs.presets.presets import PRESETS, RAW, Given, begin, network_of, train_until_stopped
from support.imports import ROOT
from support.moving_things import write_film
from support.workspace_copy import Workspace

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow's libraries
WITHIN = 0.1  # of the estimate the peak must be


def test_every_preset_is_run_by_a_test() -> None:
    assert {file.stem for file in (ROOT / "conf/experiment").glob("*.yaml")} == set(PRESETS)


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_runs_to_its_end(preset: str, tmp_path: Path) -> None:
    given, workspace = PRESETS[preset], begin(preset, tmp_path / "clone")
    workspace.run("bakeoff", "repro", "render_config")
    run = yaml.safe_load((workspace.folder / "models/config/run.yaml").read_text(encoding="utf-8"))
    planned = json.loads(workspace.run("bakeoff", "plan", "--json").stdout)
    estimate = run["derived"]["memory_estimate_bytes"]
    assert planned["memory_estimate_bytes"] == estimate
    assert run["train"]["init"]["weights"] == (f"zoo/{given.weights}" if given.weights else "none")
    train_until_stopped(workspace, given.stopped_after)
    stopped = workspace.state()
    assert given.stopped_after <= stopped["step"] < given.steps
    workspace.run("bakeoff", "repro")
    state = workspace.state()
    require_trained(workspace, given)
    require_evaluated_and_exported(workspace, run)
    require_predictions(workspace, run["derived"]["task"], tmp_path)
    pace = require_in_mlflow(workspace, state["run_id"], (stopped["step"], given.steps))
    peak = max(one["peak_memory_bytes"] for one in (stopped, state))
    side, batch = run["model"].get("input_size", network_of(workspace).input_size), last_batch(run)
    print("peaks", stopped["peak_memory_bytes"], state["peak_memory_bytes"])
    print("moments", stopped["memory_peaks"], state["memory_peaks"], run["derived"]["memory_parts"])
    cells = [f"`{preset}`", f"{side}²", batch, f"{batch / pace:.2f} s", *map(format_size, (estimate, peak))]
    print("|", " | ".join(map(str, [*cells, f"{peak / estimate:.2f}"])), "|")
    assert peak == pytest.approx(estimate, rel=WITHIN)


def last_batch(run: dict[str, Any]) -> int:
    return run["derived"]["phases"][-1]["batch_size"]


def require_trained(workspace: Workspace, given: Given) -> None:
    state, lines = workspace.state(), (workspace.folder / "models/train/history.jsonl").read_text("utf-8").splitlines()
    assert state["step"] == given.steps and len(state["resumed_at_steps"]) == 1 and not state["stopped_by"]
    rows = [json.loads(line) for line in lines]
    losses = [row["step"] for row in rows if "train/loss" in row]
    assert losses == list(range(1, given.steps + 1)) == [row["step"] for row in rows if "validation/loss" in row]
    phases = [row.get("phase") for row in rows if "train/loss" in row]
    stated = [one["name"] for one in given.train.get("phases", ()) for _ in range(one["steps"])]
    assert phases == (stated or [None] * given.steps)
    loaded = json.loads((workspace.folder / "models/train/init.json").read_text(encoding="utf-8"))
    assert bool(loaded["loaded"]) == bool(given.weights)  # the loader refuses a warm start that it cannot make


def require_evaluated_and_exported(workspace: Workspace, run: dict[str, Any]) -> None:
    headline = json.loads((workspace.folder / "models/evaluation/headline.json").read_text(encoding="utf-8"))
    assert headline["loss"] > 0 and (workspace.folder / "models/evaluation/report.html").stat().st_size > 10_000
    report = json.loads((workspace.folder / "models/export/export.json").read_text(encoding="utf-8"))
    assert list(report["files"]) == run["export"]["formats"]
    assert all(file["bytes"] > 100_000 and abs(file["drop"]) <= 0.05 for file in report["files"].values())


def require_predictions(workspace: Workspace, task: str, tmp_path: Path) -> None:
    """What was exported answers a photograph or a film."""
    drawn = sorted(path for path in (workspace.folder / RAW).rglob("*.*") if path.suffix in (".jpg", ".mp4"))
    source = drawn[0] if drawn else ROOT / "docs/images/scene.jpg"
    if task == "video" and not drawn:
        write_film(source := tmp_path / "film.mp4", 2)
    workspace.run("bakeoff", "predict", str(source), "--out", str(tmp_path / "answers"))
    lines = (tmp_path / "answers/results.jsonl").read_text(encoding="utf-8").splitlines()
    answers, classes = [json.loads(line) for line in lines], workspace.state()["classes"]
    assert answers and all(one["category"] in classes and 0 <= one["score"] <= 1 for one in answers)


def require_in_mlflow(workspace: Workspace, run_id: str, ended_at: Sequence[int]) -> float:
    """Return the examples per second of the last step. A checkpoint in between is left out where the one before it is
    still being written; those at which a training ended are always there."""
    from support.mlflow_store import MlflowClient

    client = MlflowClient(f"sqlite:///{workspace.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("bakeoff").experiment_id
    [run] = client.search_runs([experiment], f"tags.`bakeoff.run` = '{run_id}'")
    assert run.info.status == "FINISHED" and run.data.params["lr.use"] and run.data.metrics["evaluation/loss"] > 0
    history = client.get_metric_history(run.info.run_id, "train/loss")
    assert [one.step for one in history] == list(range(1, ended_at[-1] + 1))
    assert {"config", "data", "evaluation", "export", "train"} <= {
        file.path for file in client.list_artifacts(run.info.run_id)
    }
    models = {model.name for model in client.search_logged_models([experiment])}
    assert models >= {"final", "best", "exported", *(f"checkpoint-{step}" for step in ended_at)}
    return client.get_metric_history(run.info.run_id, "examples_per_second")[-1].value
