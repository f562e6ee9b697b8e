"""Checkpoints of real networks in an MLflow store, as training and its sender bring them there."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation.workspace import in_flight
from bakeoff.learning.checkpoints.continue_from import write_identity
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.checkpoints.run_state import Best, PhaseState, Position, RunState
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.networks.network import Network
from bakeoff.learning.run_file.parse import settings_tree
from bakeoff.tracking.journal.entries import NetworkEntry
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.sync.make_network_files import make_network_files
from bakeoff.tracking.sync.network_files import folder_of
from bakeoff.tracking.tracker import Tracker
from support.made_checkpoints import FINGERPRINT, IDENTITY, RUN

CLASSES = ("red one", "blue")
SMALL = Cnn(input_size=16, width=0.25)


def recipe_of(model: Network, classes: Iterable[str], *, multi_label: bool = False) -> NetworkEntry:
    return NetworkEntry(settings_tree(model, NETWORKS), tuple(classes), multi_label)


def make_files(recipe: NetworkEntry) -> None:
    """Make what the sender makes by a process, in this one."""
    make_network_files(recipe, folder_of(recipe))


@dataclass
class NetworkTraining:
    """A run whose steps only change all weights."""

    model: Network
    recipe: NetworkEntry
    settings: Mlflow = field(default_factory=lambda: Mlflow(checkpoints="all"))

    def __post_init__(self) -> None:
        self.network = self.model.build(len(self.recipe.classes))
        draw_weights(self.network, 0)

    def take(self, target: Target, steps: Iterable[int], best: Callable[[int], bool] = lambda step: True) -> Path:
        """Take steps, each with a checkpoint; return the journal."""
        journal = Journal(RUN)
        target.write(journal.folder)
        journal.run("cnn · cosine · low")
        journal.params({"lr.peak": "0.1", "variant.lr": "cosine", "derived.steps": "60"})
        tracker, folder = Tracker(RUN, self.settings, journal), in_flight(FINGERPRINT)
        tracker.network(self.recipe.model, self.recipe.classes, multi_label=self.recipe.multi_label)
        write_identity(IDENTITY, folder)
        (folder / "run").write_text(RUN)
        best_step = 0
        with RunFolder(folder, ["all"]) as work, work.followed(lambda: None, tracker.checkpoint):
            for step in steps:
                draw_weights(self.network, step)
                tracker.metrics(step, {"train/loss": 1 / step, "validation/accuracy": step / 100})
                paths = {f"network/{number:05d}": one.path for number, one in enumerate(self.network.weights)}
                kept = {name: one.numpy() for name, one in zip(paths, self.network.weights, strict=True)}
                if best(step):
                    best_step = step
                    work.keep_best(Position(0, step), paths, kept)
                more: dict[str, Any] = {f"optimizer/{name}": 2 * value for name, value in kept.items()}
                state = RunState(phases=(PhaseState(Best(best_step, 0.5)),), paths=paths)
                work.save(Position(0, step), state, lambda arrays={**kept, **more}: arrays, now=True)
        journal.close()
        return journal.folder


def draw_weights(network: keras.Model, seed: int) -> None:
    """Give a network other weights, of which the variances of norms are no less than 0."""
    draw = np.random.default_rng(seed)
    for weight in network.weights:
        is_statistic = "moving" in weight.path
        weight.assign(draw.uniform(0.1, 0.6, weight.shape) if is_statistic else draw.normal(0, 0.3, weight.shape))
