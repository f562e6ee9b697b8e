"""The exported files of two runs -> how much longer an answer of the second takes, on this machine.

Both are timed in turn, so that what else the machine does weighs on both. A round gives one ratio; the interval is that
of their mean on a logarithmic scale, by Student's distribution.
"""

import math
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.gate.exported_files import find_timed
from bakeoff.experiments.gate.gate_verdict import Check, Outcome

ROUNDS, CALLS, IMAGES, THREADS = 7, 50, 4, 1
STUDENT = 1.943  # 5 % lie beyond, with ROUNDS - 1 degrees of freedom
Timer = Callable[[Path], float]  # a file -> milliseconds of an answer


def check_times(a: Contender, b: Contender, allowed: float, timer: Timer | None = None) -> Check:
    """Check how long an answer takes from the first file that both exported under one name."""
    before, after = find_timed(a), find_timed(b)
    name = next((name for name in before if name in after), None)
    if name is None:
        note = "no .tflite or .onnx is here of both: `dvc repro export`, or `dvc pull export`"
        return Check("latency", Outcome.UNDECIDED, None, None, allowed, note=note)
    with TemporaryDirectory() as folder:
        files = [
            Path(shutil.copy(file, Path(folder) / f"{at}{name}")) for at, file in enumerate((before[name], after[name]))
        ]
        return judge_times(name, *_time_in_turn(files, timer or _make_timer()), allowed)


def judge_times(name: str, a: Sequence[float], b: Sequence[float], allowed: float) -> Check:
    """Judge the milliseconds of as many rounds; the interval is of the share by which B takes longer."""
    ratios = [math.log(other / one) for one, other in zip(a, b, strict=True)]
    reach = STUDENT * statistics.stdev(ratios) / math.sqrt(len(ratios))
    low, high = (math.exp(statistics.fmean(ratios) + side * reach) - 1 for side in (-1, 1))
    outcome = Outcome.UNDECIDED
    if high <= allowed or low > allowed:
        outcome = Outcome.NOT_WORSE if high <= allowed else Outcome.WORSE
    times = (statistics.median(a), statistics.median(b))
    return Check(f"latency of {name}", outcome, *times, allowed, low, high, note=f"timed here in {len(ratios)} turns")


def _time_in_turn(files: Sequence[Path], timer: Timer) -> tuple[list[float], list[float]]:
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS):
        for at in (0, 1) if turn % 2 else (1, 0):
            times[at].append(timer(files[at]))
    return times


def _make_timer() -> Timer:
    from bakeoff.inference.device.device_measurement import find_images, measure_on
    from bakeoff.inference.device.host import find_host

    host, images = find_host(None, sys.executable), find_images([], IMAGES)

    def time_answers(file: Path) -> float:
        measured, _ = measure_on(host, file, images, CALLS, THREADS)
        return float(measured["answer_ms"]["p50"])

    return time_answers
