"""Edits of every kind, planted in real photographs: each is found and named rightly, and none that is not there.

$ BAKEOFF_PHOTOS=FOLDER pytest -m slow tests/proofs/data_diff     # with raccoon/ (VOC) and sign_digits/Dataset/ in it
"""

import os
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bakeoff.experiments.data_diff.compare_data import compare_data
from bakeoff.experiments.data_diff.open_data import open_data
from support.planted_edits import (
    Expected,
    Files,
    Planter,
    Scene,
    plant_boxes,
    plant_labels,
    plant_pictures,
    rename_class,
    start,
    write_files,
)

PHOTOS = Path(os.environ.get("BAKEOFF_PHOTOS", "/nowhere"))
EDITS = 3  # of each kind in a data set
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PHOTOS.is_dir(), reason="BAKEOFF_PHOTOS names no folder")]


def choose_split(number: int) -> str:
    return "train" if number % 5 else "validation"


def without_copies(files: Files) -> Files:
    """Leave out pictures that are there twice: what happened to which of them nobody can tell."""
    by_bytes = defaultdict(list)
    for name, scene in files.items():
        by_bytes[scene.picture].append(name)
    return {names[0]: files[names[0]] for names in by_bytes.values() if len(names) == 1}


def read_raccoon() -> Files:
    files, sides = {}, ("xmin", "ymin", "xmax", "ymax")
    for number, path in enumerate(sorted((PHOTOS / "raccoon/annotations").glob("*.xml"))):
        boxes = [
            (
                node.findtext("name"),
                *(int(node.findtext(f"bndbox/{side}")) for side in sides),
            )
            for node in ElementTree.parse(path).iter("object")
        ]
        picture = PHOTOS / "raccoon/images" / f"{path.stem}.jpg"
        files[f"{choose_split(number)}/images/{path.stem}.jpg"] = Scene(picture.read_bytes(), tuple(boxes))
    return without_copies(files)


def read_signs() -> Files:
    paths = sorted((PHOTOS / "sign_digits/Dataset").glob("*/*.JPG"))
    return without_copies(
        {
            f"{choose_split(number)}/{path.parent.name}/{path.name}": Scene(path.read_bytes())
            for number, path in enumerate(paths)
        }
    )


def found_in(planter: Planter, folder: Path, *, has_boxes: bool) -> Expected:
    (folder / "a").mkdir()
    a, b = (
        write_files(folder / name, files, has_boxes=has_boxes)
        for name, files in (("a", planter.before), ("b", planter.after))
    )
    with open_data(str(a)) as before, open_data(str(b)) as after:
        diff = compare_data(before, after)
    print(f"{len(before.examples)} and {len(after.examples)} pictures, {len(diff.changes)} changes, {diff.drifts}")
    return Counter((one.kind.value, one.name) for one in diff.changes)


@pytest.mark.parametrize("seed", range(5))
def test_edits_of_raccoons(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planter = start(read_raccoon(), seed, 2 * EDITS)
    fox = planter.take(lambda name, scene: len(scene.boxes) == 1)
    for files in (planter.before, planter.after):
        files[fox] = Scene(files[fox].picture, (("fox", *files[fox].boxes[0][1:]),))
    for _ in range(EDITS):
        plant_boxes(planter)
        plant_pictures(planter)
    if seed % 2:
        rename_class(planter, "raccoon", "procyon", has_boxes=True)
    found = found_in(planter, tmp_path, has_boxes=True)
    assert (found - planter.expected, planter.expected - found) == (Counter(), Counter())


@pytest.mark.parametrize("seed", range(3))
def test_edits_of_signs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planter = start(read_signs(), seed, 2 * EDITS)
    for _ in range(EDITS):
        plant_labels(planter, [str(number) for number in range(10)])
        plant_pictures(planter)
    if seed % 2:
        rename_class(planter, "7", "seven", has_boxes=False)
    found = found_in(planter, tmp_path, has_boxes=False)
    assert (found - planter.expected, planter.expected - found) == (Counter(), Counter())
