"""Shards of the chosen examples, written by the workers, each whole or not at all.

Beside a finished shard stands its seal: what it was made from, what it holds. A build that goes on after a kill keeps
every shard whose seal still fits.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.building.catalogue import Catalogue
from bakeoff.building.examine import record_of
from bakeoff.building.tally import Tally
from bakeoff.records.example import class_ids, encode_with
from bakeoff.records.manifest import Shard
from bakeoff.records.record import TRAIN
from bakeoff.records.shards import ShardWriter, index_name, shard_name
from bakeoff.sources.dataset import Dataset


@dataclass(frozen=True)
class Seal:
    shard: Shard
    recipe: str  # names all that decides the shard's bytes
    tally: Tally


@dataclass(frozen=True)
class Order:
    """One shard to write."""

    split: str
    number: int
    count: int

    @property
    def file(self) -> str:
        return shard_name(self.split, self.number, self.count)


def boxes_name(shard: str) -> str:
    return f"boxes-{shard}.npy"


def seal_of(folder: Path, file: str) -> Seal | None:
    """None if the shard is not finished."""
    try:
        tree = json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Seal(Shard(**tree["shard"]), tree["recipe"], Tally(**tree["tally"]))


def write_shard(
    catalogue: Catalogue, order: Order, datasets: Sequence[Dataset], classes: Sequence[str], folder: Path
) -> Seal:
    """Keeps what is finished; else writes beside, then renames, the seal last."""
    recipe = _recipe(catalogue, order, classes)
    held = seal_of(folder, order.file)
    if held and held.recipe == recipe:
        return held
    (folder / f"{order.file}.json").unlink(missing_ok=True)
    ids, tally, boxes = class_ids(classes), Tally(), []
    partial = f"partial-{order.file}"
    roots = [dataset.folder() for dataset in datasets]
    with ShardWriter(folder, partial) as shard:
        for source, item, verdict in catalogue.shard(order.split, order.number):
            record, sha256 = record_of(datasets[source], roots[source], item, verdict)
            shard.write(encode_with(record, ids, sha256))
            tally.add(record)
            if order.split == TRAIN:
                boxes += [(box.ymin, box.xmin, box.ymax, box.xmax) for box in record.boxes]
    (folder / partial).replace(folder / order.file)
    (folder / index_name(partial)).replace(folder / index_name(order.file))
    np.save(folder / boxes_name(order.file), np.array(boxes, np.float32).reshape(-1, 4))
    made = Shard(order.file, *[getattr(shard.made(), key) for key in ("examples", "bytes", "sha256")])
    seal = Seal(made, recipe, tally)
    ready = folder / f"partial-{order.file}.json"
    ready.write_text(json.dumps(asdict(seal)), encoding="utf-8")
    ready.replace(folder / f"{order.file}.json")
    return seal


def all_orders(counts: dict[str, int]) -> Iterator[Order]:
    for split, count in counts.items():
        for number in range(count):
            yield Order(split, number, count)


def _recipe(catalogue: Catalogue, order: Order, classes: Sequence[str]) -> str:
    query = (
        "SELECT items.content, verdicts.content FROM examples JOIN items USING (name) JOIN verdicts USING (name) "
        "WHERE side = ? AND shard = ? ORDER BY place, name"
    )
    digest = hashlib.sha256(json.dumps(list(classes)).encode())
    row: Any
    for row in catalogue.table.execute(query, (order.split, order.number)):
        for part in row:
            digest.update(part.encode())
            digest.update(b"\n")
    return digest.hexdigest()
