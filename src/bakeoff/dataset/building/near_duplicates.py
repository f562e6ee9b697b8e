"""Images of different sides that look alike: hashes find candidates among all pairs, pixels decide.

Where all photographs are of one kind, hands on white paper, most of the hashes that are near are so by chance.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from PIL import Image

from bakeoff.dataset.building.catalogue import Catalogue, unpack_item, unpack_verdict
from bakeoff.dataset.building.image_check import FLAT, NEAR, RejectedItem
from bakeoff.dataset.building.validate import make_record
from bakeoff.dataset.records.shards import name_index, read_frame
from bakeoff.dataset.records.wire import decode_features, frames_in
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.foundation import machine
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.tf_loading import quiet_pillow

MOST_PAIRS, MOST_CANDIDATES = 1000, 4000
MOST_LOOKED_AT = 200  # candidates for one image, so that thousands of blank images do not make millions of pairs
AT_ONCE, FEWEST_AT_ONCE = 500, 32  # candidates that are compared before the next pictures are opened
KEPT = 96  # pixels of a side that pairs are compared by, at most a third of them
FINEST, COARSEST = 32, 8  # pixels of a side that two pictures are compared at
ALIKE = 0.95  # correlation of two pictures; of photographs of hands that differ it reaches 0.91
DETAILS = 0.2  # share of their details that may differ; of the same hands at least 0.37 do
NOISE = 1.0  # grey levels that a JPEG may be off where a picture is smooth


def find_near_pairs(train: np.ndarray, validation: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield (place in train, place in validation) of uint64 hashes that differ in at most NEAR bits."""
    seen: set[tuple[int, int]] = set()
    detailed = np.flatnonzero(~np.isin(validation, np.array(FLAT, np.uint64)))
    for part in range(4):
        shift = np.uint64(16 * part)
        keys = (train >> shift).astype(np.uint16)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        wanted = (validation[detailed] >> shift).astype(np.uint16)
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        for place, low, high in zip(detailed, first, last, strict=True):
            candidates = order[low : min(high, low + MOST_LOOKED_AT)]
            near = candidates[np.bitwise_count(train[candidates] ^ validation[place]) <= NEAR]
            for other in near:
                pair = (int(other), int(place))
                if pair not in seen:
                    seen.add(pair)
                    yield pair


class Grid:
    """What pictures are compared by at one size."""

    def __init__(self, greys: np.ndarray) -> None:
        self._greys = greys
        self.centred = greys - greys.mean()
        self.power = float((self.centred**2).sum())

    @cached_property
    def details(self) -> np.ndarray:
        return _keep_details(self._greys)

    @cached_property
    def strength(self) -> float:
        return float((self.details**2).mean())


class GreyImage:
    """An image in grey, KEPT pixels wide and high, and the shorter side that it had."""

    def __init__(self, image: Image.Image, shorter: int) -> None:
        self._image, self.shorter = image, shorter
        self._grids: dict[int, Grid] = {}

    def grid(self, side: int) -> Grid:
        if side not in self._grids:
            resized = self._image.resize((side, side), Image.Resampling.BOX)
            self._grids[side] = Grid(np.asarray(resized, np.float64))
        return self._grids[side]

    def forget(self) -> None:
        """Drop its grids, which take more memory than the picture."""
        self._grids.clear()


def find_alike(catalogue: Catalogue, shards: "ImageLocations") -> tuple[list[tuple[str, str]], bool]:
    """Return the names of the pairs (training, validation), then those with the test, and whether these are all."""
    hashes = {side: _read_hashes(catalogue, side) for side in shards.files}
    pairs: list[tuple[str, str]] = []
    are_all = True
    for first, second in combinations(shards.files, 2):
        candidates = list(islice(find_near_pairs(hashes[first], hashes[second]), MOST_CANDIDATES))
        ones = Shelf(catalogue, shards, first, {place for place, _ in candidates})
        others = Shelf(catalogue, shards, second, {place for _, place in candidates})
        start = 0
        while start < len(candidates):
            left = MOST_PAIRS + 1 - len(pairs)  # that are still to be found; no more pictures than that need opening
            some = candidates[start : start + max(FEWEST_AT_ONCE, min(AT_ONCE, left))]
            start += len(some)
            ones.open({place for place, _ in some})
            others.open({place for _, place in some})
            pairs += [
                (ones.name(one), others.name(other)) for one, other in some if look_alike(ones[one], others[other])
            ]
            if len(pairs) > MOST_PAIRS:
                return pairs[:MOST_PAIRS], False
        are_all = are_all and len(candidates) < MOST_CANDIDATES
    return pairs, are_all


def look_alike(first: GreyImage, second: GreyImage) -> bool:
    """Return whether two pictures are one, saved again, resized or made lighter. The smaller one sets the size."""
    side = min(FINEST, max(COARSEST, min(first.shorter, second.shorter) // 3))
    one, other = first.grid(side), second.grid(side)
    if (one.centred * other.centred).sum() < ALIKE * np.sqrt(one.power * other.power) or not one.power:
        return False
    return bool(((one.details - other.details) ** 2).mean() <= DETAILS * (one.strength + other.strength) + NOISE**2)


def _keep_details(grid: np.ndarray) -> np.ndarray:
    """Return what each place has beyond the mean of the nine around it."""
    wide = np.empty((grid.shape[0] + 2, grid.shape[1] + 2))  # `np.pad` takes four times as long for so few
    wide[1:-1, 1:-1], wide[0, 1:-1], wide[-1, 1:-1] = grid, grid[0], grid[-1]
    wide[:, 0], wide[:, -1] = wide[:, 1], wide[:, -2]
    rows = wide[:-2] + wide[1:-1] + wide[2:]
    return grid - (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9


def _read_hashes(catalogue: Catalogue, side: str) -> np.ndarray:
    """Eight bytes an image; the only thing that grows with their number."""
    rows = catalogue.table.execute("SELECT likeness FROM examples WHERE side = ? ORDER BY name", [side])
    return np.fromiter((row[0] for row in rows), np.int64).view(np.uint64)


@dataclass(frozen=True)
class ImageLocations:
    """Where the images of the records are: in shards once these are `written`, or as they were given."""

    files: Mapping[str, Sequence[Path]]  # of each side
    datasets: Sequence[Dataset]
    written: Event


@dataclass(frozen=True)
class RecordLocation:
    name: str
    shard: int
    turn: int  # in the shard
    source: int
    item: str
    verdict: str


class Shelf:
    """The pictures of a side's records at some places in the order of names, opened when they are asked for."""

    def __init__(self, catalogue: Catalogue, shards: ImageLocations, side: str, places: set[int]) -> None:
        query = (
            "SELECT name, shard, ROW_NUMBER() OVER (PARTITION BY shard ORDER BY place, name) - 1, source "
            "FROM examples WHERE side = ? ORDER BY name"
        )
        content = "SELECT items.content, verdicts.content FROM items JOIN verdicts USING (name) WHERE name = ?"
        rows = enumerate(catalogue.table.execute(query, [side]) if places else ())
        self._places = {
            place: RecordLocation(*row, *catalogue.table.execute(content, row[:1]).fetchone())
            for place, row in rows
            if place in places
        }
        self._files, self._datasets, self._written = shards.files[side], shards.datasets, shards.written
        self._pictures: dict[int, GreyImage] = {}

    def open(self, places: set[int]) -> None:
        """Open those that are not yet; what the others were compared by is made anew if it is wanted."""
        for picture in self._pictures.values():
            picture.forget()
        missing = sorted(places - self._pictures.keys())
        with quiet_pillow(), ThreadPoolExecutor(machine.cores()) as threads:
            self._pictures.update(zip(missing, threads.map(self._load, missing), strict=True))

    def _load(self, place: int) -> GreyImage:
        return open_picture(self._read_given(self._places[place]) or self._read_written(self._places[place]))

    def _read_given(self, place: RecordLocation) -> bytes | None:
        """Return the image as it was given, if its bytes are the record's."""
        verdict = unpack_verdict(place.verdict)
        if not verdict.untouched:
            return None
        dataset = self._datasets[place.source]
        try:
            record, _ = make_record(dataset, dataset.folder(), unpack_item(place.item), verdict)
        except (DataError, RejectedItem, OSError):  # changed or gone by now: what was written counts
            return None
        return record.frames[0]

    def _read_written(self, place: RecordLocation) -> bytes:
        self._written.wait()
        file = self._files[place.shard]
        index = np.load(file.with_name(name_index(file.name)), mmap_mode="r")
        return middle_frame(decode_features(read_frame(file, *map(int, index[place.turn]))))

    def name(self, place: int) -> str:
        return self._places[place].name

    def __getitem__(self, place: int) -> GreyImage:
        return self._pictures[place]


def middle_frame(features: Mapping[str, Any]) -> bytes:
    """Return the image of a record, of a clip the one by which it is compared."""
    frames = frames_in(features)
    return frames[len(frames) // 2]


def open_picture(encoded: bytes) -> GreyImage:
    """Open it within `quiet_pillow`."""
    opened = Image.open(io.BytesIO(encoded))
    shorter = min(opened.size)
    opened.draft("L", (KEPT, KEPT))
    return GreyImage(opened.convert("L").resize((KEPT, KEPT), Image.Resampling.BOX), shorter)
