"""`bakeoff status`: how the runs are doing, as a table, one in full, in place every second, or for scripts."""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from bakeoff.cli.terminal import RUN, align, format_duration, format_size
from bakeoff.progress import SECONDS_BETWEEN_LINES, say
from bakeoff.runs.known import KnownRun, known_runs
from bakeoff.runs.status import Status
from bakeoff.tracking.names import resolve

ENDED_SHOWN = 5  # besides those that are under way
SECONDS_BETWEEN_LOOKS = 1.0
JSON_VERSION = 1
NOTHING = "no run has begun here yet; `dvc repro` begins one"
HEAD = ("run", "variant", "state", "steps", "trained", "left", "examples/s", "")
ENDS = {"max_minutes": "ended by train.max_minutes", "early_stopping": "ended by train.early_stopping"}
SILENT = 30  # seconds without a word that are worth one


def add_to(commands: Any) -> None:
    status = commands.add_parser("status", help="how runs are doing: state, steps, time left, last metrics")
    add = status.add_argument
    add("which", nargs="?", metavar="RUN", help=RUN)
    add("--watch", action="store_true", help="every second, in place, until Ctrl-C or the end of RUN")
    add("--json", action="store_true", help="the same for scripts; with --watch a line for each change")
    add("--all", action="store_true", help=f"all runs; else of those that ended the last {ENDED_SHOWN}")
    status.set_defaults(run=show_status)


def show_status(arguments: argparse.Namespace) -> None:
    from bakeoff.tracking.sync import tell_interrupted

    tell_interrupted()
    fingerprint = resolve(arguments.which, known_runs()).fingerprint if arguments.which else None

    def look() -> list[KnownRun]:
        runs = known_runs()
        if fingerprint is not None:
            return [run for run in runs if run.fingerprint == fingerprint]
        live = [run for run in runs if run.state.is_live]
        return runs if arguments.all else [*live, *runs[len(live) :][:ENDED_SHOWN]]

    lines_of = run_lines if arguments.which else table_lines
    if not arguments.watch:
        lines = [_as_json(look(), indent=1)] if arguments.json else lines_of(look()) or [NOTHING]
        _show(lines, is_table=lines_of is table_lines and not arguments.json)
        return
    looks = _looks(look, until_ended=fingerprint is not None)
    with suppress(KeyboardInterrupt):  # the way to end it
        if arguments.json:
            _follow(looks)
        elif sys.stdout.isatty():
            _redraw(looks, lines_of)
        else:
            _tell(looks)


def _show(lines: list[str], *, is_table: bool) -> None:
    """On a terminal a row is a line, also if it is long."""
    width = shutil.get_terminal_size().columns if is_table and sys.stdout.isatty() else None
    for line in lines:
        say(line if width is None or len(line) <= width else f"{line[: width - 1]}…")


def _looks(look: Callable[[], list[KnownRun]], *, until_ended: bool) -> Iterator[list[KnownRun]]:
    while True:
        runs = look()
        yield runs
        if until_ended and not any(run.state.is_live for run in runs):
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _redraw(looks: Iterable[list[KnownRun]], lines_of: Callable[[list[KnownRun]], list[str]]) -> None:
    """On a terminal; what was shown last stays on it."""
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        for runs in looks:
            text = "\n".join(lines_of(runs) or [NOTHING])
            live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)


def _tell(looks: Iterable[list[KnownRun]]) -> None:
    """Through a pipe: a line for each run now and then, and at once when its state changes."""
    told: dict[str, tuple[str, float]] = {}  # by run: the state, and when
    for runs in looks:
        now = time.monotonic()
        for run in runs:
            state, at = told.get(run.fingerprint, ("", 0.0))
            if run.state != state or (run.state.is_live and now - at >= SECONDS_BETWEEN_LINES):
                say(line_of(run))
                told[run.fingerprint] = (run.state, now)


def _follow(looks: Iterable[list[KnownRun]]) -> None:
    last = None
    for runs in looks:
        text = _as_json(runs, indent=None)
        if text != last:
            say(text)
            last = text


def _as_json(runs: list[KnownRun], *, indent: int | None) -> str:
    return json.dumps({"version": JSON_VERSION, "runs": [run.as_tree() for run in runs]}, indent=indent)


def table_lines(runs: Sequence[KnownRun]) -> list[str]:
    return align([HEAD, *map(_row, runs)]) if runs else []


def run_lines(runs: Sequence[KnownRun]) -> list[str]:
    return align([row for run in runs for row in _facts(run)])


def line_of(run: KnownRun) -> str:
    words = [f"{run.label} {run.state}"]
    if run.said:
        words.append(f"{_steps(run.said)} steps")
        if run.state.is_live and run.said.seconds_left is not None:
            words.append(f"{format_duration(run.said.seconds_left)} left")
    return ", ".join(filter(None, [*words, _last_words(run)]))


def _row(run: KnownRun) -> tuple[str, ...]:
    short, said = run.short, run.said
    if said is None:
        return (short, "", run.state, "", "", "", "", run.unreadable)
    name = f"{said.name} ({said.experiment})" if said.experiment else said.name
    left = _clock(said.seconds_left) if run.state.is_live and said.seconds_left is not None else ""
    speed = f"{said.examples_per_second:,.0f}" if run.state.is_live and said.examples_per_second else ""
    return (short, name, run.state, _steps(said), _clock(said.training_seconds), left, speed, _last_words(run))


def _facts(run: KnownRun) -> Iterator[tuple[str, str]]:
    yield "run", run.short or run.fingerprint
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
    yield "steps", f"{_steps(said)}{f', phase {said.phase}' if said.phase else ''}"
    yield "trained", format_duration(said.training_seconds)
    if run.state.is_live and said.seconds_left is not None:
        yield "left", f"about {format_duration(said.seconds_left)}"
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
        estimate, available = said.memory_estimate_bytes, machine.available_bytes
        at_most = f", estimated at most {format_size(estimate)}" if estimate else ""
        left = f"; {format_size(available)} were left" if available is not None else ""
        yield "memory", f"{format_size(machine.resident_bytes)}{at_most}{left}"
    if machine.disk_free_bytes is not None:
        yield "disk", f"{format_size(machine.disk_free_bytes)} were left"
    yield "process", f"{said.process.pid} on {said.process.host}, since {_when(said.started)}"
    yield "heard of", f"{format_duration(max(0, time.time() - said.updated))} ago; begun {_when(said.began)}"
    yield "workspace", said.workspace
    yield "work in flight", run.folder.as_posix()
    yield "fingerprint", run.fingerprint
    if run.run_id:
        yield "run id", run.run_id
    if run.names.mlflow_id:
        yield "MLflow's id", run.names.mlflow_id


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
        words.append(f"no word for {format_duration(silent)}")
    return ", ".join(words)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _clock(seconds: float) -> str:
    """1:05, 2:03:04."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
