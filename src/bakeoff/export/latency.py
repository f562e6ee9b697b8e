"""How long a call takes on this machine's processor."""

import statistics
import time
from collections.abc import Callable

WARM_UP = 3
MOST_SECONDS = 20.0  # of timing; of a network that needs seconds for an answer, fewer calls are timed


def latency(call: Callable[[], object], calls: int) -> tuple[float, int]:
    """The median in milliseconds, and of how many calls."""
    start = time.perf_counter()
    for _ in range(WARM_UP):
        call()
    taken: list[float] = []
    while len(taken) < calls and (not taken or time.perf_counter() - start < MOST_SECONDS):
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return 1000 * statistics.median(taken), len(taken)
