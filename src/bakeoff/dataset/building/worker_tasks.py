"""What a build gives its work to: processes of this machine, as in build.py, or of others.

Results come in any order. Which files come out does not depend on who made them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Protocol

from bakeoff.dataset.building.catalogue import Catalogue, PackedItem, PackedVerdict, pack_verdict, unpack_item
from bakeoff.dataset.building.validate import examine
from bakeoff.dataset.building.write_shards import Seal, ShardOrder
from bakeoff.dataset.sources.dataset import Dataset

Piece = list[PackedItem]
PIECE = 64  # items that a worker gets at once, at most


class BuildPool(Protocol):
    def warm_up(self) -> None:
        """Load what is needed while the caller does other things."""

    def examine(self, pieces: Iterable[Piece]) -> Iterator[list[PackedVerdict]]:
        """Yield the verdicts of each piece."""

    def write(
        self, orders: Iterable[ShardOrder], classes: list[str], catalogue: Catalogue
    ) -> Iterator[tuple[ShardOrder, Seal]]:
        """Write shards into the build's folder; keep those that are finished there."""


# (datasets, the build's folder) -> a pool, open within a block
MakePool = Callable[[Sequence[Dataset], Path], AbstractContextManager[BuildPool]]


def cut(rows: Iterable[PackedItem], size: int) -> Iterator[Piece]:
    source = iter(rows)
    while piece := list(islice(source, size)):
        yield piece


def examine_piece(datasets: Sequence[Dataset], roots: Sequence[Path], piece: Piece) -> list[PackedVerdict]:
    """Return what a worker finds, packed there: the process that keeps the catalogue has enough to do."""
    return [pack_verdict(examine(datasets[source], roots[source], unpack_item(content))) for source, content in piece]
