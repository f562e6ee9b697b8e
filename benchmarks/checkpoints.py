"""What it costs a training that MLflow gets its checkpoints.

    python benchmarks/checkpoints.py               # three networks of conf/model, some minutes on two cores

Telling a checkpoint runs in the thread that wrote it, so the loop waits for none of it; what it takes of a processor is
set against that of the steps between two checkpoints. So is what the sender, a process of its own, takes to bring a
checkpoint to an MLflow store in SQLite and to remove the one that it replaces. All are medians of processor time,
which holds on a busy machine, too.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from result import print_result
from training import BATCH_SIZES, CHECKPOINT_EVERY, Kitchen

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.run_folder import CheckpointList, RunFolder
from bakeoff.learning.checkpoints.run_state import PhaseState, Position, RunState
from bakeoff.learning.training.loop import seed_everything
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.mlflow_client import open_store
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.sync.send_run import Delivery
from bakeoff.tracking.tracker import Tracker

RUN = "0123456789abcdef" * 2
NETWORKS = ["cnn_tiny", "cnn_small", "ssd_small"]
STEPS = 50  # that are timed
STATE = RunState(phases=(PhaseState(),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--networks", nargs="+", default=["cnn_tiny", "cnn_small", "ssd_small"], choices=sorted(BATCH_SIZES)
    )
    parser.add_argument("--checkpoints", type=int, default=15)
    arguments = parser.parse_args()
    os.environ.pop("DVC_ROOT", None)
    seed_everything(0, deterministic=True)
    print(f"{'network':10} {'file':>9} {'step':>9} {'reported':>9} {'of the loop':>11} {'sent':>9} {'of the loop':>11}")
    for name in arguments.networks:
        kitchen = Kitchen(name)
        kitchen.bare(5)
        step = statistics.median(kitchen.bare(STEPS)[1] for _ in range(3)) / STEPS
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            size, reported, sent = measure(kitchen, arguments.checkpoints)
        loop = step * CHECKPOINT_EVERY
        print(
            f"{name:10} {size / 1e6:6.1f} MB {step * 1000:6.1f} ms {reported * 1000:6.2f} ms {reported / loop:11.3%}"
            f" {sent * 1000:6.0f} ms {sent / loop:11.2%}",
            flush=True,
        )
        what = f"a checkpoint of {name} reported and sent to MLflow"
        print_result(
            what,
            f"{(reported + sent) * 1000:.0f} ms",
            f"{loop:.1f} s",
            ratio=(reported + sent) / loop,
            other="its steps",
        )


def measure(kitchen: Kitchen, checkpoints: int) -> tuple[int, float, float]:
    """Return the bytes of a checkpoint, and the seconds of a processor that telling and sending one take."""
    journal = Journal(RUN)
    target = Target("local", "bakeoff")
    target.write(journal.folder)
    journal.run("a network")
    tracker, reported, sent = Tracker(RUN, Mlflow(), journal), [], []

    def report(stock: CheckpointList) -> None:
        reported.append(seconds(time.thread_time, lambda: tracker.checkpoint(stock)))

    delivery = Delivery(*open_store(target), journal.folder, target)
    with RunFolder(Path("work"), ["all"]) as work, work.followed(lambda: None, report):
        for number in range(1, checkpoints + 1):
            journal.metrics(number, {"train/loss": 1 / number})
            work.save(Position(0, number), STATE, kitchen.learner.state, now=True)
            sent.append(seconds(time.process_time, delivery.send))
        size = max(path.stat().st_size for path in Path("work").rglob("0*"))
    journal.close()
    return size, statistics.median(reported), statistics.median(sent)


def seconds(clock: Callable[[], float], do: Callable[[], object]) -> float:
    before = clock()
    do()
    return clock() - before


if __name__ == "__main__":
    main()
