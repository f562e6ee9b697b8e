"""Stop a training, go on, stop it again: how long does it take, is it evaluated, does it end as if it had not been?

    python tests/proofs/faults/stops.py --stops 6 --variant detection
    python tests/proofs/faults/stops.py --minutes 1

The first makes a small workspace in a temporary folder and runs `dvc repro` in it on a terminal of its own, once to the
end and once with stops at random steps: by Ctrl-C typed into the terminal, by the file that `bakeoff stop` writes; then
by Ctrl-C before the first step, and twice. The second says how long a training with `max_minutes` takes.
"""

import argparse
import json
import os
import pty
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.kills import VARIANTS, curve, prepared, repeated
from support.workspace_copy import Workspace, environment, tiny_workspace

CTRL_C = b"\x03"
LINES = 3 * 60  # of the history, about, in each variant
PATIENCE = 300  # seconds


class Terminal:
    """A command in a session of its own, with a keyboard, as in a window."""

    def __init__(self, workspace: Workspace, *command: str) -> None:
        self.screen = b""
        self.pid, self._keyboard = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell in the background has told us to ignore it
            os.chdir(workspace.folder)
            os.execvpe(command[0], command, environment())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def wait(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        self._reader.join(5)
        os.close(self._keyboard)
        return os.waitstatus_to_exitcode(status)

    def training(self) -> psutil.Process | None:
        """The process that trains."""
        for process in psutil.Process(self.pid).children(recursive=True):
            try:
                command = process.cmdline()
            except psutil.Error:
                continue
            if "bakeoff.stages.train" in command and "python" in Path(command[0]).name:
                return process
        return None

    def _read(self) -> None:
        try:
            while some := os.read(self._keyboard, 4096):
                self.screen += some
        except OSError:  # how Linux says that nobody holds the other end any more
            pass


def until(condition: Callable[[], object], what: str) -> None:
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > PATIENCE:
            raise TimeoutError(what)
        time.sleep(0.005)


def lines_of(workspace: Workspace) -> int | None:
    history = workspace.folder / "models/train.partial/history.jsonl"
    return history.read_bytes().count(b"\n") if history.is_file() else None


def wait_for_lines(workspace: Workspace, awaited: int) -> None:
    """Of this life; those of the lives before are there from its beginning."""
    until(lambda: lines_of(workspace) is not None, "training")
    start = lines_of(workspace) or 0
    until(lambda: (lines_of(workspace) or 0) >= start + awaited, "a line")


def stopped(workspace: Workspace, way: str, awaited: int) -> tuple[float, dict, dict]:
    """Stop after so many lines; seconds until the training had ended and was saved, its state, and its evaluation."""
    terminal = Terminal(workspace, "dvc", "repro")
    wait_for_lines(workspace, awaited)
    asked = time.monotonic()
    if way == "Ctrl-C":
        terminal.type(CTRL_C)
    else:
        [folder] = (workspace.folder / ".bakeoff/runs").iterdir()
        (folder / "stop_requested").touch()
    saved = workspace.folder / "models/train/state.json"
    until(saved.is_file, "the end of training")
    seconds = time.monotonic() - asked
    state = json.loads(saved.read_text(encoding="utf-8"))
    by_dvc = terminal.wait() == 0
    screen_text = terminal.screen.decode()
    if by_dvc:
        assert "Running stage 'evaluate'" in screen_text and "Running stage 'export'" in screen_text, screen_text
    else:
        assert (
            way == "Ctrl-C"
            and "DVC runs stages by a shell that Ctrl-C ends" in screen_text
            and "export: " in screen_text
        ), screen_text
    metrics = json.loads((workspace.folder / "models/evaluation/metrics.json").read_text(encoding="utf-8"))
    return seconds, state, metrics


def broken_off(workspace: Workspace, when: str) -> str:
    """Ctrl-C where nothing is to be saved, or twice; what DVC says of the end of the stage."""
    terminal = Terminal(workspace, "dvc", "repro")
    until(terminal.training, "the process that trains")
    if when == "twice":
        wait_for_lines(workspace, 1)
        terminal.type(CTRL_C)
        until(lambda: b"Ctrl-C again stops at once" in terminal.screen, "an answer")
    else:
        time.sleep(3)  # TensorFlow is being loaded
    terminal.type(CTRL_C)
    assert terminal.wait() != 0, terminal.screen.decode()
    left = [path.name for path in (workspace.folder / "models").glob("train*")]
    left += [path.name for path in (workspace.folder / ".bakeoff").rglob("*.partial")]
    assert left == [] and b"Running stage 'evaluate'" not in terminal.screen, left
    return terminal.screen.decode().rpartition("exited with ")[2].split()[0]


def repro(workspace: Workspace) -> dict:
    workspace.run("dvc", "repro")
    return workspace.state()


def compare_stops(folder: Path, variant: str, stops: int, chance: random.Random) -> bool:
    whole = prepared(folder / "whole", variant)
    cut = whole.copy(folder / "cut")
    expected = repro(whole)
    ways = ["Ctrl-C", "bakeoff stop"]
    for number in range(stops):
        seconds, state, metrics = stopped(cut, ways[number % 2], chance.randrange(1, max(2, LINES // (stops + 1))))
        numbers = {name: round(value, 3) for name, value in metrics.items() if isinstance(value, float)}
        print(
            f"{ways[number % 2]}: {state['state']} after step {state['step']} of {state['steps']}, "
            f"saved {seconds:.2f} s later; evaluated: {numbers}",
            flush=True,
        )
    for when in ("while TensorFlow is loaded", "twice"):
        print(f"Ctrl-C {when}: stage train exits with {broken_off(cut, when)}, and leaves nothing", flush=True)
    state = repro(cut)
    nothing = "Running stage" not in cut.run("dvc", "repro").stdout
    print(f"then {state['state']}, went on after steps {state['resumed_at_steps']}; then nothing to do: {nothing}")
    print(f"never stopped {expected['weights_sha256']}\nstopped       {state['weights_sha256']}")
    same = curve(whole) == curve(cut)
    print(f"history the same: {same}, repeated in it: {repeated(cut)}")
    return same and nothing and not repeated(cut) and state["weights_sha256"] == expected["weights_sha256"]


def limited(folder: Path, minutes: float) -> bool:
    train = f"train: {{use: demo, batch_size: 16, steps: 1000000, max_minutes: {minutes:g}, validate_every_steps: 400}}"
    data = "data: {use: digits, train_examples: 400, validation_examples: 200}"
    workspace = tiny_workspace(folder / "clone", {"train": train, "data": data, "track": "track: {use: none}"})
    state = repro(workspace)
    print(f"{state['state']} by {state['ended_by']} after {state['step']} steps, {state['seconds']} s of training")
    print(f"best {state['best_metric']} {state['best_value']} at step {state['best_step']}")
    return abs(state["seconds"] - 60 * minutes) <= 0.05 * 60 * minutes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stops", type=int, default=6)
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="detection")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="instead: train for so long")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.minutes:
            good = limited(Path(folder), arguments.minutes)
        else:
            good = compare_stops(Path(folder), arguments.variant, arguments.stops, random.Random(arguments.seed))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
