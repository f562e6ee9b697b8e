"""Images of different sides that look alike: hashes find candidates among all pairs, pixels decide.

Where all photographs are of one kind, hands on white paper, most of the hashes that are near are so by chance.
"""

import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bakeoff import machine
from bakeoff.building.catalogue import Catalogue
from bakeoff.building.images import find_near_pairs
from bakeoff.quiet import quiet_pillow
from bakeoff.records.shards import name_index, read_frame
from bakeoff.records.wire import decode_features

MOST_PAIRS, MOST_CANDIDATES = 1000, 4000
KEPT = 96  # pixels of a side that pairs are compared by, at most a third of them
FINEST, COARSEST = 32, 8  # pixels of a side that two pictures are compared at
ALIKE = 0.95  # correlation of two pictures; of photographs of hands that differ it reaches 0.91
DETAILS = 0.2  # share of their details that may differ; of the same hands at least 0.37 do
NOISE = 1.0  # grey levels that a JPEG may be off where a picture is smooth
Picture = tuple[Image.Image, int]  # in grey, KEPT pixels wide and high, and the shorter side that it had


def find_alike(catalogue: Catalogue, files: Mapping[str, Sequence[Path]]) -> tuple[list[tuple[str, str]], bool]:
    """Return the names of the pairs (training, validation), then those with the test, and whether these are all, of
    the shards of each side.
    """
    hashes = {side: _read_hashes(catalogue, side) for side in files}
    pairs: list[tuple[str, str]] = []
    are_all = True
    for first, second in combinations(files, 2):
        candidates = list(islice(find_near_pairs(hashes[first], hashes[second]), MOST_CANDIDATES))
        ones = _open_pictures(catalogue, files[first], first, {place for place, _ in candidates})
        others = _open_pictures(catalogue, files[second], second, {place for _, place in candidates})
        for one, other in candidates:
            (name, picture), (other_name, other_picture) = ones[one], others[other]
            if look_alike(picture, other_picture):
                pairs.append((name, other_name))
        are_all = are_all and len(candidates) < MOST_CANDIDATES
    return pairs[:MOST_PAIRS], are_all and len(pairs) <= MOST_PAIRS


def look_alike(first: Picture, second: Picture) -> bool:
    """Whether two pictures are one, saved again, resized or made lighter; as fine as the smaller one can tell."""
    side = min(FINEST, max(COARSEST, min(first[1], second[1]) // 3))
    grids = [np.asarray(image.resize((side, side), Image.Resampling.BOX), np.float64) for image, _ in (first, second)]
    one, other = (grid - grid.mean() for grid in grids)
    if (one * other).sum() < ALIKE * np.sqrt((one**2).sum() * (other**2).sum()) or not one.any():
        return False
    one, other = map(_keep_details, grids)
    return bool(((one - other) ** 2).mean() <= DETAILS * ((one**2).mean() + (other**2).mean()) + NOISE**2)


def _keep_details(grid: np.ndarray) -> np.ndarray:
    """Return what each place has beyond the mean of the nine around it."""
    wide = np.pad(grid, 1, mode="edge")
    rows = wide[:-2] + wide[1:-1] + wide[2:]
    return grid - (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9


def _read_hashes(catalogue: Catalogue, side: str) -> np.ndarray:
    """Eight bytes an image; the only thing that grows with their number."""
    rows = catalogue.table.execute("SELECT likeness FROM examples WHERE side = ? ORDER BY name", [side])
    return np.fromiter((row[0] for row in rows), np.int64).view(np.uint64)


def _open_pictures(
    catalogue: Catalogue, files: Sequence[Path], side: str, places: set[int]
) -> dict[int, tuple[str, Picture]]:
    """Return names and pictures out of the finished shards, by their places in the order of names."""
    query = (
        "SELECT name, shard, ROW_NUMBER() OVER (PARTITION BY shard ORDER BY place, name) - 1 FROM examples "
        "WHERE side = ? ORDER BY name"
    )
    rows = enumerate(catalogue.table.execute(query, [side]) if places else ())
    wanted = {place: row for place, row in rows if place in places}
    shards = {shard for _, shard, _ in wanted.values()}
    indexes = {shard: np.load(files[shard].with_name(name_index(files[shard].name))) for shard in shards}

    def load(row: tuple[str, int, int]) -> tuple[str, Picture]:
        name, shard, turn = row
        frame = read_frame(files[shard], *map(int, indexes[shard][turn]))
        return name, open_picture(middle_frame(decode_features(frame)))

    with quiet_pillow(), ThreadPoolExecutor(machine.cores()) as threads:
        return dict(zip(wanted, threads.map(load, wanted.values()), strict=True))


def middle_frame(features: Mapping[str, Any]) -> bytes:
    """Return the image of a record, of a clip the one by which it is compared."""
    frames = features.get("clip/frames") or features["image/encoded"]
    return frames[len(frames) // 2]


def open_picture(encoded: bytes) -> Picture:
    """Open it within `quiet_pillow`."""
    opened = Image.open(io.BytesIO(encoded))
    shorter = min(opened.size)
    opened.draft("L", (KEPT, KEPT))
    return opened.convert("L").resize((KEPT, KEPT), Image.Resampling.BOX), shorter
