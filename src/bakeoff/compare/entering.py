"""What a store, a journal or a folder says of a run -> a contender."""

from collections.abc import Mapping
from pathlib import Path

from bakeoff.compare.contender import Contender, Cost
from bakeoff.runs.known import KnownRun
from bakeoff.tracking.reconcile import MADE_BY, REUSED
from bakeoff.tracking.result import Result
from bakeoff.tracking.stored_run import StoredRun
from bakeoff.tracking.tracker import POINT_OF_A_SWEEP, RESTORED

STATES = {"FINISHED": "SUCCEEDED", "KILLED": "STOPPED"}  # MLflow's words in ours; the others are the same
OPTION, CHANGED = "variant.", "changed."
LATENCY = "export/saved_model.latency_ms"  # the one form that every run is exported in


def contender_of(run: StoredRun, known: KnownRun | None) -> Contender:
    """`known`: what its process says of it, if it trains or trained on this machine."""
    tags = run.tags
    state = tags.get("bakeoff.state") or STATES.get(run.status, run.status)
    changed = {key.removeprefix(CHANGED): value for key, value in tags.items() if key.startswith(CHANGED)}
    experiment = tags.get("DVC_EXP_NAME") or None
    return Contender(
        run.run_id,
        run.name,
        known.state.value if known else state,
        named_as_written({**run.params, **changed}),
        run.metrics,
        _cost(run, known),
        began=run.began,
        experiment=experiment,
        sweep=sweep_in(run),
        commit=tags.get("bakeoff.git_commit") or tags.get("mlflow.source.git.commit"),
        is_dirty=tags.get("bakeoff.git_dirty") == "true",
        records=tags.get("bakeoff.records_digest"),
        reused_from=tags.get(MADE_BY) if tags.get(REUSED) else None,
        mlflow_id=run.mlflow_id,
        mlflow_experiment=run.mlflow_experiment,
        artifacts=run.artifacts,
        page=run.page,
        journal=run.journal,
    )


def contender_of_result(result: Result, name: str, files: Path | None) -> Contender:
    """One of which no store knows; `name` is what the user called it."""
    points = list(result.points())
    metrics = {key: value for _, values in points for key, value in values.items()}
    state = result.state
    cost = Cost(state.get("seconds"), state.get("peak_memory_bytes"))
    return Contender(
        result.run_id or name,
        result.name,
        str(state.get("state", "SUCCEEDED" if state else "")),
        named_as_written(result.params),
        metrics,
        cost,
        experiment=result.experiment,
        sweep=sweep_of(result.experiment),
        files=files,
        revision=None if files else name,
    )


def named_as_written(params: Mapping[str, str]) -> dict[str, str]:
    """`variant.lr`, the option, by the name that params.yaml has for it: `lr.use`."""
    return {
        f"{key.removeprefix(OPTION)}.use" if key.startswith(OPTION) else key: value for key, value in params.items()
    }


def sweep_in(run: StoredRun) -> str | None:
    """A point that DVC's cache gave stands under no sweep in MLflow; its experiment's name tells."""
    return run.tags.get("bakeoff.sweep") or run.parent or sweep_of(run.tags.get("DVC_EXP_NAME"))


def sweep_of(experiment: str | None) -> str | None:
    found = POINT_OF_A_SWEEP.fullmatch(experiment or "")
    return found[1] if found else None


def is_sweep(run_id: str) -> bool:
    """A sweep's own run has the sweep's name for an id."""
    return sweep_of(f"{run_id}-1") is not None


def _cost(run: StoredRun, known: KnownRun | None) -> Cost:
    tags = run.tags
    seconds = _float(tags.get("bakeoff.seconds"))
    if seconds is None and known and known.said:
        seconds = known.said.training_seconds or None
    if seconds is None and run.began and run.ended and not (tags.get(REUSED) or tags.get(RESTORED)):
        seconds = (run.ended - run.began) / 1000  # with what was before and after the steps
    return Cost(
        seconds, _float(tags.get("bakeoff.peak_memory_bytes")), run.metrics.get("export/bytes"),
        run.metrics.get(LATENCY),
    )  # fmt: skip


def _float(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
