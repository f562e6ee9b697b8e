"""A run as a row of a table, as facts, as a sentence; and what resumes it."""

import time
from collections.abc import Iterator, Sequence

from bakeoff.app.cli.terminal_table import fit, fold
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.run_status import State, Status, headline_of
from bakeoff.foundation.formatting import format_clock, format_duration, format_size
from bakeoff.learning.plan.run_length import format_done

HEAD = ("run", "state", "steps", "left", "metric", "trained", "examples/s", "variant", "")
ENDS = {"max_minutes": "ended by train.max_minutes", "early_stopping": "ended by train.early_stopping"}
SILENT = 30  # seconds without an update that are reported
LOSS = "train/loss"
SWEEP = "sweep-"  # how the experiments of sweeps begin


def table_lines(runs: Sequence[KnownRun], width: int | None) -> list[str]:
    """Return a line for each run; a remark stands below it where there is little room."""
    return (
        fit([HEAD, *map(_row, runs)], width, less=("examples/s", "trained"), narrow="variant", is_cut=True)
        if runs
        else []
    )


def run_lines(runs: Sequence[KnownRun], width: int | None) -> list[str]:
    return fold([row for run in runs for row in _facts(run)], width)


def line_of(run: KnownRun) -> str:
    parts = [f"{run.label} {run.state}"]
    if run.status:
        parts.append(f"{_steps(run.status)} steps")
        if run.state.is_live and run.status.seconds_left is not None:
            parts.append(f"{format_duration(run.status.seconds_left)} left")
    return ", ".join(filter(None, [*parts, _describe_end(run)]))


def hint(runs: Sequence[KnownRun]) -> str:
    """Say what follows runs that are under way, or what resumes the one that ended last."""
    if not runs:
        return ""
    if any(run.state.is_live for run in runs):
        return "`bakeoff status --watch` follows them, `bakeoff stop` ends one after the step it is at"
    last = runs[0]
    if last.state == State.SUCCEEDED:
        return "`bakeoff compare` has runs side by side; `dvc repro` trains what params.yaml says"
    experiment = (last.status.experiment if last.status else None) or ""
    again = "the same `dvc exp run`" if experiment else "`dvc repro`, with params.yaml as it was,"
    again = "`bakeoff sweep --resume`" if experiment.startswith(SWEEP) else again
    return f"{again} {'resumes' if last.can_resume() else 'starts over'} {last.short or last.fingerprint}"


def _row(run: KnownRun) -> tuple[str, ...]:
    short, status = run.short, run.status
    if status is None:
        return (short, run.state, "", "", "", "", "", "", run.unreadable)
    name = f"{status.name} ({status.experiment})" if status.experiment else status.name
    trains = run.state.is_live and run.place is None
    left = format_clock(status.seconds_left) if trains and status.seconds_left is not None else ""
    speed = f"{status.examples_per_second:,.0f}" if run.state.is_live and status.examples_per_second else ""
    metric = next(iter([*_headline(status), *_loss(status)]), "")
    trained = format_clock(status.training_seconds)
    return (short, run.state, _steps(status), left, metric, trained, speed, name, ", ".join(_remarks(run)))


def _facts(run: KnownRun) -> Iterator[tuple[str, str]]:
    yield "run", run.short or run.fingerprint
    status = run.status
    if status is None:
        yield "state", f"{run.state}: {run.unreadable}"
        return
    yield "variant", status.name
    if status.experiment:
        yield "experiment", status.experiment
    yield "state", f"{run.state}{f': {run.failure.kind}' if run.failure else ''}"
    if run.failure:
        yield "reason", run.failure.message
    yield "steps", f"{_steps(status)}{f', phase {status.phase}' if status.phase else ''}"
    yield "trained", format_duration(status.training_seconds)
    if run.state.is_live and status.seconds_left is not None:
        yield "left", f"about {format_duration(status.seconds_left)}"
    if status.learning_rate is not None:
        yield "rate", f"{status.learning_rate:.4g}"
    if status.examples_per_second is not None:
        yield "speed", f"{status.examples_per_second:,.0f} examples a second"
    for name, value in status.metrics.items():
        yield name, f"{value:.4g}"
    yield "checkpoint", "yes, it can resume" if run.can_resume() else "none yet"
    if status.parent:
        yield "continues", status.parent
    machine = status.machine
    if machine.resident_bytes is not None:
        estimate, available = status.memory_estimate_bytes, machine.available_bytes
        at_most = f", estimated at most {format_size(estimate)}" if estimate else ""
        left = f"; {format_size(available)} were left" if available is not None else ""
        yield "memory", f"{format_size(machine.resident_bytes)}{at_most}{left}"
    if machine.disk_free_bytes is not None:
        yield "disk", f"{format_size(machine.disk_free_bytes)} were left"
    yield "process", f"{status.process.pid} on {status.process.host}, since {_when(status.started)}"
    yield "updated", f"{format_duration(max(0, time.time() - status.updated))} ago; started {_when(status.began)}"
    yield "workspace", status.workspace
    yield "work in flight", run.folder.as_posix()
    yield "fingerprint", run.fingerprint
    if run.run_id:
        yield "run id", run.run_id
    if run.names.mlflow_id:
        yield "MLflow's id", run.names.mlflow_id


def _steps(status: Status) -> str:
    return format_done(status.steps_done, status.steps)


def _describe_end(run: KnownRun) -> str:
    """Why it failed, or how good it was when last looked at."""
    numbers = [*_loss(run.status), *_headline(run.status)] if run.status and not run.failure else []
    return ", ".join([*numbers, *_remarks(run)])


def _remarks(run: KnownRun) -> list[str]:
    if run.failure:
        return [f"{run.failure.kind}: {run.failure.message}"]
    if run.status is None:
        return [run.unreadable]
    ended = [ENDS[run.status.ended_by]] if run.status.ended_by in ENDS and not run.state.is_live else []
    silent = time.time() - run.status.updated
    is_silent = run.state.is_live and not run.waits and run.place is None and silent > SILENT
    return [*ended, *([f"no word for {format_duration(silent)}"] if is_silent else [])]


def _loss(status: Status) -> list[str]:
    return [f"loss {status.metrics[LOSS]:.3f}"] if LOSS in status.metrics else []


def _headline(status: Status) -> list[str]:
    headline = headline_of(status.metrics)
    return [f"{headline[0]} {headline[1]:.3f}"] if headline else []


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
