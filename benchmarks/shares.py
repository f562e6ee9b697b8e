"""What benchmarks of few labels share: a perceptron of two layers in NumPy, trained in a tenth of a second.

More labels make it better as they do larger networks, along a power law.
The images are scikit-learn's 1,797 handwritten digits, or those of a folder that has one for each class.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np

BATCH, PEAK, WARM_UP = 16, 0.005, 20
DROPPED = 0.2  # share of the hidden units, in training


def load_images(folder: Path | None, side: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Return grey images as rows of numbers from -1 to 1, and their classes from 0."""
    if folder is None:
        from sklearn.datasets import load_digits

        digits = load_digits()
        return digits.data.astype(np.float32) / 8 - 1, digits.target
    from PIL import Image, ImageOps

    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    rows, labels = [], []
    for label, own in enumerate(classes):
        for file in sorted(own.iterdir()):
            image = ImageOps.exif_transpose(Image.open(file)).convert("L").resize((side, side), Image.Resampling.BOX)
            rows.append(np.asarray(image, np.float32).ravel() / 127.5 - 1)
            labels.append(label)
    return np.array(rows), np.array(labels)


class Lab:
    """Images that are parted into training and validation, and the perceptron that learns from some of the first."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, *, steps: int, hidden: int = 64) -> None:
        self.all_images, self.all_labels, self.steps, self.hidden = images, labels, steps, hidden
        self.classes = int(labels.max()) + 1
        self.part(0)

    def part(self, seed: int, validation: float = 0.25) -> None:
        """Draw other sides: this share of all images for validation, the others for training."""
        drawn = np.random.default_rng([seed, 1]).permutation(len(self.all_labels))
        held, rest = np.split(drawn, [round(validation * len(drawn))])
        self.images, self.labels = self.all_images[rest], self.all_labels[rest]
        self.held_images, self.held_labels = self.all_images[held], self.all_labels[held]

    def train(self, chosen: np.ndarray | None, seed: int) -> None:
        """Train by Adam on these of the training examples, from weights and in an order that the seed draws."""
        draw = np.random.default_rng([seed, 2])
        numbers = np.arange(len(self.labels)) if chosen is None else chosen
        sizes = [(self.images.shape[1], self.hidden), (self.hidden, self.classes)]
        self.weights = [draw.standard_normal(size).astype(np.float32) * np.sqrt(2 / size[0]) for size in sizes]
        self.weights += [np.zeros(size[1], np.float32) for size in sizes]
        first, second = ([np.zeros_like(weight) for weight in self.weights] for _ in range(2))
        order = np.concatenate([draw.permutation(numbers) for _ in range(-(-self.steps * BATCH // len(numbers)))])
        for step in range(self.steps):
            rows = order[step * BATCH : (step + 1) * BATCH]
            rate = PEAK * min(1, (step + 1) / WARM_UP) * 0.5 * (1 + np.cos(np.pi * step / self.steps))
            for place, gradient in enumerate(self._gradients(self.images[rows], self.labels[rows], draw)):
                first[place] = 0.9 * first[place] + 0.1 * gradient
                second[place] = 0.99 * second[place] + 0.01 * gradient**2
                scaled = first[place] / (1 - 0.9 ** (step + 1))
                root = np.sqrt(second[place] / (1 - 0.99 ** (step + 1))) + 1e-7
                self.weights[place] -= (rate * scaled / root).astype(np.float32)

    def _gradients(self, images: np.ndarray, labels: np.ndarray, draw: np.random.Generator) -> Sequence[np.ndarray]:
        lower = self.weights[1]
        kept = (draw.random((len(images), self.hidden)) >= DROPPED) / (1 - DROPPED)
        units = self.features(images) * kept
        back = _softmax(units @ lower + self.weights[3])
        back[np.arange(len(labels)), labels] -= 1
        back /= len(labels)
        through = (back @ lower.T) * kept * (units > 0)
        return images.T @ through, units.T @ back, through.sum(0), back.sum(0)

    def features(self, images: np.ndarray) -> np.ndarray:
        """Return the hidden units of each image."""
        return np.maximum(0, images @ self.weights[0] + self.weights[2])

    def probabilities(self, images: np.ndarray) -> np.ndarray:
        """Return a row for each image with the probability of every class."""
        return _softmax(self.features(images) @ self.weights[1] + self.weights[3])

    def accuracy(self) -> float:
        """Return the share of the validation set that the perceptron names right."""
        return float((self.probabilities(self.held_images).argmax(-1) == self.held_labels).mean())


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
