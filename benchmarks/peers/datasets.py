"""One split of one dataset, written once for every library: COCO's JSON, YOLO's texts, or a folder for each class.

data/images/train/raccoon-1.jpg      data/labels/train/raccoon-1.txt      data/train.json      data/data.yaml
data/train/7/IMG_1118.jpg            data/validation/7/IMG_1130.jpg       of classification
"""

import io
import json
import random
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

import yaml
from PIL import Image

DEMO, BOXES, FOLDERS = "digits", "pascal_voc", "image_folders"
SPLITS = ("train", "validation")
SHARE = 0.2  # of the images, for validation
EDGES = ("xmin", "ymin", "xmax", "ymax")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Picture:
    name: str  # without an ending
    encoded: bytes
    size: tuple[int, int]  # width, height
    boxes: tuple[tuple[str, float, float, float, float], ...] = ()  # label, corner and sides in pixels


def write_split(kind: str, source: Path | None, seed: int, out: Path) -> None:
    """Write both splits, unless they are there: `split.json` comes last."""
    done = out / "split.json"
    if done.is_file():
        return
    shutil.rmtree(out, ignore_errors=True)
    if kind == FOLDERS:
        assert source
        counts = _write_folders(source, seed, out)
    else:
        splits = draw_demo(seed) if kind == DEMO else _split(list(_read_pascal_voc(_folder(source))), seed)
        counts = write_boxes(splits, out)
    done.write_text(json.dumps(counts), encoding="utf-8")


def _folder(source: Path | None) -> Path:
    if source is None:
        raise SystemExit(f"a folder of data is needed, except for --data {DEMO}")
    return source


def _split(items: list[Item], seed: int) -> dict[str, list[Item]]:
    shuffled = random.Random(seed).sample(items, len(items))
    count = round(len(items) * SHARE)
    return {"train": shuffled[count:], "validation": shuffled[:count]}


def _read_pascal_voc(source: Path) -> Iterator[Picture]:
    """Yield every picture with its boxes; a box without area is left out."""
    files = {path.stem: path for path in (source / "images").iterdir()}
    for path in sorted((source / "annotations").glob("*.xml")):
        root = ElementTree.parse(path).getroot()
        boxes = []
        for one in root.iter("object"):
            x, y, right, bottom = (float(one.findtext(f"bndbox/{edge}") or 0) for edge in EDGES)
            if right > x and bottom > y:
                boxes.append((one.findtext("name") or "", x, y, right - x, bottom - y))
        encoded = files[path.stem].read_bytes()
        yield Picture(path.stem, encoded, Image.open(io.BytesIO(encoded)).size, tuple(boxes))


def draw_demo(seed: int, **counts: int) -> dict[str, list[Picture]]:
    """Return the scenes of the demo; `counts` are keys of its settings."""
    from bakeoff.dataset.sources.synthetic_digits import DigitScenes

    def picture(record) -> Picture:  # type: ignore[no-untyped-def]
        wide, high = record.width, record.height
        boxes = (
            (box.label, box.xmin * wide, box.ymin * high, (box.xmax - box.xmin) * wide, (box.ymax - box.ymin) * high)
            for box in record.boxes
        )
        return Picture(record.name.replace("/", "_"), record.frames[0], (wide, high), tuple(boxes))

    return {split: [picture(record) for record in DigitScenes(seed=seed, **counts).records(split)] for split in SPLITS}


def write_boxes(splits: dict[str, list[Picture]], out: Path) -> dict[str, int]:
    classes = sorted({box[0] for pictures in splits.values() for picture in pictures for box in picture.boxes})
    for split, pictures in splits.items():
        for folder in ("images", "labels"):
            (out / folder / split).mkdir(parents=True)
        for picture in pictures:
            (out / "images" / split / f"{picture.name}.jpg").write_bytes(picture.encoded)
            (out / "labels" / split / f"{picture.name}.txt").write_text("".join(_lines(picture, classes)), "utf-8")
        tree = coco_of(pictures, classes, split)
        (out / f"{split}.json").write_text(json.dumps(tree), encoding="utf-8")
    about = {"path": str(out), "train": "images/train", "val": "images/validation", "names": dict(enumerate(classes))}
    (out / "data.yaml").write_text(yaml.safe_dump(about), encoding="utf-8")
    return {split: len(pictures) for split, pictures in splits.items()}


def _lines(picture: Picture, classes: list[str]) -> Iterable[str]:
    """Yield YOLO's lines: class, middle and sides as shares of the picture."""
    wide, high = picture.size
    for label, x, y, width, height in picture.boxes:
        shares = (x + width / 2) / wide, (y + height / 2) / high, width / wide, height / high
        yield " ".join([str(classes.index(label)), *(f"{share:.6f}" for share in shares)]) + "\n"


def coco_of(pictures: list[Picture], classes: list[str], split: str) -> dict[str, list[dict]]:
    """Return COCO's tree; categories count from 1."""
    boxes = [(number, box) for number, picture in enumerate(pictures, start=1) for box in picture.boxes]
    return {
        "images": [
            {"id": number, "file_name": f"{split}/{one.name}.jpg", "width": one.size[0], "height": one.size[1]}
            for number, one in enumerate(pictures, start=1)
        ],
        "annotations": [
            {
                "id": number, "image_id": image, "category_id": classes.index(label) + 1, "bbox": [x, y, width, height],
                "area": width * height, "iscrowd": 0,
            }
            for number, (image, (label, x, y, width, height)) in enumerate(boxes, start=1)
        ],
        "categories": [{"id": number, "name": label} for number, label in enumerate(classes, start=1)],
    }  # fmt: skip


def _write_folders(source: Path, seed: int, out: Path) -> dict[str, int]:
    splits = _split(sorted(path for path in source.glob("*/*") if path.is_file()), seed)
    for split, files in splits.items():
        for file in files:
            target = out / split / file.parent.name / f"{file.stem}.jpg"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    return {split: len(files) for split, files in splits.items()}
