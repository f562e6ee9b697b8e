"""Several workers train as one, and any of them is killed: do the weights come out that an undisturbed training has?

    python tests/proofs/faults/workers.py --kills 20 [--workers 2] [--seed 0]

makes a small workspace in a temporary folder. It trains there twice with several workers of this machine, then once
while workers are killed at random moments. After each checkpoint all workers compare their whole state, so a
training that ends says that it was equal. The first step's loss is that of one worker, but for rounding.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.kills import curve
from support.workspace_copy import Workspace, environment, tiny_workspace

STEPS = 240
STAGE = (sys.executable, "-m", "bakeoff.stages.train")
DATA = "data: {use: digits_single, train_examples: 60, validation_examples: 12}"
REST = "log_every_steps: 1, validate_every_steps: 40, checkpoint_every_steps: 1, ema_decay: 0.9"


def rendered(
    folder: Path, workers: int, steps: int = STEPS, dropout: float = 0.2, *, eight_bits: bool = False
) -> Workspace:
    """With `eight_bits` the second half of the steps is a phase of its own, in these."""
    model = f"model: {{use: cnn_small, width: 0.25, input_size: 32, dropout: {dropout}}}"
    phases = f"{{name: a, steps: {steps // 2}}}, {{name: b, steps: {steps // 2}, quantize: true}}"
    length = f"steps: null, phases: [{phases}]" if eight_bits else f"steps: {steps}"
    train = f"train: {{use: demo, batch_size: 4, {length}, workers: {workers}, {REST}}}"
    workspace = tiny_workspace(folder, {"data": DATA, "model": model, "train": train})
    workspace.render()
    return workspace


def anew(workspace: Workspace) -> None:
    for part in ("runs", "results"):
        shutil.rmtree(workspace.folder / ".bakeoff" / part, ignore_errors=True)


def trained(workspace: Workspace) -> tuple[str, list[str]]:
    """Digest of the weights, and the curve."""
    workspace.run(*STAGE)
    return workspace.state()["weights_sha256"], curve(workspace)


def trained_until(workspace: Workspace, number: signal.Signals, steps: int) -> int:
    """Send a signal to the worker that leads after so many steps; return its exit code."""
    leader = subprocess.Popen(STAGE, cwd=workspace.folder, env=environment())
    assert _wait_for_steps(workspace, leader, steps)
    leader.send_signal(number)
    return leader.wait()


def first_loss(folder: Path, workers: int) -> float:
    """Without dropout, whose masks have the shape of a worker's part of the batch."""
    _, lines = trained(rendered(folder / f"first-{workers}", workers, steps=2, dropout=0.0))
    return float(json.loads(lines[0])["train/loss"])


def trained_with_kills(workspace: Workspace, kills: int, draw: random.Random) -> tuple[str, list[str], list[int]]:
    """Kill so many times; return also the ranks that were killed, 0 being the worker that leads."""
    ranks: list[int] = []
    log = workspace.folder.parent / "killed.log"
    while True:
        with log.open("a") as file:
            leader = subprocess.Popen(STAGE, cwd=workspace.folder, env=environment(), stdout=file, stderr=file)
        while leader.poll() is None and len(ranks) < kills:
            if not _wait_for_steps(workspace, leader, draw.randrange(3, 14)):
                continue
            others = [
                child for child in psutil.Process(leader.pid).children() if "bakeoff.stages.train" in _line(child)
            ]
            rank = draw.randrange(0, len(others) + 1)
            ranks.append(rank)
            os.kill(leader.pid if rank == 0 else others[rank - 1].pid, signal.SIGKILL)
            print(f"kill {len(ranks)}: worker {rank}", flush=True)
            if rank == 0:
                leader.wait()
        code = leader.wait()
        if code == 0 and len(ranks) >= kills:
            return workspace.state()["weights_sha256"], curve(workspace), ranks
        assert code != 0, f"it ended after {len(ranks)} kills; more steps are needed"
        assert code in (-signal.SIGKILL, 75), log.read_text()[-3000:]


def _wait_for_steps(workspace: Workspace, leader: "subprocess.Popen[bytes]", steps: int) -> bool:
    """Whether so many more were logged before the leader ended."""
    first = _logged(workspace)
    while leader.poll() is None:
        if _logged(workspace) >= first + steps:
            return True
        time.sleep(0.05)
    return False


def _logged(workspace: Workspace) -> int:
    """The step that the status tells."""
    steps = [0]
    for file in (workspace.folder / ".bakeoff/runs").glob("*/status.json"):
        try:
            steps.append(json.loads(file.read_text(encoding="utf-8"))["steps_done"])
        except (OSError, ValueError):
            continue  # it is being written
    return max(steps)


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as folder:
        losses = [first_loss(Path(folder), number) for number in (1, arguments.workers)]
        print(f"loss of the first step: {losses[0]} alone, {losses[1]} with {arguments.workers} workers", flush=True)
        workspace = rendered(Path(folder, "several"), arguments.workers)
        digest, several = trained(workspace)
        anew(workspace)
        print(f"again: {'equal' if trained(workspace) == (digest, several) else 'DIFFERENT'}", flush=True)
        anew(workspace)
        new_digest, lines, ranks = trained_with_kills(workspace, arguments.kills, random.Random(arguments.seed))
        same = "equal" if (new_digest, lines) == (digest, several) else "DIFFERENT"
        print(f"{len(ranks)} kills, of worker 0 {ranks.count(0)}: {same}, {new_digest}")
        sys.exit(same != "equal")


if __name__ == "__main__":
    main()
