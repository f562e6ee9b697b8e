"""`bakeoff measure`: how fast a machine answers from an exported file, and whether it answers as this machine does."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.command_options import Command, argument, from_here, option
from bakeoff.export.devices import DEVICES, DeviceName
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.inference.device.device_measurement import Parity
    from bakeoff.inference.device.host import Host

MAIN = workspace.EXPORTED / "model.tflite"
COUNT, CALLS, THREADS = 20, 100, 1
DEVICE = re.compile(r"[\w.-]{1,60}")  # what MLflow takes in a metric's name


@dataclass(frozen=True)
class MeasureCommand(Command):
    needs_workspace = False
    file: Path | None = argument(f"a .tflite or .onnx ({MAIN.as_posix()})", "FILE", default=None)
    on: str | None = option("a machine that ssh reaches without a password; default: here", "ssh://USER@HOST[:PORT]")
    device: str | None = option("name of the machine in compare (default: its host name)", "NAME", flags="--as")
    images: tuple[str, ...] = option(
        "images to compare answers on; default: validation examples", "PATH", nargs="+", type=from_here
    )
    count: int = option(f"number of images ({COUNT})", "N", default=COUNT, least=1, most=1000)
    calls: int = option(f"number of timed calls ({CALLS})", "N", default=CALLS, least=1, most=100_000)
    threads: int = option(f"threads for each call ({THREADS})", "N", default=THREADS, least=1, most=256)
    python: str | None = option("the machine's Python (python3; here: this one)", "PATH")
    fit: DeviceName | None = option(
        "tell whether a device accepts the file; time nothing", "DEVICE", flags="--for", choices=DEVICES
    )

    def run(self) -> None:
        if self.device is not None and not DEVICE.fullmatch(self.device):
            raise ConfigError(f"--as: must be letters, digits, '.', '-' and '_', got {self.device!r}")
        if self.file is None or not (self.images or self.fit):
            workspace.enter()
        from bakeoff.inference.device.device_measurement import find_images, measure_on
        from bakeoff.inference.device.host import find_host

        path = self.file or MAIN
        host = find_host(self.on, self.python or ("python3" if self.on else sys.executable))
        if not path.is_file():
            raise WorkspaceError(f"{path}: no such file; run `dvc repro export`, or name a .tflite or .onnx")
        if self.fit:
            from bakeoff.inference.device.device_check import check_file

            lines = list(check_file(path, self.fit))
            print_line(f"measure: {path.name} is one that {self.fit} takes, as far as the file tells")
            for line in lines:
                print_line(f"  {line}")
            return
        images = find_images(list(self.images), self.count)
        measured, parity = measure_on(host, path, images, self.calls, self.threads)
        show(path, host, measured, parity)
        keep(path, self.device or host.name.replace(" ", "_"), measured)


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
    from bakeoff.experiments.planning.known_before import TABLE, keep_speed
    from bakeoff.learning.checkpoints.trained_state import read_state
    from bakeoff.tracking import tracker
    from bakeoff.tracking.results.measurements import run_id_of

    state = read_state(workspace.TRAINED)
    place = f"device/{device}/{path.name}"
    numbers = {f"{place}.frames_per_second": 1000 / measured["answer_ms"]["p50"]}
    numbers |= {f"{place}.latency_ms_{name}": value for name, value in measured["answer_ms"].items()}
    numbers[f"{place}.memory_mb"] = measured["memory_mb"]
    run = load(workspace.RUN)
    with tracker.attach(run.track, run_id_of(state)) as copy:
        copy.metrics(state.last_step, numbers, revised=True)
    print_line(f"  in the run as {place}; `bakeoff compare` shows it")
    form = next((form for form, name in run.export.files.items() if name == path.name), None)
    if form:
        keep_speed(device, run.model, form, numbers[f"{place}.frames_per_second"])
        print_line(f"  in {TABLE.as_posix()}, for plans of such networks")
