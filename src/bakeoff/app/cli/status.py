"""`bakeoff status`: how the runs are doing, as a table, one in full, in place every second, or for scripts."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag
from bakeoff.app.cli.terminal import RUN
from bakeoff.app.cli.terminal_table import terminal_width, wrap
from bakeoff.foundation.progress import SECONDS_BETWEEN_LINES, print_line

if TYPE_CHECKING:
    from rich.text import Text

    from bakeoff.experiments.runs.list_runs import KnownRun

ENDED_SHOWN = 5  # besides those that are under way
POLL_SECONDS = 1.0
JSON_VERSION = 1
NOTHING = "no run has started here yet; `dvc repro` starts one"
COLOURS = {  # of states
    "QUEUED": "dim", "PREPARING": "cyan", "RUNNING": "green", "SUCCEEDED": "bold", "FAILED": "red",
    "STOP_REQUESTED": "yellow", "STOPPING": "yellow", "STOPPED": "yellow", "CANCELED": "yellow",
    "TRY_AGAIN_LATER": "yellow", "STATE_UNSPECIFIED": "red",
}  # fmt: skip


@dataclass(frozen=True)
class StatusCommand(Command):
    which: str | None = argument(RUN, "RUN", default=None)
    watch: bool = flag("refresh every second, until Ctrl-C or the end of RUN")
    json: bool = flag("print JSON, for scripts; with --watch one line for each change")
    all: bool = flag(f"show all runs (default: the last {ENDED_SHOWN} of those that ended)")

    def run(self) -> None:
        from bakeoff.app.cli.run_table import hint, run_lines, table_lines
        from bakeoff.experiments.runs.list_runs import known_runs
        from bakeoff.tracking.sync.sync_status import report_interrupted

        report_interrupted()
        fingerprint = None
        if self.which:
            from bakeoff.tracking.resolve_name import resolve

            fingerprint = resolve(self.which, known_runs()).fingerprint

        def read_runs() -> list["KnownRun"]:
            runs = known_runs()
            if fingerprint is not None:
                return [run for run in runs if run.fingerprint == fingerprint]
            live = [run for run in runs if run.state.is_live]
            return runs if self.all else [*live, *runs[len(live) :][:ENDED_SHOWN]]

        def lines_of(runs: list["KnownRun"]) -> list[str]:
            if self.which:
                return run_lines(runs, terminal_width())
            width = terminal_width()
            more = wrap(hint(runs), width) if width and sys.stdout.isatty() else []
            return [*table_lines(runs, width), *more] or [NOTHING]

        if not self.watch:
            _show([_as_json(read_runs(), indent=1)] if self.json else lines_of(read_runs()))
            return
        snapshots = _poll(read_runs, until_ended=fingerprint is not None)
        with suppress(KeyboardInterrupt):  # the way to end it
            if self.json:
                _follow(snapshots)
            elif sys.stdout.isatty():
                _redraw(snapshots, lines_of)
            else:
                _print_changes(snapshots)


def _show(lines: list[str]) -> None:
    if not _is_colourful():
        print_line("\n".join(lines))
        return
    from rich.console import Console

    Console(highlight=False).print(_paint(lines), soft_wrap=True)


def _is_colourful() -> bool:
    """Only on a terminal that knows colours, and if nobody has said no (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _paint(lines: list[str]) -> "Text":
    from rich.text import Text

    text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
    for state, colour in COLOURS.items() if _is_colourful() else ():
        text.highlight_regex(rf"(?m)(?<=  ){state}(?=  |$)", colour)
    return text


def _poll(read_runs: Callable[[], list["KnownRun"]], *, until_ended: bool) -> Iterator[list["KnownRun"]]:
    while True:
        runs = read_runs()
        yield runs
        if until_ended and not any(run.state.is_live for run in runs):
            return
        time.sleep(POLL_SECONDS)


def _redraw(snapshots: Iterable[list["KnownRun"]], lines_of: Callable[[list["KnownRun"]], list[str]]) -> None:
    """On a terminal; what was shown last stays on it."""
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        for runs in snapshots:
            live.update(_paint(lines_of(runs)), refresh=True)


def _print_changes(snapshots: Iterable[list["KnownRun"]]) -> None:
    """Through a pipe: a line for each run now and then, and at once when its state changes."""
    from bakeoff.app.cli.run_table import line_of

    printed: dict[str, tuple[str, float]] = {}  # by run: the state, and when
    for runs in snapshots:
        now = time.monotonic()
        for run in runs:
            state, at = printed.get(run.fingerprint, ("", 0.0))
            if run.state != state or (run.state.is_live and now - at >= SECONDS_BETWEEN_LINES):
                print_line(line_of(run))
                printed[run.fingerprint] = (run.state, now)


def _follow(snapshots: Iterable[list["KnownRun"]]) -> None:
    last = None
    for runs in snapshots:
        text = _as_json(runs, indent=None)
        if text != last:
            print_line(text)
            last = text


def _as_json(runs: list["KnownRun"], *, indent: int | None) -> str:
    return json.dumps({"version": JSON_VERSION, "runs": [run.as_tree() for run in runs]}, indent=indent)
