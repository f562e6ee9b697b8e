"""How long commands take that compute nothing, and whether they load TensorFlow.

    python benchmarks/startup.py        # in a workspace where `dvc repro` has nothing to do

Prints the median and the range of five runs each, and the import of TensorFlow for comparison.
"""

import statistics
import subprocess
import sys
import time

from result import print_result

READ = "from bakeoff.config.compose.whole_run import load; from bakeoff.foundation.workspace import RUN; load(RUN)"
COMPOSE = (
    "from bakeoff.config.compose.compose import compose; "
    "from bakeoff.foundation.workspace import CONF, PARAMS; compose(PARAMS, CONF)"
)
COMMANDS = {
    "bakeoff --help": [sys.executable, "-m", "bakeoff", "--help"],
    "bakeoff config": [sys.executable, "-m", "bakeoff", "config"],
    "bakeoff plan": [sys.executable, "-m", "bakeoff", "plan"],
    "read run.yaml": [sys.executable, "-c", READ],
    "compose params.yaml": [sys.executable, "-c", COMPOSE],
    "dvc repro, nothing to do": ["dvc", "repro"],
    "load_tensorflow": [
        sys.executable,
        "-c",
        "from bakeoff.foundation.tf_loading import load_tensorflow; load_tensorflow()",
    ],
    "import tensorflow": [sys.executable, "-c", "import tensorflow"],
}
COMPARED = {name: "import tensorflow" for name in ("bakeoff --help", "bakeoff config", "bakeoff plan")}
REPEATS = 5


def main() -> None:
    medians: dict[str, float] = {}
    print(f"{'command':28} {'median':>8} {'least':>8} {'most':>8}")
    for name, command in COMMANDS.items():
        seconds = [_seconds(command) for _ in range(REPEATS)]
        print(f"{name:28} {statistics.median(seconds):7.2f}s {min(seconds):7.2f}s {max(seconds):7.2f}s")
        medians[name] = statistics.median(seconds)
    for name, there in COMPARED.items():
        here, other = medians[name], medians[there]
        print_result(f"`{name}`", f"{here:.2f} s", f"{other:.2f} s", ratio=here / other, other=there)


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
