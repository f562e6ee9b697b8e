"""Any folder becomes records, or is refused; each picture and film in it is in a record or is named in the report."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np

from bakeoff.dataset.building.build import build
from bakeoff.dataset.records.shards import locate_examples, read_frame
from bakeoff.dataset.records.wire import decode_features
from bakeoff.dataset.sources.dataset import Dataset, part_folders
from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES, VIDEO_SUFFIXES
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.foundation.formatting import make_printable
from bakeoff.importing.datasets.detect_format import make_source
from bakeoff.importing.datasets.import_dataset import Request, bring_in
from proofs.attacks.campaign import Attempt, Campaign, Wrong
from proofs.attacks.odd_folders import LAYOUTS, damage, mixed, tfrecords

OUTSIDE = "outside_set"  # which import copies
CHANGES = 20  # of files that are being read
MEDIA = IMAGE_SUFFIXES | VIDEO_SUFFIXES
KINDS = ("rejected", "ignored", "left out")  # keys of report.json


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    for random in randoms:
        for old in folder.iterdir():
            old.unlink() if old.is_symlink() or not old.is_dir() else shutil.rmtree(old)
        (folder / "conf/data").mkdir(parents=True)
        root = folder / random.choice(["data/raw/set", OUTSIDE])
        layout = random.choice(LAYOUTS)
        layout(root, random)
        changes = [damage(root, random) for _ in range(random.choice([0, 1, 1, 2, 3, 6]))]
        moves = random.random() < 0.2
        words = f"{layout.__name__}: {'; '.join(changes)}{'; and it changes while it is read' if moves else ''}"
        yield Attempt(words, partial(bring_and_build, root, random, moves=moves, layout=layout))


def bring_and_build(root: Path, random: Random, *, moves: bool, layout: Callable[..., None]) -> None:
    stop = threading.Event()
    mover = threading.Thread(target=_keep_changing, args=(root, Random(random.random()), stop), daemon=True)
    if moves:
        mover.start()
    try:
        source = _choose_source(root, is_foreign=layout is tfrecords)
        parts = part_folders(replace(source, max_rejected=random.choice([0.05, 1.0])))
        out = Path("data/records")
        manifest, _ = build(parts, out, 1)
    finally:
        stop.set()
        if moves:
            mover.join(1)
    named = _check_records(out, [shard for split in manifest.splits.values() for shard in split.shards])
    if not moves and layout not in (tfrecords, mixed):  # two datasets in one folder are named by import
        _require_named(Path(source.path), named | _list_reported(out))


def _choose_source(root: Path, *, is_foreign: bool) -> Dataset:
    if is_foreign:
        return TfRecords(path=root.relative_to(Path.cwd()).as_posix(), layout="object_detection")
    brought = bring_in(Request(root, "set", Path("data/raw/copy")))
    return make_source(brought.survey.layout, brought.folder.as_posix())


def _check_records(out: Path, shards: list) -> set[str]:
    names: set[str] = set()
    for path, offset, length in locate_examples(out, shards):
        features = decode_features(read_frame(path, offset, length))
        names |= {name.decode() for name in features["image/source_id"] if isinstance(name, bytes)}
        corners = [np.array(features.get(f"image/object/bbox/{side}", [])) for side in ("ymin", "xmin", "ymax", "xmax")]
        if not all(np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all() for values in corners):
            raise Wrong(f"{names}: a box that leaves its image: {corners}")
        if (corners[0] >= corners[2]).any() or (corners[1] >= corners[3]).any():
            raise Wrong(f"{names}: a box without an area: {corners}")
    return names


def _list_reported(out: Path) -> set[str]:
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return {name for kind in KINDS for name in report.get(kind, {})}


def _require_named(root: Path, named: set[str]) -> None:
    """Raise Wrong for a picture or a film of which no word was said, nor of its label, nor of a folder it lies in."""
    stems = {Path(name).stem for name in named}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name[0] != "."]
        for file in files:
            path = (Path(folder) / file).relative_to(root)
            if path.suffix.lower() not in MEDIA or file[0] == ".":
                continue
            words = {make_printable(str(one)) for one in (path, *path.parents)} - {"."}
            if not words & named and make_printable(path.stem) not in stems:
                raise Wrong(f"{make_printable(str(path))}: neither in a record nor in the report")


def _keep_changing(root: Path, random: Random, stop: threading.Event) -> None:
    for _ in range(CHANGES):
        if stop.wait(random.choice([0.001, 0.01, 0.05])):
            return
        try:
            damage(root, random)
        except OSError:
            continue


CAMPAIGN = Campaign(1000, attempts)
