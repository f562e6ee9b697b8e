"""Datasets -> a catalogue with a verdict on every item: files are examined while others are still being listed."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from bakeoff.dataset.building.catalogue import Catalogue, PackedItem
from bakeoff.dataset.building.class_filter import require_chosen
from bakeoff.dataset.building.worker_tasks import PIECE, BuildPool, Piece
from bakeoff.dataset.sources.class_folders import list_unlisted
from bakeoff.dataset.sources.dataset import Dataset, Item, Part
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import make_printable
from bakeoff.foundation.progress import Bar, progress

LONGEST_REASON = 500  # characters of why a file cannot be used
AT_ONCE = 4  # pieces of a transaction: few enough that a kill loses little, enough that transactions cost nothing
FEWEST = 8  # images of a piece
SHARE = 32  # of so many that were given before it, a piece has one at most, so that workers end together


def check_items(catalogue: Catalogue, pool: BuildPool, parts: Sequence[Part]) -> None:
    """List all items, and examine those that have no verdict yet."""
    listing = ItemListing(catalogue, parts)
    with ExitStack() as open_bars:
        bar: Bar | None = None
        results = pool.examine(listing.cut_pieces())
        while verdicts := [verdict for result in islice(results, AT_ONCE) for verdict in result]:
            catalogue.add_verdicts(verdicts)
            if not listing.is_whole:
                listing.in_work.difference_update(name for *_, name in verdicts)
            if bar:
                bar.advance(len(verdicts))
            elif listing.is_whole:
                bar = open_bars.enter_context(progress("checking", catalogue.count("items"), "files"))
                bar.advance(catalogue.count("verdicts"))


class ItemListing:
    """The list of all items as it grows, and which of them are being examined."""

    def __init__(self, catalogue: Catalogue, parts: Sequence[Part]) -> None:
        self._catalogue, self._parts = catalogue, parts
        self._one_by_one, self._given = parts[0].dataset.task == "video", 0
        self.is_whole = False
        self.in_work: set[str] = set()  # names of items that had no verdict when the list became whole

    def cut_pieces(self) -> Iterator[Piece]:
        """Yield all that is to be examined.

        Of each part of the list a first piece is examined while the next part is listed. So workers have enough to do,
        and the list is whole long before they are done. A chosen class that a dataset lacks is refused before any file
        is read, so then nothing is examined meanwhile.
        """
        is_early = not any(part.dataset.classes for part in self._parts)
        roots = [part.dataset.folder() for part in self._parts]
        for listed in self._catalogue.list_items(_list_items(self._parts, roots), partial(_make_stamp, roots)):
            if is_early and listed:
                yield self._start(listed[: self._choose_size()])
        require_chosen(self._catalogue, self._parts)
        self.is_whole = True
        others = (row for row in self._catalogue.unchecked() if row[0] not in self.in_work)
        while some := list(islice(others, self._choose_size())):
            yield self._start(some)

    def _choose_size(self) -> int:
        return 1 if self._one_by_one else min(PIECE, max(FEWEST, self._given // SHARE))

    def _start(self, rows: list[tuple[str, PackedItem]]) -> Piece:
        self._given += len(rows)
        if not self.is_whole:
            self.in_work.update(name for name, _ in rows)
        return [item for _, item in rows]


def _list_items(parts: Sequence[Part], roots: Sequence[Path]) -> Iterator[tuple[int, Item]]:
    for source, (part, root) in enumerate(zip(parts, roots, strict=True)):
        for item in _list_whole_folder(part.dataset, root):
            name = f"{part.name}/{item.name}" if len(parts) > 1 else item.name
            safe, problem = make_printable(name), item.problem and make_printable(item.problem)[:LONGEST_REASON]
            fits = (safe, problem) == (item.name, item.problem)
            yield source, item if fits else replace(item, name=safe, problem=problem)


def _list_whole_folder(dataset: Dataset, root: Path) -> Iterator[Item]:
    """Yield the dataset's items, then all pictures and films; the catalogue drops those that it has."""
    is_empty, frames = True, set[str]()
    for item in dataset.items(root):
        is_empty = False
        if item.media == "frames":
            frames.add(item.path)
        yield item
    if is_empty:
        remedy = "put the dataset there (docs/records.md shows how it must look)"
        raise DataError(f"{root.as_posix()}: is empty; {remedy}")
    yield from list_unlisted(root, frames, dataset.list_whole_folders(root))


def _make_stamp(roots: Sequence[Path], source: int, item: Item) -> str:
    """Return what changes when the file does."""
    if item.problem:
        return ""
    path = os.path.join(roots[source], item.path)
    try:
        files = sorted(os.path.join(path, name) for name in os.listdir(path)) if item.media == "frames" else [path]
        return ",".join(f"{state.st_size}-{state.st_mtime_ns}" for state in map(os.stat, files))
    except OSError:
        return "unreadable"
