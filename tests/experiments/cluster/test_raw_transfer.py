"""The bytes that travel to a far node are those that a build reads. Verdicts and shards are the same."""

from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.dataset.building.catalogue import Catalogue, PackedRow, PackedVerdict, pack_content
from bakeoff.dataset.building.worker_tasks import Piece
from bakeoff.dataset.building.write_shards import ShardOrder
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.records.shards import ShardWriter
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.dataset import Dataset, Item
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.experiments.cluster import raw_transfer
from bakeoff.experiments.cluster.raw_transfer import Excerpt, lay_out, take_excerpts
from bakeoff.experiments.cluster.ray_building import examine_far, examine_near, write_far, write_near
from support.drawing import encoded, write, write_images


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def items_of(dataset: Dataset) -> list[tuple[int, Item]]:
    return [(0, item) for item in dataset.items(dataset.folder())]


def pack_piece(items: list[tuple[int, Item]]) -> Piece:
    return [(source, pack_content(item)) for source, item in items]


def pack(path: Path, items: list[tuple[int, Item]], verdicts: list[PackedVerdict]) -> list[PackedRow]:
    """Return the rows of all that passed, as a catalogue has them."""
    query = "SELECT source, items.content, verdicts.content FROM items JOIN verdicts USING (name) WHERE reason IS NULL"
    with closing(Catalogue(path)) as catalogue:
        list(catalogue.list_items(items, lambda source, item: ""))
        catalogue.add_verdicts(verdicts)
        return catalogue.table.execute(query).fetchall()


@pytest.mark.parametrize("is_absolute", [False, True])
def test_far_verdicts_and_shards_are_those_of_a_near_node(is_absolute: bool, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3, "dog": 3})
    write(tmp_path / "set/cat/broken.jpg", "no image")
    write(tmp_path / "set/notes.txt", "no image at all")
    dataset = ImageFolders(path=str(tmp_path / "set") if is_absolute else "set", max_side=24)
    items = items_of(dataset)
    piece, excerpts = pack_piece(items), take_excerpts([dataset], items)
    assert excerpts is not None
    near, far = examine_near([dataset], piece), examine_far([dataset], piece, excerpts)
    assert near == far and any(reason for reason, *_ in near)
    rows, order = pack(tmp_path / "catalogue.db", items, near), ShardOrder(TRAIN, 0, 1)
    (tmp_path / "near").mkdir()
    seal = write_near([dataset], rows, order, ["cat", "dog"], tmp_path / "near")
    far_seal, files = write_far([dataset], rows, order, ["cat", "dog"], excerpts)
    assert far_seal == seal and seal.tally.examples == 6
    assert files == {name: (tmp_path / "near" / name).read_bytes() for name in seal.sha256}


def test_a_folder_of_frames_travels_whole(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"set/walk/7/{number}.jpg", encoded(number))
    dataset = Clips(path="set")
    items = items_of(dataset)
    piece, excerpts = pack_piece(items), take_excerpts([dataset], items)
    assert excerpts is not None and len(excerpts) == 3
    assert examine_far([dataset], piece, excerpts) == examine_near([dataset], piece)


def test_of_a_tfrecord_file_only_the_records_travel(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    with ShardWriter(tmp_path / "set", "train-00000") as shard:
        for number in range(5):
            shard.write(b"no example, %d" % number * 100)
    dataset = TfRecords(path="set", layout="inception", validation=None)
    items = items_of(dataset)[2:4]
    piece, excerpts = pack_piece(items), take_excerpts([dataset], items)
    assert excerpts is not None and [(one.offset, len(one.content)) for one in excerpts] == [
        (item.span[0], item.span[1] + 4) for _, item in items if item.span
    ]
    far = examine_far([dataset], piece, excerpts)
    assert far == examine_near([dataset], piece) and all(reason for reason, *_ in far)


def test_what_is_too_much_or_cannot_be_read_stays_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_images(tmp_path / "set", {"cat": 2})
    dataset = ImageFolders(path="set")
    items = items_of(dataset)
    assert take_excerpts([dataset], items) is not None
    with monkeypatch.context() as smaller:
        smaller.setattr(raw_transfer, "MOST_BYTES", 100)
        assert take_excerpts([dataset], items) is None
    (tmp_path / "set/cat/000.jpg").unlink()
    assert take_excerpts([dataset], items) is None


def test_files_are_laid_out_at_their_offsets_and_gone_after(tmp_path: Path) -> None:
    excerpts = [Excerpt("set/a", 0, b"12"), Excerpt("set/a", 6, b"78"), Excerpt("set/deep/b", 0, b"b")]
    with lay_out([ImageFolders(path="set")], excerpts) as [inside]:
        there = Path.cwd()
        assert inside.folder().joinpath("a").read_bytes() == b"12\0\0\0\x0078"
        assert Path("set/deep/b").read_bytes() == b"b"
    assert not there.exists() and Path.cwd() == tmp_path
