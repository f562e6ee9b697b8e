"""The progress of long work: a live bar on a terminal, else a plain line now and then."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most commands print lines only, and Rich takes as long to load as they do
    from rich.progress import Progress

SECONDS_BETWEEN_LINES = 10
LAST_SECONDS = 30  # the rate is measured over this window
COMPILING = "compiling the first step"
Left = Callable[[], float | None]  # seconds; None: not known yet


class Bar:
    """A bar that moves by `advance()` after each unit of work."""

    def __init__(
        self, title: str, total: int | None, unit: str, live: "Progress | None", done: int = 0,
        seconds_left: Left | None = None,
    ) -> None:  # fmt: skip
        """Set up the bar. `total` is None where the work has no end. `seconds_left` is better than the mean where the
        first unit takes much longer than the others.
        """
        self._title, self._total, self._unit, self._live, self._seconds_left = title, total, unit, live, seconds_left
        self._is_prepared = seconds_left is None
        self._done, self._note = done, "" if self._is_prepared else COMPILING
        self._last_line = time.monotonic()
        self._seen = deque([(self._last_line, done)])  # of the last seconds, one each: when, and how much was done
        self._task = None
        if live:
            self._task = live.add_task(title, total=total, completed=done, rate="", left="", note=self._note)

    def note(self, text: str) -> None:
        """Show a text beside the numbers from the next step on."""
        self._note = text

    def advance(self, count: int = 1) -> None:
        self._done += count
        now = time.monotonic()
        if not self._is_prepared:
            self._is_prepared, self._last_line, self._note = True, now, self._note.removeprefix(COMPILING)
            self._seen.clear()
        rate = self._rate(now)
        left = self._seconds_left() if self._seconds_left else self._estimate_left(rate)
        if self._live and self._task is not None:
            clock = "" if left is None else str(timedelta(seconds=round(left)))
            digits = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
            speed = f"{digits} {self._unit}/s" if rate else ""
            self._live.update(self._task, advance=count, rate=speed, left=clock, note=self._note)
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            total = "" if self._total is None else f" of {self._total:,}"
            numbers = f"{self._done:,}{total} {self._unit}, {rate:,.1f}/s"
            more = ["" if left is None else f"{left:.0f} s left", self._note]
            print_line(f"{self._title}: {', '.join(filter(None, [numbers, *more]))}")

    def _estimate_left(self, rate: float) -> float | None:
        return (self._total - self._done) / rate if rate and self._total is not None else None

    def _rate(self, now: float) -> float:
        """Return units a second, of the last seconds."""
        if not self._seen or now - self._seen[-1][0] >= 1:
            self._seen.append((now, self._done))
        while len(self._seen) > 1 and self._seen[1][0] <= now - LAST_SECONDS:
            self._seen.popleft()
        since, before = self._seen[0]
        return (self._done - before) / max(now - since, 1e-9)


@contextmanager
def progress(
    title: str, total: int | None, unit: str, done: int = 0, seconds_left: Left | None = None
) -> Iterator[Bar]:
    """Give a bar for work of which `done` units were done before."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console()
    if not console.is_terminal:
        yield Bar(title, total, unit, None, done, seconds_left)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as live:
        yield Bar(title, total, unit, live, done, seconds_left)


def print_line(line: str) -> None:
    """Print one line at once, also through a pipe."""
    print(line.rstrip(), file=sys.stdout, flush=True)
