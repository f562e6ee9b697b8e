"""A pool gives back what it made in any order; the records are the same."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from bakeoff.dataset.building import shard_assignment
from bakeoff.dataset.building.build import HomePool, build
from bakeoff.dataset.building.catalogue import Catalogue, PackedVerdict
from bakeoff.dataset.building.validate_all import ItemListing
from bakeoff.dataset.building.worker_tasks import PIECE, Piece, cut
from bakeoff.dataset.building.write_shards import Seal, ShardOrder
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.dataset import Dataset, Item, Part
from support.drawing import write_images


class Backwards(HomePool):
    """Gives back the last result first."""

    def __init__(self, datasets: Sequence[Dataset], folder: Path) -> None:
        super().__init__(1, datasets, folder)

    def examine(self, pieces: Iterable[Piece]) -> Iterator[list[PackedVerdict]]:
        return reversed(list(super().examine(pieces)))

    def write(
        self, orders: Iterable[ShardOrder], classes: list[str], catalogue: Catalogue
    ) -> Iterator[tuple[ShardOrder, Seal]]:
        return reversed(list(super().write(reversed(list(orders)), classes, catalogue)))


def test_a_pool_that_gives_results_backwards_makes_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shard_assignment, "EXAMPLES_PER_SHARD", 8)
    write_images(tmp_path / "set", {"cat": 40, "dog": 40})
    parts = [Part("", ImageFolders(path="set"))]
    build(parts, Path("one"), 1)
    build(parts, Path("other"), 1, make_pool=Backwards)
    names = sorted(file.name for file in Path("one").iterdir())
    assert sum(name.startswith("train-") for name in names) > 4
    assert [Path("one", name).read_bytes() for name in names] == [Path("other", name).read_bytes() for name in names]
    assert names == sorted(file.name for file in Path("other").iterdir())


def test_what_a_killed_build_left_half_written_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_images(tmp_path / "set", {"cat": 10})
    parts, left = [Part("", ImageFolders(path="set"))], list[Path]()

    def stop(datasets: Sequence[Dataset], folder: Path) -> HomePool:
        left.append(folder / "partial-1234-train-00000-of-00001")
        left[0].write_bytes(b"half of a shard")
        raise InterruptedError

    def go_on(datasets: Sequence[Dataset], folder: Path) -> HomePool:
        assert left[0].parent == folder and not left[0].exists()
        return HomePool(1, datasets, folder)

    with pytest.raises(InterruptedError):
        build(parts, Path("records"), 1, make_pool=stop)
    assert left[0].is_file()
    build(parts, Path("records"), 1, make_pool=go_on)


def test_pieces_have_a_size_and_the_last_one_the_rest() -> None:
    rows = [(0, str(number)) for number in range(7)]
    assert [len(piece) for piece in cut(rows, 3)] == [3, 3, 1]


@dataclass(frozen=True, kw_only=True)
class Listed(ImageFolders):
    """So many items, without their files."""

    count: int

    def items(self, root: Path) -> Iterator[Item]:
        return (Item(f"{number}.jpg", f"{number}.jpg") for number in range(self.count))

    def list_whole_folders(self, root: Path) -> set[str]:
        return set()


@pytest.mark.parametrize("count", [40, 5000])
def test_pieces_grow_with_the_data_so_that_workers_end_together(count: int, tmp_path: Path) -> None:
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        dataset = Listed(path=tmp_path.as_posix(), count=count)
        sizes = [len(piece) for piece in ItemListing(catalogue, [Part("", dataset)]).cut_pieces()]
    assert sum(sizes) == count
    assert sizes[:5] == [8] * 5
    assert all(size <= max(8, sum(sizes[:place]) // 32) for place, size in enumerate(sizes))
    assert max(sizes) == (8 if count == 40 else PIECE)
