"""Datasets -> records: list, check, choose sides and shards, write, and only then put in place.

What a killed build leaves behind is under `.bakeoff/records/`, by a name made of settings and code. The next build
with the same ones resumes from it.
"""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np
from filelock import FileLock, Timeout

from bakeoff.dataset.building import write_shards
from bakeoff.dataset.building.catalogue import Catalogue, PackedItem, PackedVerdict, pack_verdict, unpack_item
from bakeoff.dataset.building.report_data import BuildFindings, write_report
from bakeoff.dataset.building.require_expected import require_expected
from bakeoff.dataset.building.scratch_folder import Beside
from bakeoff.dataset.building.shard_assignment import choose_classes, choose_shards, fill_examples, find_odd_classes
from bakeoff.dataset.building.splits import choose_sides
from bakeoff.dataset.building.survey import SplitCounts
from bakeoff.dataset.building.validate import AS_STORED, UNSAID, ItemVerdict
from bakeoff.dataset.building.validate_all import check_items
from bakeoff.dataset.building.worker_pool import WorkerPool
from bakeoff.dataset.building.worker_tasks import PIECE, BuildPool, MakePool, Piece, cut, examine_piece
from bakeoff.dataset.records.manifest import BoxTable, Manifest, write_labels
from bakeoff.dataset.records.record import SEEN, TAUGHT, TRAIN
from bakeoff.dataset.records.shards import name_index
from bakeoff.dataset.sources.dataset import Dataset, Part
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.files import building, link_or_copy, sync_file
from bakeoff.foundation.formatting import format_count, make_printable
from bakeoff.foundation.progress import progress
from bakeoff.foundation.result_code import deciding_digest

CATALOGUE = "catalogue.db"

_datasets: list[Dataset]  # in a worker process
_roots: list[Path]
_folder: Path


def build(
    parts: Sequence[Part],
    out: Path,
    workers: int,
    source_digest: str = "",
    *,
    labels: Sequence[str] = (),
    make_pool: MakePool | None = None,
) -> tuple[Manifest, BuildFindings]:
    """Build the records in `out`, whole; on any error what was there before stays.

    With `labels` they are for a model that knows these: they get its ids, and need not have anything to train on.
    With `make_pool` others do the work than processes of this machine.
    """
    datasets = [part.dataset for part in parts]
    with _hold_folder(parts, "judged_in_work" if labels else "records") as folder, ExitStack() as open_files:
        catalogue = open_files.enter_context(closing(Catalogue(folder / CATALOGUE)))
        as_stored = [replace(dataset, boxes_drawn_on="stored") for dataset in datasets]
        readers = [*datasets, *as_stored]
        with make_pool(readers, folder) if make_pool else HomePool(workers, readers, folder) as pool:
            pool.warm_up()
            check_items(catalogue, pool, parts)
            doubts = _settle_drawings(catalogue, pool, parts)
            _require_few_rejected(catalogue, parts)
            fill_examples(catalogue, datasets)
            classes, warnings = choose_classes(catalogue, parts, labels)
            rules, lines = choose_sides(catalogue, parts, () if labels else SEEN)
            warnings += [*doubts, *lines, *find_odd_classes(catalogue, lines)]
            taught = catalogue.count("examples", f"given = '{TAUGHT}' AND side = '{TRAIN}'")
            counts = choose_shards(catalogue, datasets)
            beside = open_files.enter_context(Beside(folder / CATALOGUE, datasets, counts))
            seals = _write(pool, counts, classes, catalogue, folder)
        beside.note_written()
        seals = {split: seals.get(split, []) for split in dict.fromkeys([*SEEN, *seals])}
        tallies = {split: sum((seal.tally for seal in made), SplitCounts()) for split, made in seals.items()}
        with building(out) as partial:
            boxes_sha256 = _gather(folder, partial, seals, datasets[0].task)
            write_labels(classes, partial)
            alike = beside.find_alike()
            if not labels:
                require_expected(datasets[0].expect, classes, tallies, alike, datasets[0].path)
            samples = beside.draw_samples()
            findings = write_report(partial, catalogue, classes, tallies, alike, rules, warnings, samples)
            shards = {split: [seal.shard for seal in sealed] for split, sealed in seals.items()}
            splits = {split: write_shards.describe_split(tallies[split], classes, shards[split]) for split in seals}
            task, multi_label = datasets[0].task, datasets[0].multi_label
            manifest = Manifest(task, tuple(classes), splits, multi_label, boxes_sha256, source_digest, taught)
            manifest.write(partial)
    shutil.rmtree(folder)
    return manifest, findings


def _settle_drawings(catalogue: Catalogue, pool: BuildPool, parts: Sequence[Part]) -> list[str]:
    """Take boxes of which no size tells whether they were drawn on the image as stored or as shown as most others are.

    Return a warning for each dataset with such images.
    """
    warnings = []
    drawn_on = "json_extract(verdicts.content, '$.drawn_on')"
    rows = f"FROM verdicts JOIN items USING (name) WHERE source = ? AND {drawn_on}"
    for source, part in enumerate(parts):
        if part.dataset.boxes_drawn_on != "auto" or part.dataset.task != "detection":
            continue
        counts = dict(catalogue.table.execute(f"SELECT {drawn_on}, COUNT(*) {rows} IS NOT NULL GROUP BY 1", [source]))
        if UNSAID not in counts:
            continue
        others = {kind: counts.get(kind, 0) for kind in ("stored", "shown")}
        drawn = "stored" if others["stored"] > others["shown"] else "shown"
        # Those that a build before this one took otherwise are among them.
        other = f"SELECT items.content {rows} = ? AND (instr(verdicts.content, ?) > 0) != ?"
        items = catalogue.table.execute(other, [source, UNSAID, AS_STORED, drawn == "stored"]).fetchall()
        again = ((source + len(parts) * (drawn == "stored"), content) for (content,) in items)
        for verdicts in pool.examine(cut(again, PIECE)):
            catalogue.add_verdicts(verdicts)
        [name] = catalogue.table.execute(f"SELECT MIN(name) {rows} = ?", [source, UNSAID]).fetchone()
        warnings.append(
            f"{format_count(counts[UNSAID], 'image')} with an EXIF orientation where no size tells whether boxes were "
            f"drawn on the image as stored or as shown, {name} for one; taken as {drawn}, as on "
            f"{others[drawn]:,} others (data.boxes_drawn_on)"
        )
    return warnings


def _require_few_rejected(catalogue: Catalogue, parts: Sequence[Part]) -> None:
    counted = (
        "SELECT SUM(reason IS NOT NULL AND NOT ignored), SUM(NOT ignored) FROM verdicts JOIN items USING (name) "
        "WHERE source = ?"
    )
    for source, part in enumerate(parts):
        rejected, usable = catalogue.table.execute(counted, [source]).fetchone()
        where = f"source = {source} AND reason IS NOT NULL AND NOT ignored"
        reasons = [f"  {make_printable(v.name)}: {v.reason}" for _, v in islice(catalogue.verdicts(where), 10)]
        root = part.dataset.path
        if not usable or rejected == usable:
            raise DataError("\n".join([f"{root}: holds no usable example (docs/records.md)", *reasons]))
        if rejected > part.dataset.max_rejected * usable:
            more = [f"  and {rejected - len(reasons):,} more"] if rejected > len(reasons) else []
            head = (
                f"{root}: {rejected:,} of {usable:,} files are rejected ({rejected / usable:.1%}), data.max_rejected "
                f"allows {part.dataset.max_rejected:.1%}; repair them or raise it; the old records stay"
            )
            raise DataError("\n".join([head, *reasons, *more]))


def _write(
    pool: BuildPool, counts: dict[str, int], classes: list[str], catalogue: Catalogue, folder: Path
) -> dict[str, list[write_shards.Seal]]:
    seals: dict[str, list[write_shards.Seal]] = {split: [] for split in counts}
    total = catalogue.count("examples", "side IS NOT NULL")
    orders = (
        write_shards.ShardOrder(split, number, count) for split, count in counts.items() for number in range(count)
    )
    with progress("writing", total, "examples") as bar:
        for order, seal in pool.write(orders, classes, catalogue):
            seals[order.split].append(seal)
            bar.advance(seal.tally.examples)
            # Left to the end, the disk would be waited for while no processor works.
            sync_file(folder / seal.shard.file)
    return {split: sorted(made, key=lambda seal: seal.shard.file) for split, made in seals.items()}


def _gather(folder: Path, partial: Path, seals: dict[str, list[write_shards.Seal]], task: str) -> str | None:
    """Give finished shards a second name in the output, so that a kill in between loses none."""
    for seal in (seal for made in seals.values() for seal in made):
        size = (folder / seal.shard.file).stat().st_size
        if size != seal.shard.bytes:
            raise WorkspaceError(
                f"{folder / seal.shard.file}: has {size} bytes, was written with {seal.shard.bytes}; delete {folder}"
            )
        for name in (seal.shard.file, name_index(seal.shard.file)):
            link_or_copy(folder / name, partial / name)
    if task != "detection":
        return None
    with BoxTable(partial) as table:
        for seal in seals[TRAIN]:
            table.add_rows(np.load(folder / write_shards.name_boxes(seal.shard.file)))
    return table.sha256()


@contextmanager
def _hold_folder(parts: Sequence[Part], kind: str) -> Iterator[Path]:
    """Give the folder of this build's work, for one process at a time. Those of other settings are given up."""
    shelf = workspace.main_workspace() / workspace.IN_FLIGHT / kind
    shelf.mkdir(parents=True, exist_ok=True)
    folder = shelf / _fingerprint(parts)
    for other in shelf.glob("*.lock"):
        if other.stem != folder.name:
            with suppress(Timeout), FileLock(other, timeout=0):
                shutil.rmtree(other.with_suffix(""), ignore_errors=True)
                other.unlink(missing_ok=True)
    with FileLock(f"{folder}.lock"):
        folder.mkdir(exist_ok=True)
        for left in folder.glob("*partial-*"):  # of a build that was killed
            left.unlink()
        try:
            yield folder
        except sqlite3.DatabaseError as error:
            if "full" in str(error):
                raise OSError(28, os.strerror(28), str(folder)) from None
            if "malformed" not in str(error) and "not a database" not in str(error):
                raise
            shutil.rmtree(folder)
            damage = f"what an interrupted build left is damaged ({error}), and deleted"
            raise WorkspaceError(f"{folder}: {damage}; run the same command again") from None


def _fingerprint(parts: Sequence[Part]) -> str:
    """Return a name for what decides the bytes besides the files: settings and code."""
    digest = hashlib.sha256(deciding_digest("build_records").encode())
    for part in parts:
        settings = {"kind": type(part.dataset).__name__, "name": part.name, **asdict(part.dataset)}
        for key in ("max_rejected", "expect"):
            settings.pop(key)
        digest.update(json.dumps([settings, part.dataset.folder().resolve().as_posix()]).encode())
    return digest.hexdigest()[:16]


class HomePool:
    """Processes of this machine. They read the catalogue themselves."""

    def __init__(self, count: int, datasets: Sequence[Dataset], folder: Path) -> None:
        self._workers = WorkerPool(count, _prepare, list(datasets), folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._workers.__exit__(kind)

    def warm_up(self) -> None:
        self._workers.warm_up()

    def examine(self, pieces: Iterable[Piece]) -> Iterator[list[PackedVerdict]]:
        return self._workers.each(_examine, pieces, _refuse_deadly)

    def write(
        self, orders: Iterable[write_shards.ShardOrder], classes: list[str], catalogue: Catalogue
    ) -> Iterator[tuple[write_shards.ShardOrder, write_shards.Seal]]:
        return self._workers.each(_write_one, ([(order, classes)] for order in orders), _give_up_writing)


def _prepare(datasets: list[Dataset], folder: Path) -> None:
    global _datasets, _roots, _folder
    _datasets, _folder = datasets, folder
    _roots = [dataset.folder() for dataset in datasets]


def _examine(piece: Piece) -> list[PackedVerdict]:
    return examine_piece(_datasets, _roots, piece)


def _refuse_deadly(element: PackedItem) -> list[PackedVerdict]:
    name = unpack_item(element[1]).name
    return [pack_verdict(ItemVerdict(name, "broken: it ends the process that decodes it"))]


def _write_one(
    piece: list[tuple[write_shards.ShardOrder, list[str]]],
) -> tuple[write_shards.ShardOrder, write_shards.Seal]:
    [(order, classes)] = piece
    with closing(Catalogue(_folder / CATALOGUE)) as catalogue:
        return order, write_shards.write_shard(catalogue, order, _datasets, classes, _folder)


def _give_up_writing(element: tuple[write_shards.ShardOrder, list[str]]) -> None:
    raise WorkspaceError(
        f"{element[0].file}: the process that wrote it was ended, most likely for want of memory; "
        "run the same command again, it resumes from what is finished"
    )
