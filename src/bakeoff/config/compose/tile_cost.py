"""What `model.tiles` costs on the pictures of the records, and whether it makes sense there.

TilePrice(views=7, most_tiles=13, side=320, largest=(1080, 1920)): of an ordinary picture seven calls of the network.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import VALIDATION
from bakeoff.dataset.records.shards import locate_examples, read_frame
from bakeoff.dataset.records.wire import decode_features
from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.tiles import Tiles

MOST_LOOKED_AT = 100  # pictures; more say the same
MANY_VIEWS = 100


@dataclass(frozen=True)
class TilePrice:
    views: int  # calls of the network for an ordinary picture: the median
    most_tiles: int
    largest: tuple[int, int]  # height and width of the largest picture

    @classmethod
    def of(cls, tiles: Tiles, sizes: np.ndarray) -> "TilePrice":
        views = [len(tiles.windows(*map(int, size))) for size in sizes]
        largest = sizes[np.prod(sizes, axis=1).argmax()]
        return cls(int(np.median(views)), max(views), (int(largest[0]), int(largest[1])))

    def __str__(self) -> str:
        most = f", up to {self.most_tiles:,}" if self.most_tiles > self.views else ""
        return (
            f"{self.views:,} views of a picture{most}: validation, evaluation and prediction call the network about "
            f"{self.views:,} times as often; a step of training takes as long as without"
        )


def read_sizes(folder: Path, manifest: Manifest) -> np.ndarray:
    """Return height and width (n, 2) of validation pictures as they are stored, at even distances."""
    sizes = []
    try:
        spans = locate_examples(folder, manifest.splits[VALIDATION].shards)
        for place in np.linspace(0, len(spans) - 1, min(len(spans), MOST_LOOKED_AT)).round().astype(int):
            features = decode_features(read_frame(*spans[place]))
            sizes.append((features["image/height"][0], features["image/width"][0]))
    except (OSError, ValueError) as error:
        remedy = "run `dvc repro --force build_records`"
        raise DataError(f"{folder.as_posix()}: the sizes of pictures cannot be read ({error}); {remedy}") from None
    return np.array(sizes, np.int64)


def check_tiles(tiles: Tiles, sizes: np.ndarray, warn: Callable[[str, str], object]) -> None:
    """Warn where tiles bring nothing, or cost more than anybody will have meant."""
    price = TilePrice.of(tiles, sizes)
    height, width = price.largest
    if price.most_tiles == 1:
        warn(
            "model.tiles.size",
            f"{tiles.size} pixels show all of every picture as it is stored, the largest is {width} x {height}; "
            "choose a smaller size, or build records of larger pictures (data.max_side)",
        )
    elif price.views > MANY_VIEWS:
        warn("model.tiles", f"makes {price.views:,} views of a picture; choose larger tiles or less overlap")


def enlarge_boxes(boxes: np.ndarray, tiles: Tiles, sizes: np.ndarray) -> np.ndarray:
    """Return true boxes as a tile of an ordinary picture shows them, in its shares; without those larger than it."""
    height, width = (int(extent) for extent in np.median(sizes, axis=0))
    times = np.array([height / tiles.side(height, 0), width / tiles.side(width, 1)])
    half = (boxes[:, 2:] - boxes[:, :2]) * times / 2
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2 * times % 1.0
    fits = (half <= 0.5).all(axis=1)
    return np.concatenate([middle - half, middle + half], axis=1)[fits].astype(boxes.dtype)
