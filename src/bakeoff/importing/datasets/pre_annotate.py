"""What a detector finds in pictures without a label -> labels to correct, each marked as a proposal.

proposals.csv lists every proposed box with its score: image,class,score,xmin,ymin,xmax,ymax. Labels that are there stay
as they are, and a picture in which nothing was found gets none: an empty label would say that nothing is there.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from bakeoff.dataset.sources.labels import read_labels
from bakeoff.dataset.sources.yolo import YAMLS
from bakeoff.dataset.sources.yolo_yaml import read_names
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.detect_coco_csv import list_coco_names
from bakeoff.importing.datasets.tree import Tree

TABLE = "proposals.csv"
COLUMNS = ("image", "class", "score", "xmin", "ymin", "xmax", "ymax")
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
    width: int  # 0 if nobody knows
    height: int
    boxes: tuple[PixelBox, ...]


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
        if format_name == "yolo":
            self.classes = _read_classes(folder, labels)
        self._listed = _list_in_tables(self.tree) if format_name == "coco" else set()

    def list_images(self) -> list[PurePosixPath]:
        return self.tree.images

    def is_labelled(self, image: PurePosixPath) -> bool:
        if self.format == "coco":
            return image.name in self._listed
        return any((self.folder / place).exists() for place in (self.locate(image), self._beside(image)))

    def locate(self, image: PurePosixPath) -> PurePosixPath:
        """Return the file of an image's label."""
        parts = list(image.parts)
        if IMAGES in parts[:-1]:
            parts[len(parts) - 2 - parts[:-1][::-1].index(IMAGES)] = LABELS[self.format]
        return PurePosixPath(*parts).with_suffix(SUFFIXES[self.format])

    def _beside(self, image: PurePosixPath) -> PurePosixPath:
        return image.with_suffix(SUFFIXES[self.format])

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
            yield self.folder / COCO_FILE, make_coco(scenes, self.classes, source)
        elif self.format == "voc":
            yield from ((self.folder / self.locate(scene.image), _make_voc(scene, source)) for scene in scenes)
        else:
            yield from ((self.folder / self.locate(one.image), _make_yolo(one, self.classes)) for one in scenes)
            if not any((self.folder / name).is_file() for name in (*YAMLS, CLASSES)):
                yield self.folder / CLASSES, "".join(f"{label}\n" for label in self.classes)
        yield self.folder / TABLE, _make_table(scenes)


def _read_classes(folder: Path, labels: Sequence[str]) -> list[str]:
    """Return the classes in the order of the folder's own file, which must have the model's."""
    file = next((name for name in (*YAMLS, CLASSES) if (folder / name).is_file()), None)
    if file is None:
        return list(labels)
    known = read_names(folder, file) if file in YAMLS else read_labels(folder, file)
    missing = [label for label in labels if label not in known]
    if missing:
        raise DataError(f"{folder / file}: lacks {missing[0]!r}, a class of the run; add it at the end")
    return known


def _list_in_tables(tree: Tree) -> set[str]:
    """Return the names of the pictures that a COCO JSON of the folder lists."""
    return {PurePosixPath(name.replace("\\", "/")).name for name in list_coco_names(tree)}


def _make_voc(scene: ImageProposals, source: str) -> str:
    root = ElementTree.Element("annotation")
    add_texts(root, folder=scene.image.parent.name, filename=scene.image.name)
    add_texts(ElementTree.SubElement(root, "source"), database=source, annotation=MARK)
    add_texts(ElementTree.SubElement(root, "size"), width=scene.width, height=scene.height, depth=3)
    add_texts(root, segmented=0)
    for box in scene.boxes:
        node = ElementTree.SubElement(root, "object")
        add_texts(node, name=box.label, pose="Unspecified", truncated=0, difficult=0, score=box.score)
        corners = ElementTree.SubElement(node, "bndbox")
        add_texts(corners, xmin=box.xmin, ymin=box.ymin, xmax=box.xmax, ymax=box.ymax)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def add_texts(node: ElementTree.Element, **texts: object) -> None:
    for key, text in texts.items():
        ElementTree.SubElement(node, key).text = str(text)


def _make_yolo(scene: ImageProposals, classes: list[str]) -> str:
    lines = []
    for box in scene.boxes:
        x, y = (box.xmin + box.xmax) / 2 / scene.width, (box.ymin + box.ymax) / 2 / scene.height
        width, height = (box.xmax - box.xmin) / scene.width, (box.ymax - box.ymin) / scene.height
        lines.append(f"{classes.index(box.label)} {x:.8f} {y:.8f} {width:.8f} {height:.8f}\n")
    return "".join(lines)


def make_coco(scenes: Sequence[ImageProposals], classes: list[str], source: str = "") -> str:
    """Return the JSON of COCO_FILE."""
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, scene in enumerate(scenes, start=1):
        sides = {"width": scene.width, "height": scene.height} if scene.width else {}
        images.append({"id": number, "file_name": scene.image.as_posix(), **sides})
        for box in scene.boxes:
            wide, high = round(box.xmax - box.xmin, 2), round(box.ymax - box.ymin, 2)
            annotations.append(
                {
                    "id": len(annotations) + 1, "image_id": number, "category_id": classes.index(box.label) + 1,
                    "bbox": [box.xmin, box.ymin, wide, high], "area": round(wide * high, 2), "iscrowd": 0,
                    "score": box.score, "attributes": {MARK: True},
                }
            )  # fmt: skip
    categories = [{"id": number, "name": label} for number, label in enumerate(classes, start=1)]
    info = {"description": f"{MARK}: boxes to correct{f', by {source}' if source else ''}"}
    tree = {"info": info, "images": images, "categories": categories, "annotations": annotations}
    return json.dumps(tree, indent=1) + "\n"


def _make_table(scenes: Sequence[ImageProposals]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for scene in scenes:
        for box in scene.boxes:
            table.writerow((scene.image.as_posix(), box.label, box.score, *box.corners))
    return text.getvalue()


def propose(
    place: LabelFolder,
    find_objects: Callable[[Path], ImageProposals],
    source: str,
    advance: Callable[[], None] = lambda: None,
) -> ProposalCounts:
    """Let `find_objects` predict boxes in each picture without a label, and write them as proposals."""
    tally, scenes = ProposalCounts(), []
    for image in place.list_images():
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
