"""The part of a build of records that a node does. It reads raw files, or gets their bytes and returns shards."""

from collections.abc import Sequence
from pathlib import Path

from bakeoff.dataset.building.catalogue import PackedVerdict, unpack_item, unpack_verdict
from bakeoff.dataset.building.worker_tasks import Piece, examine_piece
from bakeoff.dataset.building.write_shards import Seal, ShardOrder, make_shard
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.experiments.cluster.raw_transfer import Excerpt, lay_out

PackedRow = tuple[int, str, str]  # dataset, item, verdict, as the catalogue keeps them


def load() -> None:
    """Import this module, so that the first task need not."""


def examine_near(datasets: Sequence[Dataset], piece: Piece) -> list[PackedVerdict]:
    """Return the verdicts on items whose files this node sees."""
    return examine_piece(datasets, [dataset.folder() for dataset in datasets], piece)


def examine_far(datasets: Sequence[Dataset], piece: Piece, excerpts: list[Excerpt]) -> list[PackedVerdict]:
    """Return the verdicts on items whose bytes came along."""
    with lay_out(datasets, excerpts) as inside:
        return examine_near(inside, piece)


def write_near(
    datasets: Sequence[Dataset], rows: list[PackedRow], order: ShardOrder, recipe: str, classes: list[str], folder: Path
) -> Seal:
    unpacked = ((source, unpack_item(item), unpack_verdict(verdict)) for source, item, verdict in rows)
    return make_shard(unpacked, order, recipe, datasets, classes, folder)


def write_far(
    datasets: Sequence[Dataset],
    rows: list[PackedRow],
    order: ShardOrder,
    recipe: str,
    classes: list[str],
    excerpts: list[Excerpt],
) -> tuple[Seal, dict[str, bytes]]:
    """Return the seal, and the content of the files that it names."""
    with lay_out(datasets, excerpts) as inside:
        seal = write_near(inside, rows, order, recipe, classes, Path())
        return seal, {name: Path(name).read_bytes() for name in seal.sha256}
