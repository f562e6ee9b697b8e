"""The terminal of a command: columns, a yes or no, and what ends it."""

import atexit
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Protocol, TypeVar

from bakeoff.foundation.errors import TakenAway
from bakeoff.foundation.formatting import align, format_size
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.signals import TAKES_AWAY, end_all_below

STANDARD, ERRORS = 1, 2  # outputs
RUN = "a run by any of its names: the short one of every list, an id, an experiment, a variant, a commit (docs/runs.md)"
NOBODY_READS = (errno.EIO, errno.EPIPE)  # of a terminal that was closed, of a pipe


def print_columns(rows: Iterable[tuple[str, ...]]) -> None:
    for line in align(rows):
        print_line(line)


class Removable(Protocol):
    """Files that a command can remove."""

    @property
    def stays(self) -> str | None: ...  # why

    @property
    def bytes(self) -> int: ...

    def remove(self) -> bool: ...


R = TypeVar("R", bound=Removable)


def remove_confirmed(items: Sequence[R], nothing: str, *, sure: bool) -> list[R]:
    """Remove what does not stay, if one says yes; return what could not be removed."""
    going = [item for item in items if item.stays is None]
    wanted = f"{len(going)} of {len(items)}, {format_size(sum(item.bytes for item in going))}"
    if not going:
        print_line(nothing)
    elif sure or confirm(f"remove {wanted}? (yes/no) "):
        left = [item for item in going if not item.remove()]
        print_line(f"freed {format_size(sum(item.bytes for item in going if item not in left))}")
        return left
    else:
        print_line(f"nothing was removed; --yes removes {wanted}")
    return []


def confirm(question: str) -> bool:
    """Whether one says yes; nobody does where there is no terminal."""
    if not _is_terminal():
        return False
    try:
        return input(question).strip().lower() == "yes"
    except EOFError:
        return False


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def end_as_by_ctrl_c() -> None:
    """Let what ends a service, a terminal or a machine's time end what a command has started, too.

    Windows has not all of these signals, and what nohup ignores stays ignored.
    """
    handlers: dict[int, Callable[[int, FrameType | None], None]] = dict.fromkeys(TAKES_AWAY, _machine_is_taken_away)
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = _terminal_is_gone
    for number, handler in handlers.items():
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, handler)


def print_while_heard(line: str) -> None:
    """As `say`; if nobody can hear it any more, that is as Ctrl-C."""
    try:
        print_line(line)
    except OSError as error:
        if error.errno not in NOBODY_READS:
            raise
        _speak_to_nobody(STANDARD)
        raise KeyboardInterrupt from None


def _machine_is_taken_away(number: int, frame: FrameType | None) -> None:
    atexit.register(end_all_below)  # no process may stay, not even the sender that tells MLflow of the end
    raise TakenAway(signal.Signals(number).name)


def _terminal_is_gone(number: int, frame: FrameType | None) -> None:
    """A message on the way to the end must not fail, or what runs would be left behind."""
    _speak_to_nobody(*(output for output in (STANDARD, ERRORS) if _is_gone(output)))
    raise KeyboardInterrupt


def _is_gone(output: int) -> bool:
    try:
        os.write(output, b"")
    except OSError:
        return True
    return False


def _speak_to_nobody(*outputs: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in outputs:
        os.dup2(nowhere, output)
    os.close(nowhere)
