"""Plays a training's part before the tracker: the same calls in the same order, without TensorFlow.

    python tracking_player.py RUN_ID STEPS SECONDS_PER_STEP URI

goes on from its last checkpoint, which lies some steps back, and writes how long each logged step waited for tracking.
"""

import sys
import time
from pathlib import Path

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking import tracker

CHECKPOINT_EVERY = 40
LONG = "0.123456789 " * 700  # over MLflow's limit for a param


def play(run_id: str, steps: int, pause: float, uri: str | None) -> None:
    checkpoint, waits = Path("checkpoint"), Path("waits.txt")
    first = int(checkpoint.read_text()) if checkpoint.exists() else 0
    settings = Mlflow(uri=uri, wait_s=2.0, system_every_s=0.0, register="played")
    copy = tracker.start(settings, "a · run · here", {"bakeoff.records_digest": "9f" * 32}, run_id=run_id)
    with copy.ending(), waits.open("a", buffering=1) as log:
        copy.tags({"bakeoff.state": "RUNNING"})
        copy.params({"lr": {"peak": 0.5, "values": LONG}, "derived": {"steps": steps}, "seed": 0})
        copy.folder(Path("config"), "config")
        copy.dataset("digits", "9f" * 32, "data/records", {"train": 600, "validation": 150})
        for step in range(first, steps):
            time.sleep(pause)
            began = time.perf_counter()
            copy.metrics(step + 1, {"train/loss": 1 / (step + 1), "learning_rate": 0.001 * step})
            if step % 10 == 9:
                copy.metrics(step + 1, {"validation/accuracy": step / steps})
            log.write(f"{time.perf_counter() - began:.6f}\n")
            if (step + 1) % CHECKPOINT_EVERY == 0:
                checkpoint.write_text(str(step + 1))
        train = Path("train")  # an output that is replaced as soon as it was handed over
        train.mkdir(exist_ok=True)
        state = TrainedState(step=steps, best_step=20)
        (train / "final.weights.h5").write_bytes(bytes(range(256)) * 8000)
        (train / "best.weights.h5").write_bytes(bytes(range(256)) * 4000)
        (train / "state.json").write_text(state.as_text())
        copy.tags({"bakeoff.weights_sha256": "5d" * 32, "bakeoff.state": "SUCCEEDED"})
        copy.folder(train, "train")
        copy.weights(train, state)
        copy.metrics(steps, {"evaluation/accuracy": 0.75}, revised=True, weights="best")
        (train / "saved_model").mkdir(exist_ok=True)
        (train / "saved_model/saved_model.pb").write_bytes(bytes(range(256)) * 8)
        (train / "labels.txt").write_text("cat\ndog\n")
        copy.exported(train, state, weights="best", task="classification", multi_label=False)
        for file in [path for path in train.rglob("*") if path.is_file()]:
            file.unlink()
            file.write_bytes(b"of the next run")
    checkpoint.write_text(str(steps))


if __name__ == "__main__":
    play(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] if sys.argv[4] != "local" else None)
