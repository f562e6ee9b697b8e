"""Examples -> shards, each written whole or not at all; and the records of a source that draws its own examples.

Beside a finished shard stands its seal: what it was made from, what it holds. A build that resumes after a kill keeps
every shard whose seal still fits.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bakeoff.dataset.building.catalogue import Catalogue, PackedRow, unpack_item, unpack_verdict
from bakeoff.dataset.building.report_data import write_made_report
from bakeoff.dataset.building.survey import A_SPLIT, ExamplePreview, SplitCounts, draw_sample
from bakeoff.dataset.building.validate import make_record
from bakeoff.dataset.records.manifest import BoxTable, Manifest, Shard, Split, write_labels
from bakeoff.dataset.records.record import SEEN, TRAIN, Record, RecordSource, encode_record, number_classes
from bakeoff.dataset.records.shards import ShardWriter, name_index, name_shard
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.foundation.files import building, hash_file, write_whole
from bakeoff.foundation.progress import progress

EXAMPLES_PER_SHARD = 1024


@dataclass(frozen=True)
class Seal:
    shard: Shard
    recipe: str  # names all that decides the shard's bytes
    tally: SplitCounts
    sha256: dict[str, str]  # of the shard and the files beside it


@dataclass(frozen=True)
class ShardOrder:
    split: str
    number: int
    count: int

    @property
    def file(self) -> str:
        return name_shard(self.split, self.number, self.count)


class ShardRecipe:
    """What decides the bytes of a shard."""

    def __init__(self, classes: Sequence[str]) -> None:
        self._hash = hashlib.sha256(json.dumps(list(classes)).encode())

    def add(self, row: PackedRow) -> None:
        self._hash.update(f"{row[1]}\n{row[2]}\n".encode())

    def digest(self) -> str:
        return self._hash.hexdigest()


def write_shard(
    catalogue: Catalogue, order: ShardOrder, datasets: Sequence[Dataset], classes: Sequence[str], folder: Path
) -> Seal:
    """Keep what is finished, or write it."""
    if held := find_finished(catalogue, order, classes, folder):
        return held
    with closing(catalogue.shard(order.split, order.number)) as rows:
        return make_shard(rows, order, datasets, classes, folder)


def find_finished(catalogue: Catalogue, order: ShardOrder, classes: Sequence[str], folder: Path) -> Seal | None:
    """Return the seal of a shard that needs not be written again."""
    if not (folder / name_seal(order.file)).exists():
        return None
    recipe = ShardRecipe(classes)
    with closing(catalogue.shard(order.split, order.number)) as rows:
        for row in rows:
            recipe.add(row)
    return read_seal(folder, order.file, recipe.digest())


def make_shard(
    rows: Iterable[PackedRow],
    order: ShardOrder,
    datasets: Sequence[Dataset],
    classes: Sequence[str],
    folder: Path,
) -> Seal:
    """Write beside, then rename, the seal last. Several processes may do so at once: they write the same."""
    ids, tally, boxes, recipe = number_classes(classes), SplitCounts(), [], ShardRecipe(classes)
    unfinished = f"partial-{secrets.token_hex(4)}-{order.file}"
    roots = [dataset.folder() for dataset in datasets]
    with ShardWriter(folder, unfinished) as shard:
        for row in rows:
            recipe.add(row)
            source, item, verdict = row[0], unpack_item(row[1]), unpack_verdict(row[2])
            record, sha256 = make_record(datasets[source], roots[source], item, verdict)
            shard.write(encode_record(record, ids, sha256))
            tally.add(record)
            if order.split == TRAIN:
                boxes += [(box.ymin, box.xmin, box.ymax, box.xmax) for box in record.boxes]
    (folder / unfinished).replace(folder / order.file)
    (folder / name_index(unfinished)).replace(folder / name_index(order.file))
    np.save(folder / name_boxes(unfinished), np.array(boxes, np.float32).reshape(-1, 4))
    (folder / name_boxes(unfinished)).replace(folder / name_boxes(order.file))
    made = replace(shard.describe(), file=order.file)
    beside = {name: hash_file(folder / name) for name in (name_index(order.file), name_boxes(order.file))}
    seal = Seal(made, recipe.digest(), tally, {order.file: made.sha256, **beside})
    keep_seal(seal, folder)
    return seal


def keep_seal(seal: Seal, folder: Path) -> None:
    """Write the seal, by which the shard and the files beside it are known to be finished."""
    write_whole(folder / name_seal(seal.shard.file), json.dumps(asdict(seal)))


def name_seal(shard: str) -> str:
    return f"{shard}.json"


def name_boxes(shard: str) -> str:
    return f"boxes-{shard}.npy"


def read_seal(folder: Path, file: str, recipe: str) -> Seal | None:
    """Return None if the shard is not finished, of another recipe, or not what it was when it was sealed."""
    try:
        tree = json.loads((folder / name_seal(file)).read_text(encoding="utf-8"))
        seal = Seal(Shard(**tree["shard"]), tree["recipe"], SplitCounts(**tree["tally"]), tree["sha256"])
        whole = seal.recipe == recipe and all(hash_file(folder / name) == known for name, known in seal.sha256.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # a power cut leaves files empty or of zeros
        return None
    return seal if whole else None


def make_records(source: RecordSource, out: Path, source_digest: str = "") -> Manifest:
    """Write what a source draws itself into `out`, whole."""
    splits: dict[str, Split] = {}
    tallies = {split: SplitCounts() for split in SEEN}
    pictures: list[ExamplePreview] = []
    total = sum(source.count(split) for split in SEEN)
    with building(out) as unfinished:
        with progress("build_records", total, "examples") as bar, ExitStack() as files:
            table = files.enter_context(BoxTable(unfinished)) if source.task == "detection" else None

            def note(split: str, record: Record) -> None:
                if tallies[split].examples < A_SPLIT:
                    pictures.append(draw_sample(split, record))
                tallies[split].add(record)
                if table and split == TRAIN:
                    table.add(record.boxes)
                bar.advance()

            for split in SEEN:
                splits[split] = write_split(source, split, unfinished, partial(note, split))
        write_labels(source.classes(), unfinished)
        write_made_report(unfinished, source.classes(), tallies, pictures)
        boxes_sha256 = table.sha256() if table else None
        manifest = Manifest(
            source.task, tuple(source.classes()), splits, boxes_sha256=boxes_sha256, source_digest=source_digest
        )
        manifest.write(unfinished)
    return manifest


def write_split(
    source: RecordSource, split: str, folder: Path, note: Callable[[Record], object] = lambda _: None
) -> Split:
    """Write one split in order, in shards of nearly equal length, and call `note` with each record."""
    classes, total = source.classes(), source.count(split)
    ids = number_classes(classes)
    records = iter(source.records(split))
    count = max(1, -(-total // EXAMPLES_PER_SHARD))
    shards: list[Shard] = []
    tally = SplitCounts()
    for number in range(count):
        examples = (number + 1) * total // count - number * total // count
        with ShardWriter(folder, name_shard(split, number, count)) as shard:
            for _ in range(examples):
                record = next(records)
                shard.write(encode_record(record, ids))
                tally.add(record)
                note(record)
        shards.append(shard.describe())
    return describe_split(tally, classes, shards)


def describe_split(tally: SplitCounts, classes: Sequence[str], shards: Sequence[Shard]) -> Split:
    counts = {label: tally.labels.get(label, 0) for label in classes}
    return Split(tally.examples, tally.decoded_bytes, tally.frames, counts, tuple(shards))
