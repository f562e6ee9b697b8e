"""Work spread over processes, a bounded number of pieces at a time. A process that dies takes no build with it."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_any
from typing import Any, Self

AHEAD = 3  # pieces that wait for each worker
Work = Callable[[list[Any]], Any]  # a piece -> its result


class Workers:
    """`prepare(*arguments)` runs once in every process. One worker is this process itself."""

    def __init__(self, count: int, prepare: Callable[..., None], *arguments: Any) -> None:
        self.count, self._prepare, self._arguments = count, prepare, arguments
        self._pool = self._start(count) if count > 1 else None
        if self._pool is None:
            prepare(*arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

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
        # Forking a process that has threads, TensorFlow's or a progress bar's, may hang; so all are started afresh.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(count, context, _begin, (self._prepare, self._arguments))


def _begin(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first process, which then ends the others
    parent = multiprocessing.parent_process()
    assert parent

    def leave_with_parent() -> None:
        wait_for_any([parent.sentinel])
        os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()
    prepare(*arguments)
