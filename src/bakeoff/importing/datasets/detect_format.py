"""A folder -> whose layout it has, and how many images and boxes of each class a source finds in it, side by side."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources import SOURCES
from bakeoff.dataset.sources.class_folders import list_unlisted
from bakeoff.dataset.sources.dataset import Dataset, Item, SplitSettings, find_side
from bakeoff.dataset.sources.parsing import read_lines
from bakeoff.dataset.sources.paths import format_of, read_head, what_instead
from bakeoff.foundation.errors import BakeoffError, DataError
from bakeoff.foundation.formatting import make_printable
from bakeoff.importing.datasets.detect_class_folders import find_clips, find_image_folders
from bakeoff.importing.datasets.detect_coco_csv import find_coco, find_csv
from bakeoff.importing.datasets.detect_voc_yolo import find_voc, find_yolo
from bakeoff.importing.datasets.tree import DAY, FILM, Layout, Tree
from bakeoff.learning.run_file.parse import Problems, parse_kind

UNSAID = "no side"
MOST_PROBLEMS = 5  # that are repeated
FIRST_LINES = 5  # of a file, by which it is taken for a list
FEWEST_DATES = 4  # that can be parted into sides
FINDERS: dict[str, Callable[[Tree], Layout | None]] = {  # by the kind of source; of equals the first is taken
    "coco": find_coco,
    "box_csv": find_csv,
    "pascal_voc": find_voc,
    "yolo": find_yolo,
    "image_folders": find_image_folders,
    "clips": find_clips,
}
OF_BOXES = ("coco", "box_csv", "pascal_voc", "yolo")


@dataclass
class Survey:
    """What a source finds, without looking into images beyond their first bytes."""

    layout: Layout
    images: Counter[str] = field(default_factory=Counter)  # by side; of clips the clips
    objects: Counter[tuple[str, str]] = field(default_factory=Counter)  # by class and side; boxes, or labels
    classes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # the first of them, `file: why`
    rejected: int = 0
    ignored: int = 0
    lists: tuple[str, ...] = ()  # files that may say which examples are for training, validation or the test

    @property
    def total(self) -> int:
        return sum(self.images.values())

    def count_items(self, source: Dataset, root: Path) -> Iterator[tuple[Item, str | None, str]]:
        """Count what a source lists in a folder; yield each item, why it cannot be used, and its side."""
        listed = {name: side for _, name, side in source.split.read_lists(root)}
        paths: set[str] = set()
        for item in source.items(root):
            paths.add(item.path)
            trouble = item.problem or _judge_head(root, item)
            side = item.split or listed.get(PurePosixPath(item.name).stem) or UNSAID
            if item.ignored:
                self.ignored += 1
            elif trouble:
                self.rejected += 1
                if len(self.problems) < MOST_PROBLEMS:
                    self.problems.append(make_printable(f"{item.name}: {trouble}"))
            else:
                self.images[side] += 1
                self.objects.update((label, side) for label in (*item.labels, *(box[4] for box in item.boxes)))
            yield item, trouble, side
        self.ignored += sum(1 for _ in list_unlisted(root, paths))


def survey_folder(root: Path, kind: str | None = None) -> tuple[Survey, list[Survey]]:
    """Return the dataset that a folder holds, and what other layouts fit. `kind` asks for one layout. Raises DataError
    that names what is missing.
    """
    tree, called = Tree(root), root.name.removesuffix(".partial")
    if not tree.files:
        raise DataError(f"{called}: is empty")
    kinds = [kind] if kind else [*FINDERS]
    fits: list[Survey] = []
    lacking: list[str] = []
    for name in kinds:
        if name not in OF_BOXES and fits:
            break  # folders named images/ and labels/ are no classes
        layout = FINDERS[name](tree)
        if layout is None or (name not in OF_BOXES and lacking and not kind):
            continue
        survey = count(root, layout)
        if survey.layout.lacks or not survey.total:
            why = survey.layout.lacks or "nothing in it can be used: " + "; ".join(survey.problems)
            lacking.append(f"  {layout.kind} ({layout.name}): {why}")
        else:
            fits.append(survey)
    if not fits:
        raise DataError("\n".join([_describe_failure(called, kind, lacking), *lacking]))
    best, *others = sorted(fits, key=lambda survey: -survey.total)
    lists = tuple(
        path.as_posix() for path in tree.find(".txt", ".csv") if find_side(path.stem) and _is_list(tree, path)
    )
    return replace(best, layout=_choose_split(tree, best), lists=lists), others


def _is_list(tree: Tree, path: PurePosixPath) -> bool:
    """Return whether the first words of a text are names of pictures or films."""
    try:
        lines = [*islice(read_lines(tree.root / path), FIRST_LINES)]
    except ValueError:
        return False
    stems = {one.name for one in tree.image_stems} | {one.stem for one in tree.videos}
    words = [line.split()[0] for line in lines if line.split()]
    return bool(words) and all(PurePosixPath(word.replace("\\", "/")).stem in stems for word in words)


def count(root: Path, layout: Layout) -> Survey:
    """Let the source of a layout list a folder."""
    survey = Survey(layout)
    if layout.lacks:
        return survey
    try:
        source = make_source(layout, root.as_posix())
        for _ in survey.count_items(source, root):
            pass
        labels = {label for label, _ in survey.objects}
        survey.classes = source.declared_classes(root) or sorted(labels)
    except BakeoffError as error:
        survey.layout = replace(layout, lacks=str(error).removeprefix(f"{root.as_posix()}/"))
    return survey


def make_source(layout: Layout, path: str) -> Dataset:
    """Return the settings that an option with this layout stands for. Raises ConfigError."""
    problems = Problems(lambda key: path)
    source = parse_kind(SOURCES, {"kind": layout.kind, "path": path, **layout.settings}, "data", problems)
    problems.raise_any()
    assert isinstance(source, Dataset)
    return source


def _judge_head(root: Path, item: Item) -> str | None:
    """Return why an image is none by its first bytes, such as a page that was saved as .jpg."""
    if item.media != "image":
        return None
    head = read_head(root / item.path)
    if isinstance(head, str):
        return head
    return None if format_of(head) else what_instead(head)


def _choose_split(tree: Tree, survey: Survey) -> Layout:
    """Keep frames of one film together, or pictures of one day, where the dataset itself has no sides.

    Where it has training alone, as CVAT writes a task, validation is drawn from that.
    """
    layout, settings = survey.layout, survey.layout.settings
    if set(survey.images) not in ({UNSAID}, {TRAIN}) or "split" in settings:
        return layout
    films = Counter(SplitSettings(group=FILM).find_groups([path.as_posix() for path in tree.images]))
    split: dict[str, Any] = {"by": "fraction"} if TRAIN in survey.images else {}
    if films and films[None] == 0:
        split |= {"group": FILM} if len(films) > 1 else {"by": "blocks"}
    elif len(tree.find_dates()) >= FEWEST_DATES:
        split |= {"group": DAY}
    return replace(layout, settings={**settings, "split": split}) if split else layout


def _describe_failure(called: str, kind: str | None, lacking: list[str]) -> str:
    if kind:
        return f"{called}: cannot be read as {kind}" + (":" if lacking else "; it has no file of that layout")
    if lacking:
        return f"{called}: cannot be used as it is:"
    return f"{called}: no known layout (docs/import.md lists them); it has no picture, no film and no file of boxes"
