"""What it costs a training that MLflow gets its checkpoints.

    python benchmarks/checkpoints.py               # three networks of conf/model, some minutes on two cores

Telling a checkpoint runs in the thread that wrote it, so the loop waits for none of it; what it takes of a processor is
set against that of the steps between two checkpoints. So is what the sender, a process of its own, takes to bring a
checkpoint to an MLflow store in SQLite and to remove the one that it replaces: as a model that MLflow opens, and as it
is. All are medians of processor time, which holds on a busy machine, too. What all checkpoints of a network share is
made before, once, and timed by itself.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from made_up import CLASSES
from result import print_result
from training import BATCH_SIZES, CHECKPOINT_EVERY, Kitchen

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.run_folder import CheckpointList, RunFolder
from bakeoff.learning.checkpoints.run_state import PhaseState, Position, RunState
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.run_file.parse import settings_tree
from bakeoff.learning.training.loop import seed_everything
from bakeoff.tracking.journal.entries import NetworkEntry
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.mlflow_client import open_store
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.sync.network_files import NetworkFiles
from bakeoff.tracking.sync.send_run import Delivery
from bakeoff.tracking.tracker import Tracker

RUN = "0123456789abcdef" * 2
STEPS = 50  # that are timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--networks", nargs="+", default=["cnn_tiny", "cnn_small", "ssd_small"], choices=sorted(BATCH_SIZES)
    )
    parser.add_argument("--checkpoints", type=int, default=15)
    arguments = parser.parse_args()
    os.environ.pop("DVC_ROOT", None)
    seed_everything(0, deterministic=True)
    columns = ("file", "stored", "step", "reported", "of the loop", "sent", "of the loop")
    print(f"{'network':10} {'form':8} {' '.join(f'{column:>9}' for column in columns)}")
    for name in arguments.networks:
        kitchen = Kitchen(name)
        kitchen.bare(5)
        step = statistics.median(kitchen.bare(STEPS)[1] for _ in range(3)) / STEPS
        loop = step * CHECKPOINT_EVERY
        for form in ("as it is", "opened"):
            with tempfile.TemporaryDirectory() as folder, chdir(folder):
                recipe = recipe_of(kitchen) if form == "opened" else None
                cost = measure(kitchen, recipe, arguments.checkpoints)
            print(
                f"{name:10} {form:8} {cost.file / 1e6:6.2f} MB {cost.stored / 1e6:6.2f} MB {step * 1000:6.1f} ms"
                f" {cost.reported * 1000:6.2f} ms {cost.reported / loop:11.3%} {cost.sent * 1000:6.0f} ms"
                f" {cost.sent / loop:11.2%}" + (f", once {cost.made:.1f} s" if recipe else ""),
                flush=True,
            )
        print_result(
            f"a checkpoint of {name} reported and sent to MLflow",
            f"{(cost.reported + cost.sent) * 1000:.0f} ms",
            f"{loop:.1f} s",
            ratio=(cost.reported + cost.sent) / loop,
            other="its steps",
        )


@dataclass(frozen=True)
class Cost:
    """What a checkpoint costs: its own bytes and those in the store, seconds of a processor to report and to send it,
    and the seconds that its network takes once."""

    file: int
    stored: int
    reported: float
    sent: float
    made: float


def recipe_of(kitchen: Kitchen) -> NetworkEntry:
    return NetworkEntry(settings_tree(kitchen.model, NETWORKS), tuple(f"class {n}" for n in range(CLASSES)))


def measure(kitchen: Kitchen, recipe: NetworkEntry | None, checkpoints: int) -> Cost:
    journal = Journal(RUN)
    target = Target("local", "bakeoff")
    target.write(journal.folder)
    journal.run("a network")
    if recipe:
        journal.network(recipe.model, recipe.classes, multi_label=recipe.multi_label)
    made = seconds(time.perf_counter, NetworkFiles(journal.folder).find_or_make)
    tracker, reported, sent = Tracker(RUN, Mlflow(), journal), [], []
    state = RunState(phases=(PhaseState(),), paths=kitchen.learner.kept_in_state)

    def report(stock: CheckpointList) -> None:
        reported.append(seconds(time.thread_time, lambda: tracker.checkpoint(stock)))

    delivery = Delivery(*open_store(target), journal.folder, target)
    with RunFolder(Path("work"), ["all"]) as work, work.followed(lambda: None, report):
        for number in range(1, checkpoints + 1):
            journal.metrics(number, {"train/loss": 1 / number})
            work.save(Position(0, number), state, kitchen.learner.state, now=True)
            sent.append(seconds(time.process_time, delivery.send))
        size = max(path.stat().st_size for path in Path("work").rglob("0*"))
    journal.close()
    folders = Path("mlartifacts/models").iterdir()  # those of superseded checkpoints are empty
    stored = max(sum(path.stat().st_size for path in one.rglob("*") if path.is_file()) for one in folders)
    return Cost(size, stored, statistics.median(reported), statistics.median(sent), made)


def seconds(clock: Callable[[], float], do: Callable[[], object]) -> float:
    before = clock()
    do()
    return clock() - before


if __name__ == "__main__":
    main()
