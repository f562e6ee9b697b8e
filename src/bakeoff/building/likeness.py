"""Images that look alike: a 64-bit hash of each, and pairs of hashes that differ in few bits.

The hash says for an 8 by 8 grid over 9 by 8 mean greys whether it gets lighter to the right (a difference hash).
"""

from collections.abc import Iterator

import numpy as np

NEAR = 3  # bits; two hashes this near share at least one of their four 16-bit parts
MOST_LOOKED_AT = 200  # candidates for one image, so that thousands of blank images do not make millions of pairs
FLAT = (0, (1 << 64) - 1)  # hashes of images without any detail; they would all be alike


def picture_hash(grey: np.ndarray) -> int:
    """Of a small grey image (h, w) uint8; enlarged images, other qualities and sizes of the same picture stay near."""
    rows, columns = (np.arange(count) * side // count for count, side in zip((8, 9), grey.shape, strict=True))
    sums = np.add.reduceat(np.add.reduceat(grey, rows, axis=0, dtype=np.int64), columns, axis=1)
    # Whole greys: half of one more or less is noise.
    grid = np.rint(sums / _lengths(rows, grey.shape[0])[:, None] / _lengths(columns, grey.shape[1]))
    return int.from_bytes(np.packbits(grid[:, 1:] > grid[:, :-1]).tobytes())


def _lengths(starts: np.ndarray, end: int) -> np.ndarray:
    """How many pixels `reduceat` adds up from each start to the next; one where the next is no further."""
    return np.maximum(np.diff(starts, append=end), 1)


def near_pairs(train: np.ndarray, validation: np.ndarray) -> Iterator[tuple[int, int]]:
    """(place in train, place in validation), uint64 hashes, that differ in at most NEAR bits."""
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
