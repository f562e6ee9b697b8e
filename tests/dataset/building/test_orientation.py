"""Pictures with a colour in each corner and a box around one, for every EXIF orientation, through whole builds."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.dataset.sources.yolo import Yolo
from support.built import Build
from support.drawing import saved, turned, voc, write
from support.messages import missing_in

COLOURS = {"red": (230, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "white": (250, 250, 250)}
STORED = ("red", "green", "blue", "white")  # top left, top right, bottom left, bottom right
# By hand, from what the standard says of row 0 and column 0: "6: right-hand side, top" puts red into the top right.
SHOWN = {
    1: ("red", "green", "blue", "white"),
    2: ("green", "red", "white", "blue"),
    3: ("white", "blue", "green", "red"),
    4: ("blue", "white", "red", "green"),
    5: ("red", "blue", "green", "white"),
    6: ("blue", "red", "white", "green"),
    7: ("white", "green", "blue", "red"),
    8: ("green", "white", "red", "blue"),
}
CORNERS = ((0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5))  # left and top of each quarter
WIDTH, HEIGHT = 48, 32
WAYS = [("JPEG", {"quality": 95}), ("PNG", {}), ("TIFF", {}), ("TIFF", {"compression": "tiff_lzw"}), ("WEBP", {})]


def picture(orientation: int, kind: str = "JPEG", width: int = WIDTH, height: int = HEIGHT, **options: object) -> bytes:
    quarters = np.array([COLOURS[name] for name in STORED], np.uint8).reshape(2, 2, 3)
    whole = quarters.repeat(height // 2, axis=0).repeat(width // 2, axis=1)
    return saved(Image.fromarray(whole), kind, exif=turned(orientation), **options)


def red_box(orientation: int, sides: tuple[int, int], *, on: str) -> tuple[str, float, float, float, float]:
    """Around the red quarter, in pixels of the image as it is stored, or as it is shown."""
    left, top = CORNERS[(STORED if on == "stored" else SHOWN[orientation]).index("red")]
    width, height = sides
    return "red", left * width, top * height, (left + 0.5) * width, (top + 0.5) * height


def write_set(
    root: Path, orientations: list[int], *, drawn_on: str, kind: str = "JPEG", side: int = HEIGHT, **options: object
) -> None:
    for number, orientation in enumerate([1, 1, *orientations]):
        stored = (WIDTH, side)
        turned = orientation >= 5 and drawn_on == "shown"
        sides = stored[::-1] if turned else stored
        box = red_box(orientation, sides, on=drawn_on)
        write(root / f"images/{number}_{orientation}.jpg", picture(orientation, kind, *stored, **options))
        write(root / f"annotations/{number}_{orientation}.xml", voc([box], sides))


def require_red_boxes(make: Build, dataset: Dataset, *, only_colours: bool = False) -> tuple[str, ...]:
    """Every picture shows its corners as the table has them, and every box lies on red. Return what is warned of."""
    built = make(dataset)
    for name, row in built.every().items():
        shown = SHOWN[int(Path(name).stem.partition("_")[2])]
        pixels = np.asarray(Image.open(io.BytesIO(row["image/encoded"][0])).convert("RGB")).astype(int)
        height, width, _ = pixels.shape
        assert [row["image/width"], row["image/height"]] == [[width], [height]]
        for (left, top), colour in zip(CORNERS, shown, strict=True):
            middle = pixels[int((top + 0.25) * height), int((left + 0.25) * width)]
            assert np.abs(middle - COLOURS[colour]).max() < 30, (name, colour)
        if not only_colours:
            left, top = CORNERS[shown.index("red")]
            corners = [row[f"image/object/bbox/{side}"] for side in ("xmin", "ymin", "xmax", "ymax")]
            assert corners == [[left], [top], [left + 0.5], [top + 0.5]], name
    return tuple(line for line in built.findings.warnings if "orientation" in line)


@pytest.mark.parametrize("drawn_on", ["stored", "shown"])
@pytest.mark.parametrize(("kind", "options"), WAYS)
def test_pixels_and_boxes_of_every_orientation_are_upright(
    kind: str, options: dict, drawn_on: str, make: Build, tmp_path: Path
) -> None:
    """Sizes tell of orientations 5 to 8 how all boxes were drawn, so 2, 3 and 4 follow them."""
    write_set(tmp_path / "set", list(range(1, 9)), drawn_on=drawn_on, kind=kind, **options)
    [warning] = require_red_boxes(make, PascalVoc(path="set"))
    taken = (f"taken as {drawn_on}", "4 others", "data.boxes_drawn_on")
    assert missing_in(warning, "3 images", "EXIF orientation", "images/3_2.jpg", *taken) == []


@pytest.mark.parametrize("drawn_on", ["stored", "shown"])
def test_where_no_size_tells_the_setting_does(drawn_on: str, make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", [2, 3, 4], drawn_on=drawn_on)
    assert require_red_boxes(make, PascalVoc(path="set", boxes_drawn_on=drawn_on)) == ()  # type: ignore[arg-type]


def test_without_a_hint_they_are_taken_as_shown_with_a_warning(make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", [2, 3], drawn_on="shown")
    [warning] = require_red_boxes(make, PascalVoc(path="set"))
    assert missing_in(warning, "2 images", "taken as shown", "0 others") == []


@pytest.mark.parametrize("drawn_on", ["stored", "shown"])
def test_a_square_image_follows_the_others(drawn_on: str, make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", [5, 6, 7, 8], drawn_on=drawn_on, side=WIDTH)
    for orientation in (5, 6, 7, 8):
        sides = (WIDTH, HEIGHT) if drawn_on == "stored" else (HEIGHT, WIDTH)
        write(tmp_path / f"set/images/9_{orientation}.jpg", picture(orientation))
        box = red_box(orientation, sides, on=drawn_on)
        write(tmp_path / f"set/annotations/9_{orientation}.xml", voc([box], sides))
    [warning] = require_red_boxes(make, PascalVoc(path="set"))
    assert warning.startswith("4 images with") and f"taken as {drawn_on}, as on 4 others" in warning


def test_the_size_that_tells_wins_over_the_setting(make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", [5, 6, 7, 8], drawn_on="stored")
    assert require_red_boxes(make, PascalVoc(path="set", boxes_drawn_on="shown")) == ()


@pytest.mark.parametrize("drawn_on", ["stored", "shown"])
def test_boxes_in_shares_of_whichever_image_are_turned_along(drawn_on: str, make: Build, tmp_path: Path) -> None:
    write(tmp_path / "set/classes.txt", "red\n")
    for number, orientation in enumerate([1, 1, *range(1, 9)]):
        write(tmp_path / f"set/images/{number}_{orientation}.jpg", picture(orientation))
        left, top = CORNERS[(STORED if drawn_on == "stored" else SHOWN[orientation]).index("red")]
        write(tmp_path / f"set/labels/{number}_{orientation}.txt", f"0 {left + 0.25} {top + 0.25} 0.5 0.5\n")
    assert require_red_boxes(make, Yolo(path="set", boxes_drawn_on=drawn_on)) == ()  # type: ignore[arg-type]


def test_a_resumed_build_follows_the_sizes_known_by_then(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.dataset.building import build

    write_set(tmp_path / "set", [3, 6], drawn_on="stored")
    with monkeypatch.context() as stopped, pytest.raises(InterruptedError):
        stopped.setattr(build, "fill_examples", lambda *_: (_ for _ in ()).throw(InterruptedError))
        make(PascalVoc(path="set"))
    box = red_box(6, (HEIGHT, WIDTH), on="shown")
    write(tmp_path / "set/annotations/3_6.xml", voc([box], (HEIGHT, WIDTH)))
    built = make(PascalVoc(path="set"))
    assert missing_in(built.findings.warnings[0], "taken as shown", "1 others") == []
    assert built.every()["images/2_3.jpg"]["image/object/bbox/xmin"] == [0.0]  # the box as drawn, not turned


@pytest.mark.parametrize("max_side", [None, 24])
def test_a_tiff_that_says_its_orientation_twice_is_turned_once(
    max_side: int | None, make: Build, tmp_path: Path
) -> None:
    """By its tag and by XMP, as Photoshop writes it."""
    for number, orientation in enumerate([1, 1, 3, 6, 8]):
        xmp = f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf tiff:Orientation="{orientation}"/></x:xmpmeta>'.encode()
        data = picture(orientation, "TIFF", tiffinfo={700: xmp})
        write(tmp_path / f"set/red/{number}_{orientation}.tif", data)
    from bakeoff.dataset.sources.class_folders import ImageFolders

    require_red_boxes(make, ImageFolders(path="set", max_side=max_side), only_colours=True)
