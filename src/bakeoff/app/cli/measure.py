"""`bakeoff measure`: how fast a machine answers from an exported file, and whether it answers as this machine does."""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.predict import from_here
from bakeoff.export.devices import DEVICES
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.inference.device.device_measurement import Parity
    from bakeoff.inference.device.host import Host

MAIN = workspace.EXPORTED / "model.tflite"
COUNT, CALLS, THREADS = 20, 100, 1
DEVICE = re.compile(r"[\w.-]{1,60}")  # what MLflow takes in a metric's name


def add_to(commands: Any) -> None:
    measure = commands.add_parser("measure")
    add = measure.add_argument
    measure.add_path("file", nargs="?", type=from_here, metavar="FILE", help=f"a .tflite or .onnx ({MAIN.as_posix()})")
    add("--on", metavar="ssh://USER@HOST[:PORT]", help="a machine that ssh reaches without a password; default: here")
    add("--as", dest="device", metavar="NAME", help="name of the machine in compare (default: its host name)")
    measure.add_path(
        "--images", nargs="+", default=[], type=from_here, metavar="PATH",
        help="images to compare answers on; default: validation examples",
    )  # fmt: skip
    add("--count", type=int, default=COUNT, metavar="N", help=f"number of images ({COUNT})")
    add("--calls", type=int, default=CALLS, metavar="N", help=f"number of timed calls ({CALLS})")
    add("--threads", type=int, default=THREADS, metavar="N", help=f"threads for each call ({THREADS})")
    add("--python", metavar="PATH", help="the machine's Python (python3; here: this one)")
    add(
        "--for",
        dest="fit",
        choices=DEVICES,
        metavar="DEVICE",
        help="tell whether a device accepts the file; time nothing",
    )
    measure.set_defaults(run=measure_file, anywhere=True)


def measure_file(arguments: argparse.Namespace) -> None:
    for name, most in (("count", 1000), ("calls", 100_000), ("threads", 256)):
        value = getattr(arguments, name)
        if not 1 <= value <= most:
            raise ConfigError(f"--{name}: must be between 1 and {most:,}, got {value}")
    if arguments.device is not None and not DEVICE.fullmatch(arguments.device):
        raise ConfigError(f"--as: must be letters, digits, '.', '-' and '_', got {arguments.device!r}")
    if arguments.file is None or not (arguments.images or arguments.fit):
        workspace.enter()
    from bakeoff.inference.device.device_measurement import find_images, measure_on
    from bakeoff.inference.device.host import find_host

    path = Path(arguments.file or MAIN)
    host = find_host(arguments.on, arguments.python or ("python3" if arguments.on else sys.executable))
    if not path.is_file():
        raise WorkspaceError(f"{path}: no such file; run `dvc repro export`, or name a .tflite or .onnx")
    if arguments.fit:
        from bakeoff.inference.device.device_check import check_file

        lines = list(check_file(path, arguments.fit))
        print_line(f"measure: {path.name} is one that {arguments.fit} takes, as far as the file tells")
        for line in lines:
            print_line(f"  {line}")
        return
    images = find_images(arguments.images, arguments.count)
    measured, parity = measure_on(host, path, images, arguments.calls, arguments.threads)
    show(path, host, measured, parity)
    keep(path, arguments.device or host.name.replace(" ", "_"), measured)


def show(path: Path, host: "Host", measured: dict[str, Any], parity: "Parity") -> None:
    answer, network = measured["answer_ms"], measured["network_ms"]
    print_line(
        f"measure: {path.name} on {host.name}, {measured['machine']}, {measured['system']}, {measured['cores']} cores"
    )
    print_line(f"  {1000 / answer['p50']:.1f} frames a second; an answer takes {_in_words(answer)}")
    print_line(
        f"  of which the network {_in_words(network)}; {measured['calls']:,} calls, {measured['threads']} threads"
    )
    memory = f"{measured['memory_mb']:.0f} MB of memory, " if measured["memory_mb"] else ""
    print_line(f"  {memory}{measured['load_s']:.2f} s to load; {measured['runtime']}, Python {measured['python']}")
    print_line(f"  {parity}")


def _in_words(milliseconds: dict[str, float]) -> str:
    return f"{milliseconds['p50']:.1f} ms (90 %: {milliseconds['p90']:.1f}, 99 %: {milliseconds['p99']:.1f})"


def keep(path: Path, device: str, measured: dict[str, Any]) -> None:
    """Tell the run that exported the file, if this workspace has it; `bakeoff compare` and MLflow show it then."""
    if path.resolve().parent != workspace.EXPORTED.resolve():
        return
    from bakeoff.config.compose.whole_run import load
    from bakeoff.learning.checkpoints.trained_state import read_state
    from bakeoff.tracking import tracker
    from bakeoff.tracking.results.measurements import run_id_of

    state = read_state(workspace.TRAINED)
    place = f"device/{device}/{path.name}"
    numbers = {f"{place}.frames_per_second": 1000 / measured["answer_ms"]["p50"]}
    numbers |= {f"{place}.latency_ms_{name}": value for name, value in measured["answer_ms"].items()}
    numbers[f"{place}.memory_mb"] = measured["memory_mb"]
    with tracker.attach(load(workspace.RUN).track, run_id_of(state)) as copy:
        copy.metrics(state.last_step, numbers, revised=True)
    print_line(f"  in the run as {place}; `bakeoff compare` shows it")
