"""New images beside those of a run: whether they differ by more than chance, in what, and which are the most foreign.

Each aspect (light, colours, the network's features, …) is compared by the energy distance of both samples (Székely and
Rizzo, 2013). Then images are dealt out anew, a thousand times, to a sample of the one size and one of the other. An
aspect differs if few random samples differ so much in any aspect: so the number of aspects is counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.evaluation.example_facts import measure_picture

FEWEST = 10  # images of either sample
SAMPLES = 1000
CHANCE = 0.025  # below 0.05, so that 100 evaluations by luck alone hardly ever name something in more than 5
SEED = 0
NEIGHBOURS = 3  # whose mean distance says how foreign an image is
FEATURES = "network features"
MEANINGS = {
    "size": "the root of width times height",
    "shape": "width over height",
    "brightness": "the mean of red, green and blue",
    "sharpness": "the variance of the Laplacian over that of the picture",
    "colours": "red, green and blue against their mean",
    FEATURES: "what the last layer of the network's backbone makes of the whole picture",
}
LOGARITHMIC = ("size", "shape", "sharpness")
LEAST = 1e-3  # the smallest value of which a logarithm is taken


@dataclass(frozen=True)
class ImageSample:
    """Images by aspect: {"brightness": (n, 1), "colours": (n, 3), "network features": (n, channels), …}."""

    names: Sequence[str]
    aspects: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Aspect:
    name: str
    own: tuple[float, float]  # mean and standard deviation over the run's images, if it is one number
    new: tuple[float, float]
    distance: float  # energy distance in standard deviations of chance's
    chance: float  # the share of random samples in which some aspect is as far apart
    is_one_number: bool

    @property
    def differs(self) -> bool:
        return self.chance <= CHANCE


@dataclass(frozen=True)
class OutlyingImage:
    name: str
    distance: float  # to its nearest images of the run; 1 is the median among the run's own images
    farther_than: float  # so large a share of the run's images is nearer to its own neighbours
    aspect: str  # in which it is farthest


def measure(size: tuple[int, int], shown: np.ndarray) -> dict[str, list[float]]:
    """Return what is measured of one picture: its height and width, and what the network sees of it."""
    height, width = size
    brightness, sharpness = measure_picture(shown)
    colours = shown.reshape(-1, 3).mean(axis=0, dtype=np.float64)
    return {
        "size": [(width * height) ** 0.5],
        "shape": [width / height],
        "brightness": [brightness],
        "sharpness": [sharpness],
        "colours": (colours - colours.mean()).tolist(),
    }


def compare_samples(own: ImageSample, new: ImageSample) -> list[Aspect]:
    """Return every aspect, the one that differs most first."""
    count, size = len(own.names), len(own.names) + len(new.names)
    draw = np.random.default_rng(SEED)
    is_new = np.arange(size) >= count
    dealt = draw.permuted(np.tile(is_new, (SAMPLES, 1)), axis=1).astype(np.float64)
    rows = [is_new[None].astype(np.float64), dealt]
    differences: dict[str, tuple[float, np.ndarray]] = {}
    for name in own.aspects:
        apart = _distances(_scaled(name, own, new))
        observed, drawn = (_energy(apart, row) for row in rows)
        spread = drawn.std()
        if spread > 0:
            differences[name] = float((observed[0] - drawn.mean()) / spread), (drawn - drawn.mean()) / spread
    if not differences:
        return []
    largest = np.max([drawn for _, drawn in differences.values()], axis=0)
    return sorted(
        (
            Aspect(
                name, _moments(own.aspects[name]), _moments(new.aspects[name]), observed,
                float((np.sum(largest >= observed - 1e-9) + 1) / (SAMPLES + 1)), own.aspects[name].shape[1] == 1,
            )
            for name, (observed, _) in differences.items()
        ),
        key=lambda aspect: -aspect.distance,
    )  # fmt: skip


def compare_with_all(samples: Sequence[ImageSample], new: ImageSample) -> list[Aspect]:
    """Compare with each sample of a run's images, and return of each aspect the one that is nearest.

    Training and validation may be of two worlds, and a network knows its training images by heart: new images that are
    like either are no others.
    """
    comparisons = [{aspect.name: aspect for aspect in compare_samples(sample, new)} for sample in samples]
    names = [name for name in comparisons[0] if all(name in aspects for aspects in comparisons)]
    nearest = [
        max((one[name] for one in comparisons), key=lambda aspect: (aspect.chance, -aspect.distance)) for name in names
    ]
    return sorted(nearest, key=lambda aspect: -aspect.distance)


def join_samples(samples: Sequence[ImageSample]) -> ImageSample:
    names = [name for sample in samples for name in sample.names]
    return ImageSample(
        names, {key: np.concatenate([sample.aspects[key] for sample in samples]) for key in samples[0].aspects}
    )


def rank_foreign(own: ImageSample, new: ImageSample) -> list[OutlyingImage]:
    """Return the new images, the most foreign first: by the aspect in which each is farthest from the run's images."""
    count = len(own.names)
    far = {}
    for name in own.aspects:
        apart = _distances(_scaled(name, own, new))
        usual = _to_nearest(apart[:count, :count], skip=1)
        middle = float(np.median(usual)) or float(usual.mean()) or 1.0
        far[name] = _to_nearest(apart[count:, :count]) / middle, usual / middle
    rows = []
    for at, name in enumerate(new.names):
        shares = {aspect: float((usual < new_ones[at]).mean()) for aspect, (new_ones, usual) in far.items()}
        worst = max(far, key=lambda aspect: (shares[aspect], float(far[aspect][0][at])))
        rows.append(OutlyingImage(name, float(far[worst][0][at]), shares[worst], worst))
    return sorted(rows, key=lambda row: (-row.farther_than, -row.distance))


def _scaled(name: str, own: ImageSample, new: ImageSample) -> np.ndarray:
    """Both samples' columns, each in standard deviations of both together."""
    columns = np.concatenate([own.aspects[name], new.aspects[name]]).astype(np.float64)
    if name in LOGARITHMIC:
        columns = np.log(np.maximum(columns, LEAST))
    spread = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1)


def _distances(columns: np.ndarray) -> np.ndarray:
    squares = (columns**2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * columns @ columns.T
    np.fill_diagonal(apart, 0)
    return np.sqrt(np.maximum(apart, 0))


def _energy(apart: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """The energy distance of the images that are new and the others, for (samples, images)."""
    new, whole = is_new.sum(axis=1), apart.sum()
    old = apart.shape[0] - new
    inside = np.einsum("di,di->d", is_new @ apart, is_new)
    of_new = is_new @ apart.sum(axis=1)
    across, outside = of_new - inside, whole - 2 * of_new + inside
    energy: np.ndarray = 2 * across / (new * old) - inside / new**2 - outside / old**2
    return energy


def _to_nearest(apart: np.ndarray, skip: int = 0) -> np.ndarray:
    nearest = np.sort(apart, axis=1)[:, skip : skip + NEIGHBOURS]
    return np.asarray(nearest.mean(axis=1))


def _moments(columns: np.ndarray) -> tuple[float, float]:
    return float(columns[:, 0].mean()), float(columns[:, 0].std())
