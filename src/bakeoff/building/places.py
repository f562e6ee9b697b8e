"""Which shard an example is in, so that one example more or less changes one or two shards, not all.

Examples are spread by a hash of their names. With 8 shards the last three bits choose; a ninth takes half of the first
one's (those with the next bit set), a tenth half of the second's, and so on (linear hashing).
"""

from collections.abc import Sequence

from bakeoff.building.catalogue import Catalogue
from bakeoff.building.made import EXAMPLES_PER_SHARD
from bakeoff.errors import DataError
from bakeoff.records.record import SPLITS
from bakeoff.sources.dataset import Dataset, Shards

MOST_BYTES = 200_000_000
BITS = 16  # of the hash; so many shards at most


def shard_of(place: int, count: int) -> int:
    wide = 1 << (count - 1).bit_length()
    low = place & wide - 1
    return low if low < count else low - wide // 2


def choose_shards(catalogue: Catalogue, datasets: Sequence[Dataset]) -> dict[str, int]:
    """Gives every example its shard; returns how many each split has."""
    counts = {}
    with catalogue.changing() as table:
        for side in SPLITS:
            rows = table.execute(
                f"SELECT place & {(1 << BITS) - 1}, COUNT(*), SUM(bytes) FROM examples WHERE side = ? GROUP BY 1",
                [side],
            ).fetchall()
            wanted = _set_by(datasets, side)
            counts[side] = count = wanted or shard_count(rows)
            examples = sum(row[1] for row in rows)
            if count > examples:
                raise DataError(
                    f"data.shards.{side}: must be at most the {examples} examples of the split, got {count}"
                )
            table.create_function("shard_of", 1, lambda place, count=count: shard_of(place, count), deterministic=True)
            table.execute("UPDATE examples SET shard = shard_of(place) WHERE side = ?", [side])
        table.execute("CREATE INDEX IF NOT EXISTS by_shard ON examples (side, shard, place)")
    return counts


def shard_count(rows: Sequence[tuple[int, int, int]]) -> int:
    """For (hash, examples, bytes): about 1,024 examples a shard, and none above 200 MB if that can be had."""
    count = max(1, -(-sum(row[1] for row in rows) // EXAMPLES_PER_SHARD))
    while count < 1 << BITS:
        sizes = [0] * count
        for place, _, size in rows:
            sizes[shard_of(place, count)] += size
        if max(sizes) <= MOST_BYTES:
            return count
        count += max(1, count // 8)
    return 1 << BITS


def _set_by(datasets: Sequence[Dataset], side: str) -> int | None:
    """Merged datasets with numbers of their own: the largest."""
    shards: list[Shards] = [dataset.shards for dataset in datasets]
    return max((getattr(each, side) or 0 for each in shards), default=0) or None
