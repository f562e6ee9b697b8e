"""A folder of pictures and a run -> the network's answer and features of each picture that is new.

A known picture may have been saved again, resized or made lighter. Hashes find candidates, and pixels decide, because
most hashes of photographs of one kind are near by chance.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bakeoff.dataset.building import image_check
from bakeoff.dataset.building.image_check import FLAT, NEAR
from bakeoff.dataset.building.near_duplicates import GreyImage, look_alike, middle_frame, open_picture
from bakeoff.export.nms_numpy import Predictions
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, one_line
from bakeoff.foundation.files import hash_file
from bakeoff.foundation.progress import progress
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.importing.datasets.pre_annotate import ImageProposals, boxes_of_answer
from bakeoff.inference.active_learning.choose import measure_uncertainty
from bakeoff.inference.evaluate.evaluation_data import Material
from bakeoff.inference.evaluate.leakage import features_at, picture_at, read_contents
from bakeoff.inference.predict.features import FeatureExtractor
from bakeoff.inference.predict.model_interface import opened
from bakeoff.inference.predict.output_formats import image_row, rows_of
from bakeoff.inference.predict.read_images import decode_stored
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.networks.tiles import tiles_of

MOST_TRAINED = 5000  # training examples that distances are measured to, evenly spread
AT_ONCE = 64  # training examples that are decoded before the network sees them
NAMED = 3  # best answers
Advance = Callable[[], None]


class KnownImages:
    """The known pictures, each with a name. One is opened only where a hash is near."""

    def __init__(self) -> None:
        self._hashes: list[int] = []
        self._names: list[str] = []
        self._openers: list[Callable[[], GreyImage]] = []

    def add(self, name: str, likeness: int, opener: Callable[[], GreyImage]) -> None:
        self._hashes.append(likeness)
        self._names.append(name)
        self._openers.append(opener)

    def find(self, encoded: bytes, likeness: int) -> str | None:
        """Return the name of a known picture that looks the same; None if there is none."""
        if likeness in FLAT or not self._hashes:
            return None
        near = np.bitwise_count(np.array(self._hashes, np.uint64) ^ np.uint64(likeness)) <= NEAR
        indices = np.flatnonzero(near)
        picture = open_grey(encoded) if len(indices) else None
        for index in indices:
            if picture and look_alike(picture, self._openers[index]()):
                return self._names[index]
        return None


def open_grey(encoded: bytes) -> GreyImage:
    with quiet_pillow():
        return open_picture(encoded)


@lru_cache(maxsize=1024)
def _open_file(path: Path) -> GreyImage:
    return open_grey(image_check.read_image(path))


@dataclass(frozen=True)
class CandidateImage:
    name: PurePosixPath  # relative to the folder
    uncertainty: float
    features: np.ndarray
    scene: ImageProposals  # what a detector proposes
    answer: str  # such as `cat 0.61, dog 0.30`


@dataclass
class UnlabelledPool:
    candidates: list[CandidateImage] = field(default_factory=list)
    trained: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))  # features of the training set
    repeated: list[tuple[PurePosixPath, str]] = field(default_factory=list)  # a picture, and the known one like it
    failures: list[str] = field(default_factory=list)

    def known(self) -> np.ndarray:
        """Return the features of the training set, with as many columns as the candidates have."""
        return self.trained if self.trained.size else np.empty((0, len(self.candidates[0].features)), np.float32)


class Watcher:
    """The network of a run, which answers about pictures and gives their features."""

    def __init__(self, trained: Trained) -> None:
        self._trained, self.labels, self._extractor = trained, trained.labels, FeatureExtractor(trained)
        self._by_tiles = opened(trained) if tiles_of(trained.model) else None

    def look(self, pixels: np.ndarray) -> tuple[Predictions, np.ndarray]:
        """Return the answer about a picture, and its features."""
        if self._by_tiles:
            return self._by_tiles.answer(pixels), self.features([pixels])[0]
        return self._extractor.answer(pixels)

    def features(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        return self._extractor.extract(pictures)[1]

    def place_of(self, material: Material) -> Path:
        """Return where the features of a split are kept, by all that decides them."""
        digest = self._trained.digest or hash_file(self._trained.weights)
        key = f"{digest} {self._trained.model!r} {material.digest} {MOST_TRAINED}"
        return workspace.judged_records() / "features" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npy"


def read_pool(
    folder: Path,
    names: list[PurePosixPath],
    watcher: Watcher,
    known: KnownImages,
    *,
    min_score: float,
    advance: Advance,
) -> UnlabelledPool:
    """Return a candidate for each picture, but for known ones and those that cannot be read, which are listed."""
    pool = UnlabelledPool()
    for name in names:
        advance()
        try:
            data = image_check.read_image(folder / name)
            checked = image_check.check_image(data, None)
            if (like := known.find(data, checked.likeness)) is not None:
                pool.repeated.append((name, like))
                continue
            pixels = decode_stored(image_check.encode_stored(data, checked, None))
        except (image_check.RejectedItem, DataError, OSError, ValueError) as error:
            pool.failures.append(f"{name}: {one_line(error)}")
            continue
        known.add(str(name), checked.likeness, partial(_open_file, folder / name))
        answer, features = watcher.look(pixels)
        scene, description = find_proposals(name, pixels, answer, watcher.labels, min_score)
        pool.candidates.append(CandidateImage(name, measure_uncertainty(dict(answer)), features, scene, description))
    return pool


def find_proposals(
    name: PurePosixPath, pixels: np.ndarray, answer: Mapping[str, Any], labels: Sequence[str], min_score: float
) -> tuple[ImageProposals, str]:
    """Return the boxes from `min_score` on, and the best answers, such as `cat 0.61, dog 0.30`.

    A classifier has no boxes.
    """
    image = image_row(1, name.name, pixels)
    rows = rows_of(dict(answer), tuple(labels), image)
    best = sorted(rows, key=lambda row: -row["score"])[:NAMED]
    description = ", ".join(f"{row['category']} {row['score']:.2f}" for row in best)
    boxes = boxes_of_answer(rows, min_score)
    return ImageProposals(name, image["width"], image["height"], boxes), description or "nothing"


def add_training(material: Material, known: KnownImages) -> None:
    """Add the pictures of the training set to `known`."""
    contents = read_contents(material)
    for number, (name, likeness) in enumerate(zip(contents.names, contents.likeness, strict=True)):
        known.add(f"training example {name}", int(likeness), partial(picture_at, material, number))


def read_training(material: Material, watcher: Watcher) -> np.ndarray:
    """Return the features of at most MOST_TRAINED training examples, which are kept for the next time."""
    place = watcher.place_of(material)
    try:
        return np.load(place)
    except (OSError, ValueError):
        pass  # nothing is kept yet, or a crash cut it off
    examples = material.split.examples
    wanted = np.linspace(0, examples - 1, min(MOST_TRAINED, examples)).round().astype(int)
    features = []
    with progress("read", len(wanted), "training examples") as bar:
        for at in range(0, len(wanted), AT_ONCE):
            some = [middle_frame(features_at(material, int(number))) for number in wanted[at : at + AT_ONCE]]
            features.append(watcher.features([decode_stored(encoded) for encoded in some]))
            bar.advance(len(some))
    everything = np.concatenate(features)
    place.parent.mkdir(parents=True, exist_ok=True)
    partly = place.with_suffix(".partial.npy")
    np.save(partly, everything)
    partly.replace(place)
    return everything
