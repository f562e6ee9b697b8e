"""How long work shows itself: a live bar on a terminal, else a plain line now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10


class Bar:
    """`advance()` after each unit of work."""

    def __init__(self, title: str, total: int, unit: str, live: Progress | None, done: int = 0) -> None:
        self._title, self._total, self._unit, self._live = title, total, unit, live
        self._done, self._before, self._note = done, done, ""
        self._start = self._last_line = time.monotonic()
        self._task = live.add_task(title, total=total, completed=done, rate="", note="") if live else None

    def note(self, text: str) -> None:
        """Stands beside the numbers from the next step on."""
        self._note = text

    def advance(self, count: int = 1) -> None:
        self._done += count
        now = time.monotonic()
        rate = (self._done - self._before) / max(now - self._start, 1e-9)
        if self._live and self._task is not None:
            self._live.update(self._task, advance=count, rate=f"{rate:,.0f} {self._unit}/s", note=self._note)
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            left = (self._total - self._done) / rate
            numbers = f"{self._done:,} of {self._total:,} {self._unit}, {rate:,.1f}/s, {left:.0f} s left"
            say(f"{self._title}: {numbers}{self._note and f', {self._note}'}")


@contextmanager
def progress(title: str, total: int, unit: str, done: int = 0) -> Iterator[Bar]:
    """Of work of which so much was done before."""
    console = Console()
    if not console.is_terminal:
        yield Bar(title, total, unit, None, done)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as live:
        yield Bar(title, total, unit, live, done)


def say(line: str) -> None:
    """One line for the user, at once, also through a pipe."""
    print(line.rstrip(), file=sys.stdout, flush=True)
