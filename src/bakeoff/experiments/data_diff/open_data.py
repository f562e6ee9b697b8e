"""A folder, records or a git revision -> the examples of a data set, each with its labels and how to read its picture.

What is known of a file is kept in `.bakeoff/diff/`, of a shard in `.bakeoff/judged/contents/`. So a second look opens
what is new.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from filelock import FileLock

from bakeoff.dataset.building.build import CATALOGUE, HomePool
from bakeoff.dataset.building.catalogue import Catalogue, unpack_item, unpack_verdict
from bakeoff.dataset.building.image_check import RejectedItem, check_image, encode_stored, read_image
from bakeoff.dataset.building.near_duplicates import middle_frame
from bakeoff.dataset.building.validate_all import check_items
from bakeoff.dataset.records.manifest import FILE, read_manifest
from bakeoff.dataset.records.record import SPLITS, Box
from bakeoff.dataset.sources.dataset import Dataset, Part
from bakeoff.foundation import dvc, git, workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.files import link_or_copy, read_json, write_whole
from bakeoff.foundation.machine import cores
from bakeoff.foundation.progress import progress
from bakeoff.foundation.result_code import deciding_digest
from bakeoff.importing.datasets.detect_format import FINDERS, make_source
from bakeoff.importing.datasets.import_dataset import find_dataset
from bakeoff.importing.datasets.tree import Layout, Tree
from bakeoff.inference.evaluate.evaluation_data import Material, stamp_files
from bakeoff.inference.evaluate.leakage import features_at, read_facts
from bakeoff.tracking.results.results import output_digest, parse_yaml

STAMP = "stamp.json"
STAGE = "build_records"


@dataclass(frozen=True)
class Example:
    name: str
    split: str  # train, validation or test; empty where the data set does not say
    labels: tuple[str, ...]
    boxes: tuple[Box, ...]
    height: int
    width: int
    digest: str  # of its bytes
    likeness: int  # 64 bits, alike for pictures that look alike
    read: Callable[[], bytes | None]  # its picture, encoded; None of a film


@dataclass(frozen=True)
class OpenData:
    name: str  # as it was asked for
    task: str
    examples: Sequence[Example]
    rejected: int = 0  # files that are no usable example

    @property
    def boxes(self) -> int:
        return sum(len(one.boxes) for one in self.examples)

    @property
    def labels(self) -> set[str]:
        return {label for one in self.examples for label in (*one.labels, *(box.label for box in one.boxes))}


@contextmanager
def open_data(name: str) -> Iterator[OpenData]:
    """Open what a folder or a revision holds; pictures can be read within the block. Raises DataError."""
    folder = Path(name)
    if folder.is_dir():
        folder = folder / workspace.RECORDS if (folder / "dvc.yaml").is_file() else folder
        yield _open_records(name, folder) if _holds_records(folder) else _open_folder(name, folder)
        return
    listing = _find_records(name)
    shelf = _shelf()
    shelf.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=shelf, prefix="records-") as place:
        for file, digest in ((file, digest) for file, digest in listing.items() if "/" not in file):
            if (cached := dvc.cached_file(digest)) is None:
                raise DataError(f"{name}: {_describe_lack(file)}")
            link_or_copy(cached, Path(place) / file)
        yield _open_records(name, Path(place))


def _shelf() -> Path:
    return workspace.main_workspace() / workspace.IN_FLIGHT / "diff"


def _holds_records(folder: Path) -> bool:
    return (folder / FILE).is_file() or folder.resolve() == workspace.RECORDS.resolve()


def _find_records(revision: str) -> dict[str, str]:
    """Return the files of a commit's records, by their digests in DVC's cache. What it lacks is fetched."""
    commit = git.commit(revision) or git.commit_of(revision)
    if commit is None:
        if git.is_shallow():
            raise WorkspaceError(
                f"{revision}: is no folder, and not in this clone, which is shallow; "
                "`git fetch --unshallow` brings the rest (in a workflow: fetch-depth: 0)"
            )
        raise WorkspaceError(f"{revision}: is neither a folder nor a revision of git; `git log --all` lists commits")
    digest = output_digest(parse_yaml(git.file_at(commit, "dvc.lock")), STAGE, workspace.RECORDS)
    if digest is None:
        raise DataError(f"{revision}: its dvc.lock names no records; run `dvc repro {STAGE}` there and commit dvc.lock")
    if not dvc.is_cached(digest, dvc.cache()):
        try:
            if dvc.default_remote():
                dvc.fetch_commit(commit, [STAGE])
        except WorkspaceError as error:
            raise DataError(f"{revision}: {_describe_lack('its records')} ({error})") from None
    listing = dvc.cached_folder(digest)
    if listing is None:
        raise DataError(f"{revision}: {_describe_lack('its records')}")
    return listing


def _describe_lack(what: str) -> str:
    remote = (
        "nor in its remote, or it lets nobody in" if dvc.default_remote() else "which has no remote (`dvc remote add`)"
    )
    return f"{what} cannot be had: not in DVC's cache, {remote}; `dvc push` it from where it was built"


def _open_records(name: str, folder: Path) -> OpenData:
    manifest = read_manifest(folder)
    materials = [Material(folder, manifest, split) for split in SPLITS if split in manifest.splits]
    examples = []
    with progress("read", sum(one.split.examples for one in materials), "examples") as bar:
        for material in materials:
            rows = (row for shard in material.split.shards for row in read_facts(folder, shard, bar))
            for place, row in enumerate(rows):
                boxes = tuple(Box(*box[1:], label=box[0]) for box in row.boxes)
                examples.append(
                    Example(
                        row.name, material.name, row.labels, boxes, row.height, row.width, row.digest, row.likeness,
                        partial(_read_record, material, place),
                    )
                )  # fmt: skip
    return OpenData(name, manifest.task, examples)


def _read_record(material: Material, place: int) -> bytes:
    return middle_frame(features_at(material, place))


def _open_folder(name: str, folder: Path) -> OpenData:
    """Let the sources and the check of a build look at a folder. What they find is kept until a file changes."""
    code, kept = deciding_digest(STAGE), _shelf() / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    kept.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{kept}.lock"):
        stamp = hashlib.sha256(b"".join(stamp_files(folder))).hexdigest()
        known = read_json(kept / STAMP)
        if (known.get("stamp"), known.get("code")) != (stamp, code):
            layout = _detect_layout(folder, known)
            if known and any(known.get(key) != value for key, value in {**layout, "code": code}.items()):
                shutil.rmtree(kept)  # verdicts on another layout, or by other rules
                kept.mkdir()
            known = {**layout, "stamp": stamp, "code": code}
            _examine(kept, _make_source(folder, known))
            write_whole(kept / STAMP, json.dumps(known))
        source = _make_source(folder, known)
        with closing(Catalogue(kept / CATALOGUE)) as catalogue:
            examples = list(_list_examples(catalogue, source))
            rejected = catalogue.count("verdicts", "reason IS NOT NULL AND NOT ignored")
        if not examples:
            (kept / STAMP).unlink()  # for what was kept of it may be damaged
            remedy = "see docs/records.md, or run the same command again"
            raise DataError(f"{name}: holds no usable example; {remedy}")
    return OpenData(name, source.task, examples, rejected)


def _detect_layout(folder: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return where in a folder the data set is and how it is read; as it is `known`, if its files still say so."""
    place = folder / str(known.get("inside"))
    if known.get("kind") in FINDERS and place.is_dir():
        known_layout = FINDERS[known["kind"]](Tree(place))
        if known_layout and not known_layout.lacks and known_layout.settings == known.get("found"):
            return {key: value for key, value in known.items() if key not in ("stamp", "code")}
    inner, survey, _ = find_dataset(folder, None)
    layout, found = survey.layout, FINDERS[survey.layout.kind](Tree(inner))
    return {
        "inside": inner.relative_to(folder).as_posix(), "kind": layout.kind, "settings": layout.settings,
        "found": found.settings if found else {},
    }  # fmt: skip


def _make_source(folder: Path, known: Mapping[str, Any]) -> Dataset:
    layout = Layout(known["kind"], "", known["settings"])
    return make_source(layout, (folder / known["inside"]).as_posix())


def _examine(kept: Path, source: Dataset) -> None:
    with closing(Catalogue(kept / CATALOGUE)) as catalogue, HomePool(cores(), [source], kept) as pool:
        check_items(catalogue, pool, [Part("", source)])


def _list_examples(catalogue: Catalogue, source: Dataset) -> Iterator[Example]:
    root = source.folder()
    listed = {name: side for _, name, side in source.split.read_lists(root)}
    rows = catalogue.table.execute(
        "SELECT items.content, verdicts.content FROM items JOIN verdicts USING (name) WHERE reason IS NULL "
        "ORDER BY name"
    )
    for packed_item, packed_verdict in rows:
        item, verdict = unpack_item(packed_item), unpack_verdict(packed_verdict)
        split = item.split or listed.get(PurePosixPath(item.name).stem) or listed.get(item.name) or ""
        path = root / item.path if item.media == "image" else None
        yield Example(
            item.name, split, tuple(sorted(verdict.labels)), verdict.boxes, verdict.full_height, verdict.full_width,
            verdict.sha256, verdict.likeness, partial(_read_file, path),
        )  # fmt: skip


def _read_file(path: Path | None) -> bytes | None:
    """Return the picture as a record would have it: upright, a JPEG."""
    if path is None:
        return None
    try:
        data = read_image(path)
        return encode_stored(data, check_image(data, None), None)
    except (RejectedItem, OSError) as error:  # it was whole a moment ago
        raise DataError(f"{path.as_posix()}: changed while it was compared ({error}); run the same command") from None
