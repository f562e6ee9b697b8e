"""What can be seen of a run besides its numbers: a sheet of samples a look, and, if wanted, events for TensorBoard."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import keras
import numpy as np

from bakeoff.training.events import Events
from bakeoff.training.samples import Samples
from bakeoff.training.settings import Train
from bakeoff.training.work import Found

SAMPLES, EVENTS = "samples", "tensorboard"  # folders in flight, and in models/train


@contextmanager
def events_of(train: Train, folder: Path, found: Found) -> Iterator[Events | None]:
    """Of a run that goes on from what was found; none unless they are wanted."""
    if not train.tensorboard:
        yield None
        return
    with Events(folder / EVENTS, found.position.step, found.facts["history"]) as events:
        yield events


class Show:
    """Called with every line of the history that was just logged."""

    def __init__(self, network: keras.Model, samples: Samples, events: Events | None, headline: str) -> None:
        """`network` is the one that looks are taken at."""
        self._network, self._samples, self._events, self._headline = network, samples, events, headline

    def __call__(self, step: int, values: Mapping[str, float], history: Sequence[str]) -> None:
        if self._events:
            self._events.scalars(step, values)
        if "train/loss" not in values:
            self._looked(step, history)

    def _looked(self, step: int, history: Sequence[str]) -> None:
        sheet = self._samples.draw(step, history, self._headline)
        if self._events:
            weights = {weight.path: weight.value for weight in self._network.trainable_weights}
            self._events.histograms(step, {f"weights/{path}": value for path, value in weights.items()})
        if self._events and sheet:
            answers = activations(self._network, np.stack(self._samples.images))
            self._events.histograms(step, {f"activations/{name}": value for name, value in answers.items()})
            self._events.picture(step, "samples", sheet)


def activations(network: keras.Model, images: np.ndarray) -> dict[str, np.ndarray]:
    """What each layer that has weights makes of the images."""
    outputs = {layer.name: layer.output for layer in network.layers if layer.weights}
    plain = {name: output for name, output in outputs.items() if isinstance(output, keras.KerasTensor)}
    return keras.Model(network.input, plain)(images, training=False)


def file_away(folder: Path, samples: Samples, history: Sequence[str], headline: str, out: Path) -> None:
    """Of work in flight into `models/train`; sheets of steps that were taken back stay behind."""
    for sheet in samples.staying(history, headline):
        if sheet.is_file():
            (out / SAMPLES).mkdir(exist_ok=True)
            shutil.copyfile(sheet, out / SAMPLES / sheet.name)
    if (folder / EVENTS).is_dir():
        shutil.copytree(folder / EVENTS, out / EVENTS)
