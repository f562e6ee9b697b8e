"""What a detector finds in pictures without a label -> labels to correct, each marked as a proposal.

proposals.csv lists every proposed box with its score: image,class,score,xmin,ymin,xmax,ymax. Labels that are there stay
as they are, and a picture in which nothing was found gets none: an empty label would say that nothing is there.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from bakeoff.dataset.sources.yolo import find_classes, swap_folder
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.detect_coco_csv import list_coco_names
from bakeoff.importing.datasets.tree import Tree

TABLE = "proposals.csv"
SIDES = ("xmin", "ymin", "xmax", "ymax")
COLUMNS = ("image", "class", "score", *SIDES)
MARK = "proposal"  # in Pascal VOC and COCO
COCO_FILE = "proposals.json"
CLASSES = "classes.txt"
IMAGES = "images"
LABELS = {"voc": "annotations", "yolo": "labels"}  # the folder beside images/
SUFFIXES = {"voc": ".xml", "yolo": ".txt"}


@dataclass(frozen=True)
class PixelBox:
    """A box in pixels of the picture as it is shown."""

    label: str
    xmin: float
    ymin: float
    xmax: float
    ymax: float
    score: float | None = None  # of a proposal

    @property
    def corners(self) -> tuple[float, float, float, float]:
        return self.xmin, self.ymin, self.xmax, self.ymax


@dataclass(frozen=True)
class ImageProposals:
    image: PurePosixPath  # relative to the folder
    width: int
    height: int
    boxes: tuple[PixelBox, ...]


def boxes_of_answer(rows: Iterable[Mapping[str, Any]], min_score: float) -> tuple[PixelBox, ...]:
    """Return the boxes from a score on, of what a model answers as `bakeoff predict` lists it."""
    boxes = []
    for row in rows:
        left, top, width, height = row.get("bbox", (0, 0, 0, 0))
        if row["score"] >= min_score and width > 0 and height > 0:
            right, bottom = round(left + width, 2), round(top + height, 2)
            boxes.append(PixelBox(row["category"], left, top, right, bottom, row["score"]))
    return tuple(boxes)


@dataclass
class ProposalCounts:
    images: int = 0
    boxes: int = 0
    empty: int = 0  # pictures in which nothing was found
    labelled: int = 0  # that had a label before
    failures: list[str] = field(default_factory=list)


class LabelFolder:
    """Where labels of a format belong in a folder: beside images/ if it has that, else beside each picture."""

    def __init__(self, folder: Path, format_name: str, labels: Sequence[str]) -> None:
        """Raise DataError if proposals could not be distinguished from the labels that are there."""
        self.folder, self.format, self.tree = folder, format_name, Tree(folder)
        self.classes = list(labels)
        if (folder / TABLE).exists() or (format_name == "coco" and (folder / COCO_FILE).exists()):
            there = TABLE if (folder / TABLE).exists() else COCO_FILE
            raise DataError(f"{folder / there}: holds earlier proposals; correct those, then move it away")
        if format_name == "yolo" and (found := find_classes(folder)):
            file, self.classes = found
            if missing := [label for label in labels if label not in self.classes]:
                raise DataError(f"{folder / file}: lacks {missing[0]!r}, a class of the run; add it at the end")
        listed = list_coco_names(self.tree) if format_name == "coco" else ()
        self._listed = {PurePosixPath(name.replace("\\", "/")).name for name in listed}

    def is_labelled(self, image: PurePosixPath) -> bool:
        if self.format == "coco":
            return image.name in self._listed
        places = (self.locate(image), image.with_suffix(SUFFIXES[self.format]))
        return any((self.folder / place).exists() for place in places)

    def locate(self, image: PurePosixPath) -> PurePosixPath:
        """Return the file of an image's label."""
        return swap_folder(image, IMAGES, LABELS[self.format]).with_suffix(SUFFIXES[self.format])

    def write(self, scenes: Sequence[ImageProposals], source: str) -> None:
        """Write labels and the table of proposals. Raises OSError; then none of them stays."""
        written: list[Path] = []
        try:
            for path, text in self._list_files(scenes, source):
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("x", encoding="utf-8", newline="\n") as file:  # what is there stays
                    written.append(path)
                    file.write(text)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise

    def _list_files(self, scenes: Sequence[ImageProposals], source: str) -> Iterator[tuple[Path, str]]:
        if self.format == "coco":
            images = [
                {"file_name": scene.image.as_posix(), "width": scene.width, "height": scene.height} for scene in scenes
            ]
            boxes = [scene.boxes for scene in scenes]
            yield self.folder / COCO_FILE, make_coco(images, boxes, self.classes, f", by {source}")
        elif self.format == "voc":
            yield from ((self.folder / self.locate(scene.image), _make_voc(scene, source)) for scene in scenes)
        else:
            yield from ((self.folder / self.locate(one.image), _make_yolo(one, self.classes)) for one in scenes)
            if find_classes(self.folder) is None:
                yield self.folder / CLASSES, "".join(f"{label}\n" for label in self.classes)
        yield self.folder / TABLE, _make_table(scenes)


def _make_voc(scene: ImageProposals, source: str) -> str:
    root = ElementTree.Element("annotation")
    _add_texts(root, folder=scene.image.parent.name, filename=scene.image.name)
    _add_texts(ElementTree.SubElement(root, "source"), database=source, annotation=MARK)
    _add_texts(ElementTree.SubElement(root, "size"), width=scene.width, height=scene.height, depth=3)
    _add_texts(root, segmented=0)
    root.extend(map(make_voc_object, scene.boxes))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def make_voc_object(box: PixelBox) -> ElementTree.Element:
    node = ElementTree.Element("object")
    _add_texts(node, name=box.label, pose="Unspecified", truncated=0, difficult=0)
    if box.score is not None:
        _add_texts(node, score=box.score)
    sides = (f"{side:g}" if side < 1000 else str(side) for side in box.corners)
    _add_texts(ElementTree.SubElement(node, "bndbox"), **dict(zip(SIDES, sides, strict=True)))
    return node


def _add_texts(node: ElementTree.Element, **texts: object) -> None:
    for key, text in texts.items():
        ElementTree.SubElement(node, key).text = str(text)


def _make_yolo(scene: ImageProposals, classes: list[str]) -> str:
    lines = []
    for box in scene.boxes:
        x, y = (box.xmin + box.xmax) / 2 / scene.width, (box.ymin + box.ymax) / 2 / scene.height
        width, height = (box.xmax - box.xmin) / scene.width, (box.ymax - box.ymin) / scene.height
        lines.append(f"{classes.index(box.label)} {x:.8f} {y:.8f} {width:.8f} {height:.8f}\n")
    return "".join(lines)


def make_coco(
    pictures: Sequence[Mapping[str, Any]], boxes: Sequence[Sequence[PixelBox]], classes: Sequence[str], by: str = ""
) -> str:
    """Return the proposals of pictures, of which `pictures` holds what COCO says of an image."""
    annotations: list[dict[str, Any]] = []
    for number, own in enumerate(boxes, start=1):
        for box in own:
            wide, high = round(box.xmax - box.xmin, 2), round(box.ymax - box.ymin, 2)
            annotations.append(
                {
                    "id": len(annotations) + 1, "image_id": number, "category_id": classes.index(box.label) + 1,
                    "bbox": [box.xmin, box.ymin, wide, high], "area": round(wide * high, 2), "iscrowd": 0,
                    "score": box.score, "attributes": {MARK: True},
                }
            )  # fmt: skip
    images = [{"id": number, **picture} for number, picture in enumerate(pictures, start=1)]
    categories = [{"id": number, "name": label} for number, label in enumerate(classes, start=1)]
    info = {"description": f"{MARK}: boxes to correct{by}"}
    tree = {"info": info, "images": images, "categories": categories, "annotations": annotations}
    return json.dumps(tree, indent=1) + "\n"


def _make_table(scenes: Sequence[ImageProposals]) -> str:
    text = io.StringIO()
    rows = [(scene.image.as_posix(), box.label, box.score, *box.corners) for scene in scenes for box in scene.boxes]
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    return text.getvalue()


def propose(
    place: LabelFolder,
    find_objects: Callable[[Path], ImageProposals],
    source: str,
    advance: Callable[[], None] = lambda: None,
) -> ProposalCounts:
    """Let `find_objects` predict boxes in each picture without a label, and write them as proposals."""
    tally, scenes = ProposalCounts(), []
    for image in place.tree.images:
        advance()
        if place.is_labelled(image):
            tally.labelled += 1
            continue
        try:
            scene = find_objects(place.folder / image)
        except DataError as error:
            tally.failures.append(f"{image}: {error}")
            continue
        tally.images += 1
        tally.boxes += len(scene.boxes)
        if scene.boxes:
            scenes.append(ImageProposals(image, scene.width, scene.height, scene.boxes))
        else:
            tally.empty += 1
    if scenes:
        place.write(scenes, source)
    return tally
