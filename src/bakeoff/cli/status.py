"""`bakeoff status`: how the runs are doing, as a table, in place every second, or for scripts."""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

from bakeoff.cli.run_table import in_a_line, in_full, table
from bakeoff.progress import SECONDS_BETWEEN_LINES, say
from bakeoff.runs.known import KnownRun, known_runs, named

ENDED_SHOWN = 5  # besides those that are under way
SECONDS_BETWEEN_LOOKS = 1.0
JSON_VERSION = 1
NOTHING = "no run has begun here yet; `dvc repro` begins one"

Look = Callable[[], list[KnownRun]]


def add_to(commands: Any) -> None:
    status = commands.add_parser("status", help="how runs are doing: state, steps, time left, last metrics")
    status.add_argument(
        "which", nargs="?", metavar="RUN", help="the beginning of a fingerprint, a variant's name or an experiment's"
    )
    status.add_argument("--watch", action="store_true", help="every second, in place, until Ctrl-C or the end of RUN")
    status.add_argument("--json", action="store_true", help="the same for scripts; with --watch a line for each change")
    status.add_argument("--all", action="store_true", help=f"all runs; else of those that ended the last {ENDED_SHOWN}")
    status.set_defaults(run=show_status)


def show_status(arguments: argparse.Namespace) -> None:
    from bakeoff.tracking.sync import tell_interrupted

    tell_interrupted()
    if arguments.which:
        fingerprint = named(arguments.which, known_runs()).fingerprint

    def look() -> list[KnownRun]:
        runs = known_runs()
        if arguments.which:
            return [run for run in runs if run.fingerprint == fingerprint]
        live = [run for run in runs if run.state.is_live]
        return runs if arguments.all else [*live, *runs[len(live) :][:ENDED_SHOWN]]

    lines_of = in_full if arguments.which else table
    if not arguments.watch:
        lines = [_as_json(look(), indent=1)] if arguments.json else lines_of(look()) or [NOTHING]
        _show(lines, is_table=lines_of is table and not arguments.json)
        return
    try:
        if arguments.json:
            _follow(look, lambda runs: _as_json(runs, indent=None), until_ended=bool(arguments.which))
        elif sys.stdout.isatty():
            _redraw(look, lines_of, until_ended=bool(arguments.which))
        else:
            _tell(look, until_ended=bool(arguments.which))
    except KeyboardInterrupt:
        pass  # the way to end it


def _show(lines: list[str], *, is_table: bool) -> None:
    """On a terminal a row is a line, also if it is long."""
    width = shutil.get_terminal_size().columns if is_table and sys.stdout.isatty() else None
    for line in lines:
        say(line if width is None or len(line) <= width else f"{line[: width - 1]}…")


def _redraw(look: Look, lines_of: Callable[[list[KnownRun]], list[str]], *, until_ended: bool) -> None:
    """On a terminal; what was shown last stays on it."""
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        while True:
            runs = look()
            text = "\n".join(lines_of(runs) or [NOTHING])
            live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)
            if until_ended and not any(run.state.is_live for run in runs):
                return
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _tell(look: Look, *, until_ended: bool) -> None:
    """Through a pipe: a line for each run now and then, and at once when its state changes."""
    told: dict[str, tuple[str, float]] = {}  # by run: the state, and when
    while True:
        runs, now = look(), time.monotonic()
        for run in runs:
            state, at = told.get(run.fingerprint, ("", 0.0))
            if run.state != state or (run.state.is_live and now - at >= SECONDS_BETWEEN_LINES):
                say(in_a_line(run))
                told[run.fingerprint] = (run.state, now)
        if until_ended and not any(run.state.is_live for run in runs):
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _follow(look: Look, text_of: Callable[[list[KnownRun]], str], *, until_ended: bool) -> None:
    last = None
    while True:
        runs = look()
        text = text_of(runs)
        if text != last:
            say(text)
            last = text
        if until_ended and not any(run.state.is_live for run in runs):
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _as_json(runs: list[KnownRun], *, indent: int | None) -> str:
    return json.dumps({"version": JSON_VERSION, "runs": [run.as_tree() for run in runs]}, indent=indent)
