"""What ends a terminal or a service -> the same as Ctrl-C, so that a command ends what it has started."""

import errno
import os
import signal
from types import FrameType

from bakeoff.progress import say

STANDARD, ERRORS = 1, 2  # outputs
NOBODY_READS = (errno.EIO, errno.EPIPE)  # of a terminal that was closed, of a pipe


def end_as_by_ctrl_c() -> None:
    """SIGTERM and SIGHUP; Windows has not both, and what nohup ignores stays ignored."""
    for name, handler in (("SIGTERM", signal.default_int_handler), ("SIGHUP", _terminal_is_gone)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, handler)


def say_while_heard(line: str) -> None:
    """As `say`; if nobody can hear it any more, that is as Ctrl-C."""
    try:
        say(line)
    except OSError as error:
        if error.errno not in NOBODY_READS:
            raise
        _speak_to_nobody(STANDARD)
        raise KeyboardInterrupt from None


def _terminal_is_gone(number: int, frame: FrameType | None) -> None:
    """What is said on the way to the end must not fail, or what runs would be left behind."""
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
