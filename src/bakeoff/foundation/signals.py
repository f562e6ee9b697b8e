"""SIGTERM and SIGUSR2, by which a machine is taken away: Slurm sends one of them before it gives a node to another job.

A process that has started others passes the signal on to them and waits for them. It ends with exit code 75.
While modules load, Python drops what a handler raises in some of its own callbacks: here it is raised again.
"""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import INTERRUPTED, TRY_AGAIN_LATER, Canceled

if TYPE_CHECKING:
    from types import FrameType

    from psutil import Process

ENDS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR2") if hasattr(signal, name))
TAKES_AWAY = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGUSR2") if hasattr(signal, name))
STAGE = "bakeoff.stages."  # in the command line of a stage
SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_UNTIL_AGAIN = 0.05  # from an interrupt that was dropped to the same signal again


@contextmanager
def handling(numbers: Iterable[int], handler: Any) -> Iterator[dict[int, Any]]:
    """Handle signals by this in the block, if it is the main thread, which alone can. Yields the handlers from before,
    which return at its end.
    """
    is_able = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers if is_able}
    try:
        yield before
    finally:
        for number, one in before.items():
            signal.signal(number, one)


class Relay:
    """Passes the signals on to the processes below this one.

    A process that starts later gets the signal, too: DVC must not begin the stage after the one that was asked to end.
    """

    def __init__(self) -> None:
        self.name: str | None = None  # of the first signal that came
        self._asked: dict[int, Process] = {}
        self._apart: dict[int, Process] = {}  # processes in sessions of their own, such as the sender to MLflow
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._pass_on, name="signals", daemon=True)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """At the end of the block after a signal, no process is left that was there."""
        heard = [number for number in TAKES_AWAY if os.name == "posix" and signal.getsignal(number) != signal.SIG_IGN]
        with handling(heard, self._on_signal):
            try:
                yield
            finally:
                if self.name is not None:
                    self._is_over.set()
                    self._thread.join()
                    self._wait()

    def exit_code(self, code: int) -> int:
        """Return the exit code of a command that ended with `code`."""
        return TRY_AGAIN_LATER if self.name is not None and code else code

    def _on_signal(self, number: int, frame: "FrameType | None") -> None:
        if self.name is None:
            self.name = signal.Signals(number).name
            self._thread.start()

    def _pass_on(self) -> None:
        if not self._ask():
            # Nothing runs below this process, which ends as by Ctrl-C.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while not self._is_over.wait(SECONDS_BETWEEN_LOOKS):
            self._ask()

    def _ask(self) -> int:
        """Ask each process once to end. Return how many have been asked so far."""
        import psutil  # takes 20 ms, and mostly no signal comes

        own = os.getsid(0)
        with suppress(psutil.Error):
            for process in [*psutil.Process().children(recursive=True), *_stages_left()]:
                with suppress(psutil.Error, OSError):
                    is_own = os.getsid(process.pid) == own
                    if not is_own:
                        self._apart[process.pid] = process
                    elif process.pid not in self._asked:
                        self._asked[process.pid] = process
                        process.send_signal(signal.SIGTERM)
        return len(self._asked)

    def _wait(self) -> None:
        import psutil

        psutil.wait_procs(list(self._asked.values()))
        for process in self._apart.values():
            with suppress(psutil.Error):
                process.send_signal(signal.SIGTERM)
        psutil.wait_procs(list(self._apart.values()))


@contextmanager
def no_interrupt_lost() -> Iterator[list[BaseException]]:
    """Raise at the end of the block what the handler of a signal raised in it, if that did not end the block.

    Yields the list of what was raised until now.

    Python's import system calls back as modules load, and drops what is raised in such a call. Libraries drop it by
    `except:`. Then Ctrl-C would print a traceback, and the process would go on.
    """
    raised: list[BaseException] = []
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in ENDS}

    def remember(number: int, frame: "FrameType | None") -> None:
        try:
            handlers[number](number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    try:
        # What the system itself does, and a signal that is ignored, has no handler of Python's.
        with handling([number for number in ENDS if callable(handlers[number])], remember):
            yield raised
    finally:
        if raised:
            raise raised[0]


def repeat_dropped_interrupt(dropped: "sys.UnraisableHookArgs") -> None:
    """Send the signal again whose exception Python is about to drop: a `sys.unraisablehook`."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    is_ctrl_c = not isinstance(dropped.exc_value, Canceled) or dropped.exc_value.exit_code == INTERRUPTED
    number = signal.SIGINT if is_ctrl_c else signal.SIGTERM
    # Raised here, it would be dropped as well: the callback is still running.
    timer = threading.Timer(SECONDS_UNTIL_AGAIN, _interrupt_main_thread, [number])
    timer.daemon = True
    timer.start()


def _interrupt_main_thread(number: int) -> None:
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:  # this ends a sleep, too
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def end_all_below() -> None:
    """End what this process has started and what is left of that, such as what sends to MLflow; wait for it."""
    import psutil

    left = psutil.Process().children(recursive=True)
    for process in left:
        with suppress(psutil.Error):
            process.send_signal(signal.SIGTERM)
    psutil.wait_procs(left)


def _stages_left() -> "Iterator[Process]":
    """Yield stages of this process group whose shell is gone: `sh`, by which DVC runs a stage, does not wait for it."""
    import psutil

    group = os.getpgrp()
    for pid in psutil.pids():
        with suppress(psutil.Error, OSError):
            if os.getpgid(pid) == group and pid != os.getpid():
                process = psutil.Process(pid)
                if any(STAGE in word for word in process.cmdline()):
                    yield process
