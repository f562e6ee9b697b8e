"""A source that draws its examples itself -> records."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from bakeoff.building.report import write_made_report
from bakeoff.building.samples import A_SPLIT, Sample, sample
from bakeoff.building.tally import Tally
from bakeoff.files import building
from bakeoff.progress import progress
from bakeoff.records.box_table import BoxTable
from bakeoff.records.example import class_ids, encode_with
from bakeoff.records.manifest import Manifest, Shard, Split
from bakeoff.records.record import SPLITS, TRAIN, Record, Source
from bakeoff.records.shards import ShardWriter, shard_name, write_labels

EXAMPLES_PER_SHARD = 1024


def make_records(source: Source, out: Path, source_digest: str = "") -> Manifest:
    """Write the source's records into `out`, whole."""
    splits: dict[str, Split] = {}
    tallies: dict[str, Tally] = {}
    pictures: list[Sample] = []
    total = sum(source.count(split) for split in SPLITS)
    with building(out) as partial:
        with progress("build_records", total, "examples") as bar, ExitStack() as files:
            table = files.enter_context(BoxTable(partial)) if source.task == "detection" else None
            for split in SPLITS:
                tally = tallies[split] = Tally()

                def seen(record: Record, split: str = split, tally: Tally = tally) -> None:
                    if tally.examples < A_SPLIT:
                        pictures.append(sample(split, record))
                    tally.add(record)
                    if table and split == TRAIN:
                        table.add(record.boxes)

                splits[split] = write_split(source, split, partial, bar.advance, seen)
        write_labels(source.classes(), partial)
        write_made_report(partial, source.classes(), tallies, pictures)
        manifest = Manifest(
            source.task,
            tuple(source.classes()),
            splits,
            boxes_sha256=table.sha256() if table else None,
            source_digest=source_digest,
        )
        manifest.write(partial)
    return manifest


def write_split(
    source: Source,
    split: str,
    folder: Path,
    done: Callable[[], object],
    seen: Callable[[Record], object] | None = None,
) -> Split:
    """Write one split in order, in shards of nearly equal length; after each record `done()` and `seen(record)`."""
    classes, total = source.classes(), source.count(split)
    ids = class_ids(classes)
    records = iter(source.records(split))
    count = max(1, -(-total // EXAMPLES_PER_SHARD))
    shards: list[Shard] = []
    tally = Tally()
    for number in range(count):
        examples = (number + 1) * total // count - number * total // count
        with ShardWriter(folder, shard_name(split, number, count)) as shard:
            for _ in range(examples):
                record = next(records)
                shard.write(encode_with(record, ids))
                tally.add(record)
                if seen:
                    seen(record)
                done()
        shards.append(shard.made())
    return describe_split(tally, classes, shards)


def describe_split(tally: Tally, classes: Sequence[str], shards: Sequence[Shard]) -> Split:
    """Return the manifest's account of a split."""
    counts = {label: tally.labels.get(label, 0) for label in classes}
    return Split(tally.examples, tally.decoded_bytes, tally.frames, counts, tuple(shards))
