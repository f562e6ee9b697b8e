"""Runs as lines on the screen: all in a table, one in full, one in a single line."""

import time
from collections.abc import Iterator, Sequence

from bakeoff.cli.amounts import clock, duration, size
from bakeoff.cli.columns import columns
from bakeoff.runs.known import KnownRun
from bakeoff.runs.status import Status

HEAD = ("run", "variant", "state", "steps", "trained", "left", "examples/s", "")
ENDS = {"max_minutes": "ended by train.max_minutes", "early_stopping": "ended by train.early_stopping"}
SILENT = 30  # seconds without a word that are worth one


def table(runs: Sequence[KnownRun]) -> list[str]:
    """Nothing of no runs."""
    return columns([HEAD, *map(_row, runs)]) if runs else []


def in_full(runs: Sequence[KnownRun]) -> list[str]:
    return columns([row for run in runs for row in _facts(run)])


def in_a_line(run: KnownRun) -> str:
    words = [f"{run.label} {run.state}"]
    if run.said:
        words.append(f"{_steps(run.said)} steps")
        if run.state.is_live and run.said.seconds_left is not None:
            words.append(f"{duration(run.said.seconds_left)} left")
    return ", ".join(filter(None, [*words, _last_words(run)]))


def _row(run: KnownRun) -> tuple[str, ...]:
    short, said = run.short, run.said
    if said is None:
        return (short, "", run.state, "", "", "", "", run.unreadable)
    name = f"{said.name} ({said.experiment})" if said.experiment else said.name
    left = clock(said.seconds_left) if run.state.is_live and said.seconds_left is not None else ""
    speed = f"{said.examples_per_second:,.0f}" if run.state.is_live and said.examples_per_second else ""
    return (short, name, run.state, _steps(said), clock(said.training_seconds), left, speed, _last_words(run))


def _facts(run: KnownRun) -> Iterator[tuple[str, str]]:
    yield "run", run.fingerprint
    said = run.said
    if said is None:
        yield "state", f"{run.state}: {run.unreadable}"
        return
    yield "variant", said.name
    if said.experiment:
        yield "experiment", said.experiment
    yield "state", f"{run.state}{f': {run.failure.kind}' if run.failure else ''}"
    if run.failure:
        yield "reason", run.failure.message
    phase = f", phase {said.phase}" if said.phase else ""
    yield "steps", f"{_steps(said)}{phase}"
    yield "trained", duration(said.training_seconds)
    if run.state.is_live and said.seconds_left is not None:
        yield "left", f"about {duration(said.seconds_left)}"
    if said.learning_rate is not None:
        yield "rate", f"{said.learning_rate:.4g}"
    if said.examples_per_second is not None:
        yield "speed", f"{said.examples_per_second:,.0f} examples a second"
    for name, value in said.metrics.items():
        yield name, f"{value:.4g}"
    yield "checkpoint", "yes, it can go on" if run.can_go_on() else "none yet"
    if said.parent:
        yield "continues", said.parent
    machine = said.machine
    if machine.resident_bytes is not None:
        estimate = f", estimated at most {size(said.memory_estimate_bytes)}" if said.memory_estimate_bytes else ""
        left = f"; {size(machine.available_bytes)} were left" if machine.available_bytes is not None else ""
        yield "memory", f"{size(machine.resident_bytes)}{estimate}{left}"
    if machine.disk_free_bytes is not None:
        yield "disk", f"{size(machine.disk_free_bytes)} were left"
    yield "process", f"{said.process.pid} on {said.process.host}, since {_when(said.started)}"
    yield "heard of", f"{duration(max(0, time.time() - said.updated))} ago; begun {_when(said.began)}"
    yield "workspace", said.workspace
    yield "work in flight", run.folder.as_posix()
    if said.run_id:
        yield "run id", said.run_id


def _steps(said: Status) -> str:
    return f"{said.steps_done:,} of {said.steps:,}"


def _last_words(run: KnownRun) -> str:
    """Why it failed, or how good it was when last looked at."""
    if run.failure:
        return f"{run.failure.kind}: {run.failure.message}"
    if run.said is None:
        return run.unreadable
    metrics = run.said.metrics
    shown = [name for name in metrics if name == "train/loss"]
    shown += [name for name in metrics if name.startswith("validation/")][:1]
    words = [f"{name.rpartition('/')[2]} {metrics[name]:.3f}" for name in shown]
    words += [ENDS[run.said.ended_by]] if run.said.ended_by in ENDS and not run.state.is_live else []
    silent = time.time() - run.said.updated
    if run.state.is_live and not run.waits and silent > SILENT:
        words.append(f"no word for {duration(silent)}")
    return ", ".join(words)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
