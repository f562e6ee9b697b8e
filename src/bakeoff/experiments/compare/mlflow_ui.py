"""The first page of `bakeoff ui`: the runs as MLflow's table, by what they differ in, the best on top.

MLflow keeps such a view as a tag of the experiment, and an address that names the tag's key opens it.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bakeoff.evaluation.metric_meanings import is_higher_better
from bakeoff.experiments.compare.comparison_table import choose_metrics, find_differing_keys
from bakeoff.experiments.compare.load_runs import Gathered, gather
from bakeoff.experiments.compare.run_row import EVALUATION, VALIDATION, Contender
from bakeoff.tracking.store.mlflow_names import metric_in_mlflow
from bakeoff.tracking.store.target import local_uri

KEY = "bakeoff"
TAG = f"mlflow.sharedViewState.{KEY}"
MOST_KEYS, MOST_METRICS = 6, 3
NEWEST = 200  # runs that say which keys differ
FIRST = {"attributes.`Run Name`": 425, "runDateAndNestInfo": 135, "duration": 70}  # columns, and their pixels
LETTER, BESIDE, LEAST = 7, 24, 110  # pixels of a column: of a letter of its name, around it, at least


def prepare_first_page() -> str:
    """Give the experiment of the workspace's own store its view; return the address of the table there."""
    from bakeoff.tracking.store.mlflow_client import open_store

    gathered = _with_runs(gather(local_uri()))
    client, experiment = open_store(gathered.target)
    contenders = gathered.fill(gathered.project_runs()[:NEWEST])
    client.set_experiment_tag(experiment, TAG, json.dumps(describe_view(contenders)))
    return f"#/experiments/{experiment}/runs?workflowType=machine_learning&viewStateShareKey={KEY}"


def describe_view(contenders: Sequence[Contender]) -> dict[str, Any]:
    """Return columns and order as MLflow names them. What is left out is as MLflow has it by default."""
    names = [_in_full(name, contenders) for name in choose_metrics(contenders)[:MOST_METRICS]]
    metrics = [f"metrics.`{metric_in_mlflow(name)}`" for name in names]
    keys = [f"params.`{key}`" for key in find_differing_keys(contenders)[0][:MOST_KEYS]]
    widths = FIRST | {key: max(LEAST, LETTER * len(key.partition("`")[2]) + BESIDE) for key in (*metrics, *keys)}
    view: dict[str, Any] = {
        "selectedColumns": [*metrics, *keys],
        "columnOrder": list(widths),
        "columnWidths": widths,
        "runsHiddenMode": "SHOW_ALL",
    }
    if metrics:
        view |= {"orderByKey": metrics[0], "orderByAsc": is_higher_better(names[0]) is False}
    return view


def _in_full(name: str, contenders: Sequence[Contender]) -> str:
    """Return a number's whole name: of the evaluation, or of validation where nothing was evaluated."""
    is_judged = any(f"{EVALUATION}{name}" in one.metrics for one in contenders)
    return name if name.startswith(VALIDATION) or not is_judged else f"{EVALUATION}{name}"


def _with_runs(gathered: Gathered) -> Gathered:
    """Take the experiment of the newest run, if that of run.yaml has none."""
    if gathered.project_runs():
        return gathered
    other = next((run.mlflow_experiment for run in gathered.runs if not run.is_deleted), None)
    return replace(gathered, target=replace(gathered.target, experiment=other or gathered.target.experiment))
