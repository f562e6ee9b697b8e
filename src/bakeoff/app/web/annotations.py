"""Boxes of pictures in a folder of data/raw/, as Pascal VOC beside them, and what was proposed and waits for a word.

annotations/1.xml  the ground truth of images/1.jpg; one without an object says that nothing is there
proposals.json     boxes that nobody has accepted or refused yet, as `bakeoff propose --as coco` writes them
ignored/           pictures that shall be no examples
classes.txt        the classes in the order of their digits
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

from filelock import FileLock

from bakeoff.app.web.pixel_boxes import (
    is_class,
    make_box,
    make_voc,
    parse_boxes,
    parse_size,
    read_boxes,
    require_class,
)
from bakeoff.app.web.refusals import Conflict, NotFound
from bakeoff.app.web.safe_paths import own_folder, require_file, require_inside
from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES, list_files, stays_inside
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import NO_REGULAR_FILE, open_regular, write_whole
from bakeoff.importing.datasets.pre_annotate import COCO_FILE, TABLE, PixelBox, make_coco

IMAGES, ANNOTATIONS, IGNORED, CLASSES, SUFFIX = "images", "annotations", "ignored", "classes.txt", ".xml"
MOST_CLASSES = 500
CLASSES_FROM = 300  # labels, for their classes, where no classes.txt lists them


class AnnotationFolder:
    """A folder of data/raw/ whose pictures are labelled."""

    def __init__(self, name: str) -> None:
        self.name, self.root = name, require_inside(workspace.RAW, name)
        if "/" in name or not self.root.is_dir():
            raise NotFound(f"{self.root.as_posix()}: no such folder")
        self._has_images = (self.root / IMAGES).is_dir()

    def list_frames(self) -> list[str]:
        """Return the pictures in the order of their names, relative to the folder; without those that are ignored."""
        files = self._list_files(IMAGES if self._has_images else "")
        return sorted(
            path
            for path in files
            if os.path.splitext(path)[1].lower() in IMAGE_SUFFIXES and not path.startswith(f"{IGNORED}/")
        )

    def list_labels(self) -> list[str]:
        """Return the labels, relative to the folder, in the order of their names."""
        inside = ANNOTATIONS if self._has_images else ""
        return sorted(path for path in self._list_files(inside) if path.endswith(SUFFIX))

    def _list_files(self, inside: str) -> Iterator[str]:
        """Yield the names of usable files in a folder of this one, without opening them."""
        if (self.root / inside).is_dir():
            yield from (path for path, problem in list_files(self.root, inside) if not problem)

    def list_ignored(self) -> list[str]:
        if not (self.root / IGNORED).is_dir():
            return []
        return sorted(path for path, _ in list_files(self.root, IGNORED) if not path.endswith(".xml"))

    def picture(self, frame: str) -> Path:
        """Return the file of a picture. Raises NotFound."""
        path = require_file(self.root, frame)
        if path.suffix.lower() not in IMAGE_SUFFIXES:
            raise NotFound(f"{frame}: is no picture")
        return path

    def annotation(self, frame: str) -> Path:
        """Return where the label of a picture is or will be. Raises DataError if a link leads out of the folder."""
        label = self.name_label(frame)
        if parent := PurePosixPath(label).parent.as_posix().removeprefix("."):
            require_inside(self.root, parent)
        if not stays_inside(self.root, label):
            raise DataError(f"{label}: a link in {self.root.as_posix()}/ leads out of it; copy what it points to")
        return self.root / label

    def name_label(self, frame: str) -> str:
        """Return the same, relative to the folder."""
        stem = os.path.splitext(frame)[0]
        if self._has_images and stem.startswith(f"{IMAGES}/"):
            stem = ANNOTATIONS + stem.removeprefix(IMAGES)
        return stem + SUFFIX

    def read(self, frame: str) -> dict[str, Any]:
        """Return the boxes of a picture, its proposals, and a version that another change makes another."""
        self.picture(frame)
        data = _read_bytes(self.annotation(frame))
        boxes, is_proposed = read_boxes(data) if data is not None else ([], False)
        proposals = [*(boxes if is_proposed else ()), *self._proposals().get(frame, ())]
        return {
            "frame": frame,
            "version": _version(data),
            "labelled": data is not None and not is_proposed,
            "boxes": [asdict(box) for box in ([] if is_proposed else boxes)],
            "proposals": [asdict(box) for box in proposals],
        }

    def save(self, frame: str, tree: Mapping[str, Any]) -> dict[str, Any]:
        """Write the boxes of a picture and what is left of its proposals. Raises Conflict if another wrote before."""
        boxes, proposals = parse_boxes(tree.get("boxes")), parse_boxes(tree.get("proposals"))
        size = parse_size(tree.get("size"))
        self.picture(frame)
        path = self.annotation(frame)
        with self.lock():
            before = _read_bytes(path)
            if tree.get("version") != _version(before):
                raise Conflict(f"{frame}: somebody else has changed it in between; theirs is shown", self.read(frame))
            if tree.get("labelled") is True:
                write_whole(path, make_voc(before, frame, size, boxes))
            elif before is not None:
                path.unlink()
            self._write_proposals({**self._proposals(), frame: proposals})
        return self.read(frame)

    def ignore(self, frame: str) -> str:
        """Move a picture and its label aside, so that it is no example; return where it is."""
        return self._move(frame, f"{IGNORED}/{PurePosixPath(frame).name}")

    def take_back(self, frame: str) -> str:
        name = PurePosixPath(frame).name
        return self._move(frame, f"{IMAGES}/{name}" if self._has_images else name)

    def _move(self, frame: str, to: str) -> str:
        with self.lock():
            picture, target = self.picture(frame), require_inside(self.root, to)
            if target.exists():
                raise DataError(f"{to}: there already; rename one of the two")
            target.parent.mkdir(exist_ok=True)
            label, label_there = self.annotation(frame), self.annotation(to)
            if label.is_file():
                label_there.parent.mkdir(exist_ok=True)
                label.replace(label_there)
            picture.replace(target)
        return to

    def list_classes(self) -> list[str]:
        """Return the classes of classes.txt, then those that labels have besides."""
        listed = _decode(_read_bytes(self.root / CLASSES) or b"") if stays_inside(self.root, CLASSES) else ""
        known = dict.fromkeys(line.strip() for line in listed.splitlines() if is_class(line.strip()))
        if not known:
            for label in self.list_labels()[:CLASSES_FROM]:
                known |= dict.fromkeys(box.label for box in read_boxes(_read_bytes(self.root / label) or b"")[0])
        known |= dict.fromkeys(box.label for boxes in self._proposals().values() for box in boxes)
        return [*known]

    def add_class(self, label: str) -> list[str]:
        require_class(label)
        with self.lock():
            known = self.list_classes()
            if label not in known:
                if len(known) >= MOST_CLASSES:
                    raise DataError(f"{self.name}: has {MOST_CLASSES} classes, which is the most")
                write_whole(self.root / CLASSES, "".join(f"{one}\n" for one in [*known, label]))
        return self.list_classes()

    def rename_class(self, label: str, of: str) -> None:
        """Give a class another one's name in classes.txt and among the proposals; the lock is held."""
        if (self.root / CLASSES).is_file():
            known = dict.fromkeys(of if one == label else one for one in self.list_classes())
            write_whole(self.root / CLASSES, "".join(f"{one}\n" for one in known))
        proposals = self._proposals()
        if any(box.label == label for boxes in proposals.values() for box in boxes):
            renamed = {
                frame: [replace(box, label=of) if box.label == label else box for box in boxes]
                for frame, boxes in proposals.items()
            }
            self._write_proposals(renamed)

    def propose(self, proposals: Mapping[str, Sequence[PixelBox]]) -> None:
        """Add proposals to pictures; those that wait there already are replaced."""
        with self.lock():
            self._write_proposals({**self._proposals(), **proposals})

    def list_proposed(self) -> set[str]:
        return {frame for frame, boxes in self._proposals().items() if boxes}

    def lock(self) -> FileLock:
        """Return the lock that whoever changes labels holds."""
        folder = own_folder("locks")
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / hashlib.sha256(self.name.encode()).hexdigest()[:16])

    def _proposals(self) -> dict[str, list[PixelBox]]:
        data = _read_bytes(self.root / COCO_FILE)
        if data is None:
            return {}
        try:
            tree = json.loads(data)
            labels = {one["id"]: one["name"] for one in tree["categories"]}
            frames = {one["id"]: one["file_name"] for one in tree["images"]}
            proposals: dict[str, list[PixelBox]] = {}
            for one in tree["annotations"]:
                left, top, wide, high = one["bbox"]
                corners = left, top, left + wide, top + high
                box = make_box(labels[one["category_id"]], corners, one.get("score"))
                proposals.setdefault(frames[one["image_id"]], []).append(box)
            return proposals
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise DataError(f"{self.root / COCO_FILE}: cannot be read ({error}); move it away") from None

    def _write_proposals(self, proposals: Mapping[str, Sequence[PixelBox]]) -> None:
        """Write the proposals. Without any, the files are removed, so that a model may propose anew."""
        frames = [frame for frame, boxes in proposals.items() if boxes]
        if not frames:
            for name in (COCO_FILE, TABLE):
                (self.root / name).unlink(missing_ok=True)
            return
        labels = sorted({box.label for frame in frames for box in proposals[frame]})
        pictures, boxes = [{"file_name": frame} for frame in frames], [proposals[frame] for frame in frames]
        write_whole(self.root / COCO_FILE, make_coco(pictures, boxes, labels))


def _read_bytes(path: Path) -> bytes | None:
    try:
        with open_regular(path) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.strerror != NO_REGULAR_FILE:
            raise
        raise DataError(f"{path.as_posix()}: {error.strerror}; move it away") from None


def _decode(data: bytes) -> str:
    """Return a text of any program: UTF-8, UTF-16 with its mark, or the letters of Western Windows."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _version(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()[:16]
