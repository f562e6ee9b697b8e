"""Copies of data sets with wrong labels in them, known ones: 5 % of the classes swapped, 5 % of the boxes spoiled."""

import random
import shutil
from pathlib import Path
from xml.etree import ElementTree

SHARE = 0.05
Planted = dict[str, str]  # name of the example -> what was done to it


def plant_classes(data: Path, out: Path, seed: int) -> Planted:
    """Copy a folder of class folders; put a share of the images into the folder of another class."""
    draw = random.Random(seed)
    files = sorted(path for path in data.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    classes = sorted({file.parent.name for file in files})
    wrong = set(draw.sample(files, round(SHARE * len(files))))
    planted: Planted = {}
    for file in files:
        own = file.parent.name
        label = draw.choice([one for one in classes if one != own]) if file in wrong else own
        place = out / label / f"{own}_{file.name}" if file in wrong else out / label / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
        if file in wrong:
            planted[place.relative_to(out).as_posix()] = f"is {own}"
    return planted


def plant_boxes(data: Path, out: Path, seed: int) -> Planted:
    """Copy images/ and annotations/ of Pascal VOC; move, remove or double a share of the boxes, a third of them each.

    At most one box of a picture is spoiled. A moved one is shifted by 40 to 70 % of its size both ways; a doubled one
    gets a second box of its class, shifted by up to 15 %.
    """
    draw = random.Random(seed)
    shutil.copytree(data / "images", out / "images", dirs_exist_ok=True)
    (out / "annotations").mkdir(parents=True, exist_ok=True)
    trees = {file: ElementTree.parse(file) for file in sorted((data / "annotations").glob("*.xml"))}
    boxes = [(file, place) for file, tree in trees.items() for place in range(len(tree.findall("object")))]
    count = round(SHARE * len(boxes))
    chosen: dict[Path, int] = {}
    for file, place in draw.sample(boxes, len(boxes)):
        if len(chosen) < count:
            chosen.setdefault(file, place)
    planted: Planted = {}
    for number, (file, place) in enumerate(chosen.items()):
        root = trees[file].getroot()
        box = root.findall("object")[place]
        kind = ("moved", "removed", "doubled")[number % 3]
        if kind == "removed":
            root.remove(box)
        elif kind == "moved":
            _shift(box, root, draw, 0.4, 0.7)
        else:
            other = ElementTree.fromstring(ElementTree.tostring(box))
            _shift(other, root, draw, 0.0, 0.15)
            root.append(other)
        planted[f"images/{root.findtext('filename')}"] = kind
    for file, tree in trees.items():
        tree.write(out / "annotations" / file.name)
    return planted


def _shift(box: ElementTree.Element, root: ElementTree.Element, draw: random.Random, least: float, most: float) -> None:
    """Move a box by shares of its size, so that some of it stays in the picture."""
    corners = box.find("bndbox")
    assert corners is not None
    sides = {node.tag: node for node in corners}
    for low, high, size in (("xmin", "xmax", "width"), ("ymin", "ymax", "height")):
        start, end = (float(sides[key].text or 0) for key in (low, high))
        limit = float(root.findtext(f"size/{size}") or 0)
        by = draw.uniform(least, most) * (end - start) * draw.choice((-1, 1))
        if not 0 <= (start + end) / 2 + by <= limit:
            by = -by
        sides[low].text = str(round(min(max(start + by, 0), limit - 2)))
        sides[high].text = str(round(max(min(end + by, limit), 2)))
