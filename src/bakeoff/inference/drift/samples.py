"""A folder of images, and the images that a run was trained and judged on -> samples that can be compared."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.dataset.records.wire import decode_features
from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.inference.drift.drift_statistics import FEATURES, ImageSample, measure
from bakeoff.inference.predict.read_images import decode_stored, read_image
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.run_file.read_write import fitting_manifest

if TYPE_CHECKING:
    from bakeoff.inference.predict.features import FeatureExtractor

MOST = 300  # images of a sample
AT_ONCE = 16
ENCODED, NAME = "image/encoded", "image/filename"
VIDEO = "video"
Named = tuple[str, np.ndarray]


def require_pictures(trained: Trained, called: str) -> None:
    if trained.model.task == VIDEO:
        raise DataError(f"{called}: is for clips; drift compares images, so name a run of images")


def list_images(folder: Path) -> list[Path]:
    """Return the images in a folder and below it. Raises DataError where there is none."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; name one with images")
    files = (file for file in folder.rglob("*") if file.suffix.lower() in IMAGE_SUFFIXES and file.is_file())
    images = sorted(file for file in files if not file.name.startswith("."))
    if not images:
        raise DataError(f"{folder}: no image is in it; images end in {', '.join(sorted(IMAGE_SUFFIXES))}")
    return images


def choose_some(count: int) -> list[int]:
    """Return the numbers of the images that are looked at: all, or some of many, the same every time."""
    if count <= MOST:
        return list(range(count))
    return sorted(np.random.default_rng(0).choice(count, MOST, replace=False).tolist())


def open_records(trained: Trained, called: str) -> dict[str, RecordReader]:
    """Return the run's images, those of the training and of the validation. Raises DataError if others are here."""
    assert trained.run is not None
    try:
        manifest = fitting_manifest(workspace.RECORDS, trained.run.derived)
    except ConfigError:
        manifest = None
    if manifest is None or manifest.classes != trained.labels:
        raise DataError(
            f"{workspace.RECORDS.as_posix()}: holds other data than {called} was trained on, so there is nothing to "
            "compare with; bring its records back (`dvc checkout` in its commit)"
        )
    return {name: RecordReader(workspace.RECORDS, manifest.splits[name], "skip") for name in (TRAIN, VALIDATION)}


def read_records(store: RecordReader) -> Iterator[Named]:
    for number in choose_some(store.examples):
        [data] = store.read(np.array([number]))
        if data is not None:
            features = decode_features(data, only=(ENCODED, NAME))
            [encoded, *_], [name, *_] = features[ENCODED], features[NAME]
            assert isinstance(encoded, bytes) and isinstance(name, bytes)
            yield name.decode(errors="replace"), decode_stored(encoded)


def read_folder(folder: Path, files: list[Path], failed: Callable[[Path, str], object]) -> Iterator[Named]:
    """Yield the images that can be read; `failed` is called with each other one and why."""
    for at in choose_some(len(files)):
        try:
            yield files[at].relative_to(folder).as_posix(), read_image(files[at])
        except (DataError, OSError) as error:
            failed(files[at], str(error))


def take_sample(
    pictures: Iterable[Named],
    extractor: "FeatureExtractor",
    advance: Callable[[int], object],
    most: int | None,
    is_square: bool = False,
) -> ImageSample:
    """Return every picture's aspects; `most` is the longer side, or the square, to which the run's data were shrunk."""
    names: list[str] = []
    aspects: dict[str, list[np.ndarray]] = {}
    waiting = iter(pictures)
    while some := list(islice(waiting, AT_ONCE)):
        shown, features = extractor.extract([pixels for _, pixels in some])
        for (name, pixels), seen, feature_row in zip(some, shown, features, strict=True):
            height, width = _shrink(pixels.shape[0], pixels.shape[1], most, is_square)
            names.append(name)
            for aspect, values in chain(measure((height, width), seen).items(), [(FEATURES, feature_row)]):
                aspects.setdefault(aspect, []).append(np.asarray(values, np.float64))
        advance(len(some))
    return ImageSample(names, {aspect: np.stack(values) for aspect, values in aspects.items()})


def _shrink(height: int, width: int, most: int | None, is_square: bool) -> tuple[int, int]:
    if is_square and most and max(height, width) > most:
        return most, most
    scale = min(1.0, most / max(height, width)) if most else 1.0
    return max(1, round(height * scale)), max(1, round(width * scale))
