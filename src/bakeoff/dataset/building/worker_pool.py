"""Work spread over processes, a bounded number of pieces at a time. A process that dies takes no build with it."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_any
from multiprocessing.context import BaseContext
from typing import Any, Self

AHEAD = 3  # pieces that wait for each worker
NEEDED = ("bakeoff.dataset.building.build",)  # what a worker process of a build imports
# While the server of new processes starts: it imports the code of this process, and needs no threads of its own.
SERVER_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
Work = Callable[[list[Any]], Any]  # a piece -> its result


class WorkerPool:
    """`prepare(*arguments)` runs once in every process. One worker is this process itself."""

    def __init__(self, count: int, prepare: Callable[..., None], *arguments: Any) -> None:
        self.count, self._prepare, self._arguments = count, prepare, arguments
        self._pool = self._start(count) if count > 1 else None
        if self._pool is None:
            prepare(*arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        """After an error wait until nothing is written any more. Else the processes end beside what comes next."""
        if self._pool:
            self._pool.shutdown(wait=kind is not None, cancel_futures=True)

    def warm_up(self) -> None:
        """Processes load what they need while the caller does other things."""
        if self._pool:
            for _ in range(self.count):
                self._pool.submit(os.getpid)

    def each(self, work: Work, pieces: Iterable[list[Any]], give_up: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield the results, as they come. `give_up` gives that of the one element that kills whoever works on it."""
        if self._pool is None:
            yield from map(work, pieces)
            return
        waiting: dict[Future[Any], list[Any]] = {}
        source = iter(pieces)
        held: list[Any] | None = None  # taken from the source and not yet handed on
        while True:
            try:
                while len(waiting) < AHEAD * self.count and (held := next(source, None)) is not None:
                    waiting[self._pool.submit(work, held)] = held
                    held = None
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    del waiting[future]
                    yield result
            except BrokenProcessPool:
                suspects = [*waiting.values(), *([held] if held is not None else [])]
                waiting.clear()
                held = None
                self._pool = self._start(self.count)
                for piece in suspects:
                    yield from self._one_by_one(work, piece, give_up)

    def _one_by_one(self, work: Work, piece: list[Any], give_up: Callable[[Any], Any]) -> Iterator[Any]:
        for element in piece:
            assert self._pool
            try:
                yield self._pool.submit(work, [element]).result()
            except BrokenProcessPool:
                self._pool = self._start(self.count)
                yield give_up(element)

    def _start(self, count: int) -> ProcessPoolExecutor:
        arguments = (self._prepare, self._arguments, dict(os.environ))
        return ProcessPoolExecutor(count, _choose_context(), _begin, arguments)


def start_server() -> None:
    """Start the process that worker processes are copied from, so that it imports what they need beside other work.

    That is also what the program has imported so far, since each worker imports the file that it was started with.
    """
    _choose_context(*(name for name in sys.modules if name.startswith("bakeoff.")))


def _choose_context(*modules: str) -> BaseContext:
    """Return how processes start. None is a copy of this one.

    A copy of a process with threads may hang, and TensorFlow and progress bars have threads. On Linux, a process
    without threads imports a worker's modules once, and each worker is a copy of it.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*NEEDED, *modules])
    settings = {**SERVER_THREADS, "PYTHONPATH": os.pathsep.join(sys.path)}  # else it may import other code than this
    before = {key: os.environ.get(key) for key in settings}
    os.environ.update(settings)
    try:
        forkserver.ensure_running()
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
    return context


def _begin(prepare: Callable[..., None], arguments: tuple[Any, ...], environment: dict[str, str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first process, which then ends the others
    os.environ.clear()
    os.environ.update(environment)
    parent = multiprocessing.parent_process()
    assert parent

    def leave_with_parent() -> None:
        wait_for_any([parent.sentinel])
        os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()
    prepare(*arguments)
