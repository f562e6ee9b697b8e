"""Small datasets as the exporters write them: the names, folders and oddities of their own zips.

Every dataset has `ball` and `cube`; the boxes of picture n are those of `boxes_of(n)`, in pixels of 40 by 30.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.drawing import encoded, write

WIDTH, HEIGHT = 40, 30
CLASSES = ("ball", "cube")
Box = tuple[str, int, int, int, int]
HEAD = "filename,width,height,class,xmin,ymin,xmax,ymax\n"


def boxes_of(number: int) -> list[Box]:
    """Return one box of each class for even numbers, of `ball` alone for odd ones."""
    boxes = [("ball", 2 + number, 3, 12 + number, 13), ("cube", 20, 10 + number, 36, 26)]
    return boxes if number % 2 == 0 else boxes[:1]


def picture(path: Path, number: int, kind: str = "PNG") -> None:
    write(path, encoded(number, kind, WIDTH, HEIGHT))


def voc_xml(name: str, number: int, folder: str = "") -> str:
    objects = "".join(
        f"<object><name>{label}</name><pose>Unspecified</pose><truncated>0</truncated><difficult>0</difficult>"
        f"<bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax><ymax>{d}</ymax></bndbox></object>"
        for label, a, b, c, d in boxes_of(number)
    )
    size = f"<size><width>{WIDTH}</width><height>{HEIGHT}</height><depth>3</depth></size>"
    return f"<annotation><folder>{folder}</folder><filename>{name}</filename>{size}{objects}</annotation>\n"


def yolo_text(number: int) -> str:
    lines = []
    for label, a, b, c, d in boxes_of(number):
        shares = ((a + c) / 2 / WIDTH, (b + d) / 2 / HEIGHT, (c - a) / WIDTH, (d - b) / HEIGHT)
        lines.append(" ".join([str(CLASSES.index(label)), *(f"{share:.6f}" for share in shares)]))
    return "".join(f"{line}\n" for line in lines)


def coco(files: dict[str, int], categories: list[dict[str, Any]], ids: dict[str, int]) -> str:
    images = [
        {"id": place, "license": 1, "file_name": name, "height": HEIGHT, "width": WIDTH}
        for place, name in enumerate(files)
    ]
    annotations = [
        {
            "id": place * 10 + turn, "image_id": place, "category_id": ids[label], "iscrowd": 0, "segmentation": [],
            "bbox": [a, b, c - a, d - b], "area": (c - a) * (d - b),
        }
        for place, number in enumerate(files.values())
        for turn, (label, a, b, c, d) in enumerate(boxes_of(number))
    ]  # fmt: skip
    return json.dumps(
        {"info": {}, "licenses": [], "categories": categories, "images": images, "annotations": annotations}
    )


def _roboflow_names(root: Path) -> dict[str, dict[str, int]]:
    """Write Roboflow's notes, and return its names of pictures by folder."""
    write(root / "README.roboflow.txt", "\nfield - v3 2026-01-05\n==\nThe dataset includes 6 images.\n")
    write(root / "README.dataset.txt", "# field > 2026-01-05\nhttps://universe.roboflow.com/team/field\n")
    sides = {"train": (0, 1, 2, 3), "valid": (4, 5), "test": (6,)}
    return {
        side: {f"frame-{number}_png.rf.{number:032x}.jpg": number for number in numbers}
        for side, numbers in sides.items()
    }


def roboflow_coco(root: Path) -> None:
    categories = [
        {"id": 0, "name": "ball", "supercategory": "none"},  # the project, called as one of its classes
        {"id": 1, "name": "ball", "supercategory": "ball"},
        {"id": 2, "name": "cube", "supercategory": "ball"},
    ]
    for side, files in _roboflow_names(root).items():
        for name, number in files.items():
            picture(root / side / name, number, "JPEG")
        write(root / side / "_annotations.coco.json", coco(files, categories, {"ball": 1, "cube": 2}))


def roboflow_csv(root: Path) -> None:
    for side, files in _roboflow_names(root).items():
        rows = []
        for name, number in files.items():
            picture(root / side / name, number, "JPEG")
            rows += [f"{name},{WIDTH},{HEIGHT},{label},{a},{b},{c},{d}\n" for label, a, b, c, d in boxes_of(number)]
        write(root / side / "_annotations.csv", HEAD + "".join(rows))


def roboflow_voc(root: Path) -> None:
    for side, files in _roboflow_names(root).items():
        for name, number in files.items():
            picture(root / side / name, number, "JPEG")
            write((root / side / name).with_suffix(".xml"), voc_xml(name, number))


def roboflow_yolo(root: Path) -> None:
    for side, files in _roboflow_names(root).items():
        for name, number in files.items():
            picture(root / side / "images" / name, number, "JPEG")
            write((root / side / "labels" / name).with_suffix(".txt"), yolo_text(number))
    yaml = "train: ../train/images\nval: ../valid/images\ntest: ../test/images\n\nnc: 2\nnames: ['ball', 'cube']\n"
    write(root / "data.yaml", f"{yaml}\nroboflow:\n  workspace: team\n  project: field\n  version: 3\n")


def roboflow_darknet(root: Path) -> None:
    for side, files in _roboflow_names(root).items():
        for name, number in files.items():
            picture(root / side / name, number, "JPEG")
            write((root / side / name).with_suffix(".txt"), yolo_text(number))
        write(root / side / "_darknet.labels", "ball\ncube\n")


def ultralytics(root: Path) -> None:
    """The folders' names say nothing; data.yaml does."""
    for side, numbers in {"first": (0, 1, 2, 3), "second": (4, 5), "third": (6,)}.items():
        for number in numbers:
            picture(root / f"images/{side}/{number}.png", number)
            write(root / f"labels/{side}/{number}.txt", yolo_text(number))
    sides = "train: images/first\nval: images/second\ntest: images/third\n"
    write(root / "data.yaml", f"path: ../datasets/field\n{sides}names:\n  0: ball\n  1: cube\n")


def darknet(root: Path) -> None:
    for number in range(7):
        picture(root / f"data/obj/{number}.png", number)
        write(root / f"data/obj/{number}.txt", yolo_text(number))
    for file, numbers in {"train": (0, 1, 2, 3), "test": (4, 5, 6)}.items():
        write(root / f"data/{file}.txt", "".join(f"data/obj/{number}.png\n" for number in numbers))
    write(root / "data/obj.names", "ball\ncube\n")
    names = "names = data/obj.names\nbackup = backup/\n"
    write(root / "data/obj.data", f"classes = 2\ntrain  = data/train.txt\nvalid  = data/test.txt\n{names}")


def cvat_yolo(root: Path) -> None:
    for side, numbers in {"train": (0, 1, 2, 3), "valid": (4, 5, 6)}.items():
        for number in numbers:
            picture(root / f"obj_{side}_data/frame_{number:06d}.PNG", number)
            write(root / f"obj_{side}_data/frame_{number:06d}.txt", yolo_text(number))
        write(root / f"{side}.txt", "".join(f"data/obj_{side}_data/frame_{number:06d}.PNG\n" for number in numbers))
    write(root / "obj.names", "ball\ncube\n")
    sides = "train = data/train.txt\nvalid = data/valid.txt\n"
    write(root / "obj.data", f"classes = 2\n{sides}names = data/obj.names\nbackup = backup/\n")


def cvat_yolo_of_one_subset(root: Path) -> None:
    for number in range(7):
        picture(root / f"obj_train_data/frame_{number:06d}.PNG", number)
        write(root / f"obj_train_data/frame_{number:06d}.txt", yolo_text(number))
    write(root / "train.txt", "".join(f"data/obj_train_data/frame_{number:06d}.PNG\n" for number in range(7)))
    write(root / "obj.names", "ball\ncube\n")
    write(root / "obj.data", "classes = 2\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n")


def cvat_voc(root: Path) -> None:
    for number in range(7):
        picture(root / f"JPEGImages/frame_{number:06d}.PNG", number)
        write(root / f"Annotations/frame_{number:06d}.xml", voc_xml(f"frame_{number:06d}.PNG", number))
    for side, numbers in {"train": (0, 1, 2, 3), "val": (4, 5, 6)}.items():
        write(root / f"ImageSets/Main/{side}.txt", "".join(f"frame_{number:06d}\n" for number in numbers))
    write(
        root / "labelmap.txt", "# label:color_rgb:parts:actions\nbackground:0,0,0::\nball:255,0,0::\ncube:0,0,255::\n"
    )


def cvat_coco(root: Path) -> None:
    categories = [{"id": place, "name": name, "supercategory": ""} for place, name in enumerate(CLASSES, start=1)]
    files = {f"frame_{number:06d}.PNG": number for number in range(7)}
    for name, number in files.items():
        picture(root / "images/default" / name, number)
    write(root / "annotations/instances_default.json", coco(files, categories, {"ball": 1, "cube": 2}))


def label_studio_voc(root: Path) -> None:
    for number in range(7):
        picture(root / f"images/3f2a-frame_{number}.png", number)
        write(root / f"Annotations/3f2a-frame_{number}.xml", voc_xml(f"3f2a-frame_{number}", number, "images"))


def label_studio_coco(root: Path) -> None:
    categories = [{"id": place, "name": name} for place, name in enumerate(CLASSES)]
    files = {f"images/3f2a-frame_{number}.png": number for number in range(7)}
    for name, number in files.items():
        picture(root / name, number)
    write(root / "result.json", coco(files, categories, {"ball": 0, "cube": 1}))


def label_studio_yolo(root: Path) -> None:
    for number in range(7):
        picture(root / f"images/3f2a-frame_{number}.png", number)
        write(root / f"labels/3f2a-frame_{number}.txt", yolo_text(number))
    write(root / "classes.txt", "ball\ncube\n")
    write(root / "notes.json", '{"categories": [{"id": 0, "name": "ball"}, {"id": 1, "name": "cube"}], "info": {}}')


def label_img_yolo(root: Path) -> None:
    for number in range(7):
        picture(root / f"shots/{number}.png", number)
        write(root / f"shots/{number}.txt", yolo_text(number))
    write(root / "shots/classes.txt", "ball\ncube\n")


def dated_voc(root: Path) -> None:
    for number in range(7):
        folder = root / f"2026-03-{1 + number // 2:02d}"
        picture(folder / f"{number}.png", number)
        write(folder / f"{number}.xml", voc_xml(f"{number}.png", number))


BOXES: dict[str, tuple[Callable[[Path], None], str, str]] = {  # kind of source, what is printed of the layout
    "roboflow_coco": (roboflow_coco, "coco", "Roboflow's COCO"),
    "roboflow_csv": (roboflow_csv, "box_csv", "Roboflow's CSV"),
    "roboflow_voc": (roboflow_voc, "pascal_voc", "Pascal VOC beside the pictures"),
    "roboflow_yolo": (roboflow_yolo, "yolo", "YOLO in images/ and labels/"),
    "roboflow_darknet": (roboflow_darknet, "yolo", "YOLO as Darknet has it, text beside the pictures"),
    "ultralytics": (ultralytics, "yolo", "YOLO in images/ and labels/"),
    "darknet": (darknet, "yolo", "YOLO as Darknet has it, text beside the pictures"),
    "cvat_yolo": (cvat_yolo, "yolo", "YOLO as Darknet has it, text beside the pictures"),
    "cvat_yolo_of_one_subset": (cvat_yolo_of_one_subset, "yolo", "YOLO as Darknet has it, text beside the pictures"),
    "cvat_voc": (cvat_voc, "pascal_voc", "Pascal VOC in Annotations/"),
    "cvat_coco": (cvat_coco, "coco", "COCO as CVAT writes it"),
    "label_studio_voc": (label_studio_voc, "pascal_voc", "Pascal VOC in Annotations/"),
    "label_studio_coco": (label_studio_coco, "coco", "Label Studio's COCO"),
    "label_studio_yolo": (label_studio_yolo, "yolo", "YOLO in images/ and labels/"),
    "label_img_yolo": (label_img_yolo, "yolo", "YOLO as Darknet has it, text beside the pictures"),
    "dated_voc": (dated_voc, "pascal_voc", "Pascal VOC beside the pictures"),
}
WITH_TEST = {name for name in BOXES if name.startswith("roboflow")} | {"ultralytics"}
WITH_SIDES = WITH_TEST | {"darknet", "cvat_yolo", "cvat_voc"}
