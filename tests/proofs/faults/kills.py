"""Train, `kill -9`, train again, as often as wanted: does it end where an uninterrupted training ends?

    python tests/proofs/faults/kills.py --kills 20 --variant detection

makes a small workspace in a temporary folder, trains once to the end, then once with kills at random moments, and says
the digests of both.
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
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.workspace_copy import Workspace, environment, tiny_workspace

SETTINGS = "log_every_steps: 2, validate_every_steps: 8, checkpoint_every_steps: 5, ema_decay: 0.9"
VARIANTS = {
    "detection": {
        "model": "model: {use: ssd_tiny, input_size: 64, width: 0.25, pyramid_channels: 8}",
        "train": f"train: {{use: demo, batch_size: 4, steps: 120, {SETTINGS}}}",
    },
    "eight bits": {
        "model": "model: {use: ssd_tiny, input_size: 64, width: 0.25, pyramid_channels: 8}",
        "train": (
            f"train: {{use: demo, batch_size: 4, steps: null, {SETTINGS}, phases: ["
            "{name: floats, steps: 21}, "
            "{name: eight_bits, steps: 99, quantize: true, lr: {kind: constant, peak: 0.001}}]}"
        ),
    },
    "taught": {  # by a run of the first
        "model": "model: {use: ssd_tiny, input_size: 64, width: 0.25, pyramid_channels: 8}",
        "train": f"train: {{use: demo, batch_size: 4, steps: 120, teacher: {{run: ../teacher}}, {SETTINGS}}}",
    },
    "classification": {
        "data": "data: {use: digits_single, train_examples: 40, validation_examples: 12}",
        "model": "model: {use: cnn_small, width: 0.25, input_size: 32}",
        "train": (
            "train: {use: demo, batch_size: 4, steps: 200, accumulate_batches: 2, tensorboard: true, " + SETTINGS + "}"
        ),
    },
    "video": {
        "data": "data: {use: digits_motion, train_examples: 24, validation_examples: 8, frames: 4, side: 32}",
        "model": "model: {use: clip_small, width: 0.25, input_size: 32, frames: 4}",
        "train": (
            f"train: {{use: demo, batch_size: 4, steps: null, tensorboard: true, {SETTINGS}, phases: ["
            "{name: head, steps: 41, trainable: [head], lr: {kind: constant, peak: 0.1}}, "
            "{name: whole, steps: 60, start: best, batch_size: 2, lr: {kind: constant, peak: 0.001}}, "
            "{name: slow, epochs: 10, lr: {kind: cosine, peak: 0.0001}}]}"
        ),
    },
}
LINES = 3 * 60  # of the history, about, in each variant


def prepared(folder: Path, variant: str) -> Workspace:
    """A workspace that is about to train; of one that is taught, its teacher is trained."""
    if variant == "taught":
        trained(prepared(folder.with_name("teacher"), "detection"))
    workspace = tiny_workspace(folder, VARIANTS[variant] | {"track": "track: {use: none}"})
    workspace.run("python", "-m", "bakeoff.stages.build_records")
    workspace.run("python", "-m", "bakeoff.stages.render_config")
    return workspace


def trained(workspace: Workspace) -> dict:
    """To its end."""
    workspace.run("python", "-m", "bakeoff.stages.train")
    return workspace.state()


def killed(workspace: Workspace, chance: random.Random, kills: int) -> int:
    """Start training so many times and kill it; how many of them were killed before they came to their end."""
    done = 0
    history = workspace.folder / "models/train.partial/history.jsonl"
    for life in range(kills):
        shutil.rmtree(history.parent, ignore_errors=True)  # of the life before
        process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff.stages.train"], cwd=workspace.folder, env=environment(),
            start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        awaited = chance.randrange(0, max(2, LINES // kills)) if life % 5 else 0  # now and then before the first step
        start = None
        while process.poll() is None:
            lines = history.read_bytes().count(b"\n") if history.is_file() else None
            start = lines if start is None else start
            if lines is not None and start is not None and lines - start >= awaited:
                break
            time.sleep(0.002)
        time.sleep(chance.random() * 0.05)  # into a step, a checkpoint, a look at validation
        done += process.poll() is None
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return done


def repeated(workspace: Workspace) -> list[tuple[int, str]]:
    """What is in the history more than once."""
    lines = (workspace.folder / "models/train/history.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    seen = Counter((row["step"], key) for row in rows for key in row if key not in ("step", "phase"))
    return [place for place, count in seen.items() if count > 1]


def repeated_events(workspace: Workspace) -> list[tuple[int, str]]:
    """What TensorBoard, if it is used, is given more than once, and what of the history it lacks."""
    from bakeoff.foundation.tf_loading import load_tensorflow

    load_tensorflow()
    import tensorflow as tf
    from tensorflow.core.util.event_pb2 import Event

    state = json.loads((workspace.folder / "models/train/state.json").read_text(encoding="utf-8"))
    folder = workspace.folder / ".bakeoff/runs" / state["lineage"]["fingerprint"] / "tensorboard"
    events = [
        (event.step, value.tag)
        for file in sorted(folder.glob("*tfevents*"))
        for event in (Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset(str(file)))
        for value in event.summary.value
    ]
    if not folder.is_dir():
        return []
    lines = (workspace.folder / "models/train/history.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    wanted = {(row["step"], key) for row in rows for key in row if key not in ("step", "phase")}
    missing = [(step, f"{tag} is missing") for step, tag in wanted - set(events)]
    return [place for place, count in Counter(events).items() if count > 1] + missing


def curve(workspace: Workspace) -> list[str]:
    """The history without what the clock says."""
    lines = (workspace.folder / "models/train/history.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [json.dumps({key: row[key] for key in row if key != "examples_per_second"}) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="detection")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole = prepared(Path(folder) / "whole", arguments.variant)
        cut = whole.copy(Path(folder) / "cut")
        expected = trained(whole)["weights_sha256"]
        kills = killed(cut, random.Random(arguments.seed), arguments.kills)
        state = trained(cut)
        same = state["weights_sha256"] == expected and curve(whole) == curve(cut)
        print(f"{kills} kills, went on after steps {state['resumed_at_steps']}")
        print(f"uninterrupted {expected}\ninterrupted   {state['weights_sha256']}")
        print(f"history the same: {curve(whole) == curve(cut)}, repeated in it: {repeated(cut)}")
        print(f"repeated in TensorBoard's events, or missing: {repeated_events(cut)}")
        sys.exit(0 if same and not repeated(cut) and not repeated_events(cut) else 1)


if __name__ == "__main__":
    main()
