"""What a machine makes of a model.

    python -m bakeoff.inference.device.benchmark MODEL IMAGES ANSWERS --calls 100 --threads 1

This runs on the robot. It needs NumPy and LiteRT or ONNX Runtime, and of this project the few files of `bundle.py`.
IMAGES holds whole numbers (n, size, size, 3) at the network's size. ANSWERS gets what the model answers to each, by
names such as `3.scores`. The last line that is printed is JSON: see `measure`.
"""

import argparse
import json
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.versions import library_version

if TYPE_CHECKING:
    import numpy as np

    from bakeoff.export.onnx_run import OnnxModel
    from bakeoff.export.tflite_run import LiteModel

WARM_UP = 5
MOST_SECONDS = 60.0  # of timing; of a model that needs seconds for an answer, fewer calls are timed
RUNTIMES = {".onnx": ("onnxruntime",), ".tflite": ("tensorflow", "ai-edge-litert")}
NAMES_OF_DEVICE = ("/proc/device-tree/model", "/sys/devices/virtual/dmi/id/product_name")
PERCENTILES = (50, 90, 99)


def measure(path: Path, images: "np.ndarray", calls: int, threads: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what was measured, and the answers.

    {"load_s": 0.02, "calls": 100, "threads": 1, "answer_ms": {"p50": 8.1, "p90": 8.4, "p99": 9.0, "most": 9.2},
     "network_ms": {...}, "memory_mb": 61.2, "runtime": "ai-edge-litert 2.3.0", "machine": "Raspberry Pi 5", ...}
    """
    import numpy as np

    begin = time.perf_counter()
    model = _open(path, threads)
    loaded = time.perf_counter() - begin
    answers = {f"{at}.{name}": value for at, image in enumerate(images) for name, value in model.answer(image).items()}
    for image in images[:WARM_UP]:
        model.answer(image)
    whole: list[float] = []
    network: list[float] = []
    begin = time.perf_counter()
    while len(whole) < calls and (not whole or time.perf_counter() - begin < MOST_SECONDS):
        image = images[len(whole) % len(images)]
        before = time.perf_counter()
        model.answer(image)
        between = time.perf_counter()
        model.call()
        network.append(time.perf_counter() - between)
        whole.append(between - before)

    def summarise(seconds: list[float]) -> dict[str, float]:
        percentiles = np.percentile(seconds, PERCENTILES) * 1000
        return {f"p{share}": float(value) for share, value in zip(PERCENTILES, percentiles, strict=True)} | {
            "most": max(seconds) * 1000
        }

    measured = {"answer_ms": summarise(whole), "network_ms": summarise(network), "memory_mb": _peak_memory() / 1e6}
    return {"load_s": loaded, "calls": len(whole), "threads": threads, **measured, **_describe(path)}, answers


def _open(path: Path, threads: int) -> "LiteModel | OnnxModel":
    if path.suffix == ".onnx":
        from bakeoff.export.onnx_run import OnnxModel

        return OnnxModel(path, threads)
    from bakeoff.export.tflite_run import LiteModel

    return LiteModel(path, threads)


def _peak_memory() -> int:
    """Return the largest memory of this process in bytes; 0 where the system does not report it."""
    try:  # on Linux getrusage may return the peak of the process that started this one
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass  # no Linux
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _describe(path: Path) -> dict[str, Any]:
    return {
        "runtime": next(filter(None, map(_version, RUNTIMES.get(path.suffix, RUNTIMES[".tflite"]))), "unknown"),
        "machine": _name_machine(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _version(package: str) -> str | None:
    try:
        return f"{package} {library_version(package)}"
    except PackageNotFoundError:
        return None


def _name_machine() -> str:
    for place in NAMES_OF_DEVICE:
        try:
            name = Path(place).read_text(encoding="utf-8", errors="replace").strip("\0 \n")
        except OSError:
            continue
        if name:
            return name
    return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "images", "answers"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    arguments = parser.parse_args()
    with errors_in_one_line():
        try:
            import numpy as np
        except ModuleNotFoundError:
            sys.exit("NumPy is not installed; run `pip install numpy`")
        measured, answers = measure(arguments.model, np.load(arguments.images), arguments.calls, arguments.threads)
        np.savez(arguments.answers, **answers)
        print(json.dumps(measured))


if __name__ == "__main__":
    main()
