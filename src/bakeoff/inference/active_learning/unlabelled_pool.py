"""A folder of pictures and a run -> the network's answer and features of each picture that is new.

A known picture may have been saved again, resized or made lighter. Hashes find candidates, and pixels decide, because
most hashes of photographs of one kind are near by chance.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bakeoff.dataset.building import image_check
from bakeoff.dataset.building.image_check import FLAT, NEAR, check_image
from bakeoff.dataset.building.near_duplicates import GreyImage, look_alike, open_picture
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.records.wire import decode_features
from bakeoff.foundation.errors import DataError, one_line
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.importing.datasets.pre_annotate import ImageProposals, boxes_of_answer
from bakeoff.inference.active_learning.choose import measure_uncertainty
from bakeoff.inference.predict.features import FeatureExtractor
from bakeoff.inference.predict.model_interface import opened
from bakeoff.inference.predict.output_formats import image_row, rows_of
from bakeoff.inference.predict.read_images import decode_stored
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.input.record_reader import RecordReader

MOST_TRAINED = 5000  # training examples that distances are measured to, evenly spread
NAMED = 3  # best answers
Advance = Callable[[], None]


class KnownImages:
    """The known pictures, each with a name."""

    def __init__(self) -> None:
        self._hashes: list[int] = []
        self._names: list[str] = []
        self._encoded: list[bytes] = []

    def add(self, name: str, encoded: bytes, likeness: int | None = None) -> None:
        """Keep a picture. `likeness` is its hash, which is computed if it is not given."""
        self._hashes.append(check_image(encoded, None).likeness if likeness is None else likeness)
        self._names.append(name)
        self._encoded.append(encoded)

    def find(self, encoded: bytes, likeness: int) -> str | None:
        """Return the name of a known picture that looks the same; None if there is none."""
        if likeness in FLAT or not self._hashes:
            return None
        near = np.bitwise_count(np.array(self._hashes, np.uint64) ^ np.uint64(likeness)) <= NEAR
        indices = np.flatnonzero(near)
        picture = _open(encoded) if len(indices) else None
        for index in indices:
            if picture and look_alike(picture, _open(self._encoded[index])):
                return self._names[index]
        return None


def _open(encoded: bytes) -> GreyImage:
    with quiet_pillow():
        return open_picture(encoded)


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
        self.model, self._feature_reader = opened(trained), FeatureExtractor(trained)

    def features(self, pixels: np.ndarray) -> np.ndarray:
        return self._feature_reader.extract([pixels])[1][0]


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
        known.add(str(name), data, checked.likeness)
        answer = watcher.model.answer(pixels)
        scene, description = find_proposals(name, pixels, answer, watcher.model.labels, min_score)
        pool.candidates.append(
            CandidateImage(name, measure_uncertainty(dict(answer)), watcher.features(pixels), scene, description)
        )
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


def read_training(
    records: Path, manifest: Manifest, watcher: Watcher, known: KnownImages, advance: Advance
) -> np.ndarray:
    """Add the pictures of the training set to `known`, and return the features of at most MOST_TRAINED of them."""
    store = RecordReader(records, manifest.splits[TRAIN], "skip")
    wanted = set(np.linspace(0, store.examples - 1, min(MOST_TRAINED, store.examples)).round().astype(int).tolist())
    features = []
    for number, name, encoded in _list_training(store):
        advance()
        known.add(name, encoded)
        if number in wanted:
            features.append(watcher.features(decode_stored(encoded)))
    return np.array(features, np.float32)


def _list_training(store: RecordReader) -> Iterator[tuple[int, str, bytes]]:
    for number in range(store.examples):
        [data] = store.read(np.array([number]))
        frames = decode_features(data).get("image/encoded") if data else None
        if data and frames and isinstance(frames[0], bytes):
            yield number, f"training example {store.names(np.array([number]))[0]}", frames[0]
