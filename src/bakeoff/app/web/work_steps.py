"""The five steps of the work, and how far this workspace is with each: what the navigation of every page shows."""

import heapq
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError
from bakeoff.learning.run_file.yaml_file import read_mapping

PHOTOS, LABELS, TRAIN, MODELS, ROBOT = "/photos", "/labels", "/train", "/models", "/robot"
IMAGES, ANNOTATIONS, IGNORED, LABEL = "images", "annotations", "ignored", ".xml"
VOC = "pascal_voc"  # the labels that the page itself writes
ENOUGH_TO_TRY = 40  # labelled photos, from which on a first training says something
ENOUGH = 160  # with which one kind of object was found well (docs/howto/how-many-images.md)
SHOWN = 8  # photos of a set, for a look at it
Stamps = tuple[tuple[str, int], ...]  # folders, and when a name was last added to or removed from each


@dataclass(frozen=True)
class WorkStep:
    address: str
    name: str
    state: str  # in a word or two
    is_done: bool
    is_next: bool


@dataclass(frozen=True)
class PhotoCount:
    photos: int = 0
    labelled: int = 0
    first: tuple[str, ...] = ()  # of the photos, by their names

    def __add__(self, other: "PhotoCount") -> "PhotoCount":
        return PhotoCount(self.photos + other.photos, self.labelled + other.labelled)

    @property
    def goal(self) -> int:
        """Return how many are to be labelled before a first training."""
        return min(self.photos, ENOUGH_TO_TRY)

    @property
    def is_enough(self) -> bool:
        return self.photos > 0 and self.labelled >= self.goal


def list_steps(runs: Sequence[KnownRun] | None = None) -> list[WorkStep]:
    count, runs = count_photos(), known_runs() if runs is None else runs
    live = [run for run in runs if run.state.is_live]
    finished = sum(run.state == State.SUCCEEDED for run in runs)
    if not count.photos and not runs:
        following = PHOTOS
    elif count.photos and not count.is_enough:
        following = LABELS
    elif live or not finished:
        following = MODELS if live else TRAIN
    else:
        following = ROBOT
    waiting = sum(run.waits or run.place is not None for run in live)
    under_way = f"{len(live) - waiting} under way" if len(live) > waiting else f"{waiting} waiting" if waiting else ""
    rows = (
        (PHOTOS, "Photos", f"{count.photos:,}" if count.photos else "none yet", count.photos > 0),
        (LABELS, "Labels", f"{count.labelled:,} of {count.photos:,}" if count.photos else "", count.is_enough),
        (TRAIN, "Train", under_way, bool(runs)),
        (MODELS, "Models", f"{finished:,}" if finished else "", finished > 0),
        (ROBOT, "Robot", "ready" if finished else "", False),
    )
    return [WorkStep(address, name, state, done, address == following) for address, name, state, done in rows]


def count_photos() -> PhotoCount:
    """Return how many photos lie in data/raw/, and how many of them have labels."""
    return sum(count_sets().values(), PhotoCount())


def count_sets() -> dict[str, PhotoCount]:
    """Return the same for each folder of data/raw/."""
    raw = workspace.RAW
    names = sorted(path.name for path in raw.iterdir() if path.is_dir()) if raw.is_dir() else []
    imported = _list_imported(_stamp([(workspace.CONF / "data").as_posix()], ".yaml"))
    return {name: count_folder(name, is_labelled=name in imported) for name in names}


def count_folder(name: str, *, is_labelled: bool = False) -> PhotoCount:
    """Return the counts of a folder of data/raw/, which is listed again only after a file came or went."""
    root = (workspace.RAW / name).absolute()
    known = _counted.get(root)
    if known is None or _stamp([folder for folder, _ in known[0]]) != known[0]:
        known = _counted[root] = _count_anew(root)
    count = known[1]
    return replace(count, labelled=count.photos) if is_labelled else count


_counted: dict[Path, tuple[Stamps, PhotoCount]] = {}


def _count_anew(root: Path) -> tuple[Stamps, PhotoCount]:
    folders: list[str] = []
    names = [path[len(root.as_posix()) + 1 :] for path in _walk(root.as_posix(), folders)]
    stamps = _stamp(folders)
    images, annotations = (f"{IMAGES}/", f"{ANNOTATIONS}/") if (root / IMAGES).is_dir() else ("", "")
    photos = [
        name
        for name in names
        if os.path.splitext(name)[1].lower() in IMAGE_SUFFIXES
        and name.startswith(images)
        and not name.startswith(f"{IGNORED}/")
    ]
    labels = {os.path.splitext(name)[0].removeprefix(annotations) for name in names if name.endswith(LABEL)}
    labelled = sum(os.path.splitext(name)[0].removeprefix(images) in labels for name in photos)
    return stamps, PhotoCount(len(photos), labelled, tuple(heapq.nsmallest(SHOWN, photos)))


def _walk(folder: str, folders: list[str]) -> Iterator[str]:
    """Yield the files below a folder, and note the folders. Links and hidden names are passed over."""
    folders.append(folder)
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, folders)
        else:
            yield entry.path


def _stamp(folders: Sequence[str], suffix: str = "") -> Stamps:
    """Return when each folder was last changed; with a suffix, each file in it that ends so."""
    names = [*folders]
    if suffix:
        names = [entry.path for folder in folders if os.path.isdir(folder) for entry in os.scandir(folder)
                 if entry.name.endswith(suffix)]  # fmt: skip
    return tuple((name, os.stat(name).st_mtime_ns if os.path.exists(name) else 0) for name in sorted(names))


@lru_cache(maxsize=4)
def _list_imported(options: Stamps) -> frozenset[str]:
    """Return the folders of data/raw/ whose labels another program wrote, in a layout of its own."""
    found: set[str] = set()
    for name, _ in options:
        try:
            tree = read_mapping(Path(name))
        except (OSError, BakeoffError):
            continue
        path = tree.get("path")
        if tree.get("kind") != VOC and isinstance(path, str) and Path(path).is_relative_to(workspace.RAW):
            found.update(Path(path).relative_to(workspace.RAW).parts[:1])
    return frozenset(found)
