"""Two data sets -> which picture of the one is which of the other, by name, by bytes, and by how they look."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import PurePosixPath

import numpy as np

from bakeoff.dataset.building.image_check import FLAT, NEAR
from bakeoff.dataset.building.near_duplicates import (
    MOST_CANDIDATES,
    GreyImage,
    find_near_pairs,
    look_alike,
    open_picture,
)
from bakeoff.dataset.sources.dataset import find_side
from bakeoff.experiments.data_diff.open_data import Example
from bakeoff.foundation.tf_loading import quiet_pillow


@dataclass(frozen=True)
class Pair:
    """A picture as it was, and as it is."""

    before: Example
    after: Example

    @property
    def has_new_bytes(self) -> bool:
        return self.before.digest != self.after.digest


@dataclass(frozen=True)
class Matching:
    pairs: Sequence[Pair]  # of one picture each
    replaced: Sequence[Pair]  # of one name, and of pictures that differ
    went: Sequence[Example]
    came: Sequence[Example]


class PictureLooks:
    """How pictures look, each opened once."""

    def __init__(self) -> None:
        self._opened: dict[str, GreyImage | None] = {}

    def are_alike(self, one: Example, other: Example) -> bool:
        if one.digest == other.digest:
            return True
        looks = [self._open(one), self._open(other)]
        return None not in looks and look_alike(*filter(None, looks))

    def find_alike(self, known: Sequence[Example], asked: Sequence[Example]) -> Iterator[tuple[Example, Example]]:
        """Yield (known, asked) of pictures that look alike, or have the same bytes, but of none with itself."""
        hashes = (np.array([one.likeness for one in some], np.uint64) for some in (known, asked))
        near = find_near_pairs(*hashes) if known and asked else iter(())
        for place, at in islice(near, MOST_CANDIDATES):
            if known[place] is not asked[at] and self.are_alike(known[place], asked[at]):
                yield known[place], asked[at]

    def _open(self, one: Example) -> GreyImage | None:
        if one.digest not in self._opened:
            data = one.read()
            with quiet_pillow():
                self._opened[one.digest] = open_picture(data) if data else None
        return self._opened[one.digest]


def match_pictures(before: Sequence[Example], after: Sequence[Example], looks: PictureLooks) -> Matching:
    """Match by name and bytes, then by bytes, then by name and look, then by look alone."""
    old, new = ({one.name: one for one in some} for some in (before, after))
    pairs = _take(old, new, [(name, name) for name in new if name in old and old[name].digest == new[name].digest])
    pairs += _take(old, new, _pair_by_bytes(old.values(), new.values()))
    for call in (_strip_ending, _strip_folders):
        known, asked = (_find_unique(some.values(), call) for some in (old, new))
        called = [(known[key], asked[key]) for key in known.keys() & asked.keys()]
        pairs += _take(old, new, [(one.name, it.name) for one, it in called if _is_saved_again(one, it, looks)])
    alike = [(one.name, other.name) for one, other in looks.find_alike([*old.values()], [*new.values()])]
    pairs += _take(old, new, sorted(alike, key=lambda names: -_measure_names(*names)))
    replaced = _take(old, new, [(name, name) for name in new if name in old])
    return Matching(pairs, replaced, [*old.values()], [*new.values()])


def _take(old: dict[str, Example], new: dict[str, Example], names: Iterable[tuple[str, str]]) -> list[Pair]:
    """Take the pictures of these names out of those that have no partner yet."""
    return [Pair(old.pop(one), new.pop(other)) for one, other in names if one in old and other in new]


def _pair_by_bytes(old: Iterable[Example], new: Iterable[Example]) -> list[tuple[str, str]]:
    """Pair names of the same bytes; of several copies those whose names are most alike."""
    held: dict[str, list[str]] = defaultdict(list)
    for one in old:
        held[one.digest].append(one.name)
    names = []
    for one in new:
        if copies := held.get(one.digest):
            nearest = max(copies, key=lambda name: _measure_names(name, one.name))
            copies.remove(nearest)
            names.append((nearest, one.name))
    return names


def _measure_names(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _strip_ending(one: Example) -> object:
    """Return a name without its ending: .png may have become .jpg."""
    return PurePosixPath(one.name).with_suffix("")


def _strip_folders(one: Example) -> object:
    """Return a name without the folders of its class and split, which may be called otherwise now."""
    return name_place(one), PurePosixPath(one.name).stem


def _find_unique(examples: Iterable[Example], call: Callable[[Example], object]) -> dict[object, Example]:
    held: dict[object, list[Example]] = defaultdict(list)
    for one in examples:
        held[call(one)].append(one)
    return {key: some[0] for key, some in held.items() if len(some) == 1}


def _is_saved_again(one: Example, other: Example, looks: PictureLooks) -> bool:
    """Tell whether a file that kept its name shows the same picture; where the hashes are near, nothing is opened."""
    is_near = (one.likeness ^ other.likeness).bit_count() <= NEAR and one.likeness not in FLAT
    return is_near or looks.are_alike(one, other)


def name_place(one: Example) -> tuple[str, ...]:
    """Return the folders that a picture is in, without those that are its class or its split."""
    folders = PurePosixPath(one.name).parts[:-1]
    return tuple(folder for folder in folders if folder not in one.labels and find_side(folder) is None)
