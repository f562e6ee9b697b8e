"""Photos without labels: taken in one by one, once each, marked where there is something to notice, usable at once."""

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFilter

from bakeoff.app.web import photo_sets, work_steps
from bakeoff.app.web.photo_sets import find_set, measure_sharpness
from bakeoff.importing.datasets.unlabelled import choose_photo_name, has_no_labels
from bakeoff.learning.run_file.yaml_file import read_mapping
from support.asking import Answer, Page
from support.messages import missing_in
from support.moving_things import draw

UPLOAD = "up-0123456789abcdef"
HEIC = b"\0\0\0\x18ftypheic" + b"\0" * 200
FILM = b"\0\0\0\x18ftypisom" + b"\0" * 200


def photo(seed: int, orientation: int = 1, size: tuple[int, int] = (320, 240)) -> Image.Image:
    """Return a picture with hard edges, unlike those of other seeds."""
    blocks = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8)
    return Image.fromarray(blocks).resize(size, Image.Resampling.NEAREST)


def encode(image: Image.Image, format: str = "JPEG", **more: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **more)
    return out.getvalue()


def bring(page: Page, data: bytes, name: str, called: str = "field") -> Answer:
    """Send a file and have it taken, as the page's script does."""
    sent = page.ask("PUT", f"/uploads/{UPLOAD}/{name}?offset=0&size={len(data)}", data, X_Bakeoff="page")
    assert sent.code == 200 or sent.tree["offset"] == len(data), sent.text  # a file that was refused stays for more
    return page.send("/photos/take", set=called, upload=UPLOAD, file=name)


def known(page: Page, *files: tuple[str, int, str]) -> list[int]:
    described = [{"name": name, "size": size, "digest": digest} for name, size, digest in files]
    return page.send("/photos/known", set="field", files=described).tree["known"]


def images(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "data/raw/field/images").iterdir())


def test_a_photo_without_labels_is_a_set_that_labels_and_training_read(page: Page, folder: Path) -> None:
    data = encode(photo(1))
    assert bring(page, data, "IMG_1.JPG").tree == {"photo": "images/IMG_1.JPG", "marks": [], "new": True}
    assert (folder / "data/raw/field/images/IMG_1.JPG").read_bytes() == data
    option = read_mapping(folder / "conf/data/field.yaml")
    assert option == {"kind": "pascal_voc", "path": "data/raw/field", "unlabelled": "skip"}
    assert page.get("/labels/field/frames").tree["frames"] == [["images/IMG_1.JPG", False, False]]
    assert "1 photo," in page.get("/photos").text and "IMG_1.JPG" in page.get("/photos/field").text
    assert not (folder / f".bakeoff/web/uploads/{UPLOAD}").exists()


def test_a_photo_that_is_here_is_neither_sent_nor_kept_again(page: Page, folder: Path) -> None:
    data = encode(photo(1))
    digest = hashlib.sha256(data).hexdigest()
    assert known(page, ("1.jpg", len(data), digest)) == []
    bring(page, data, "1.jpg")
    files = (("renamed.jpg", len(data), digest), ("1.jpg", len(data), ""), ("2.jpg", len(data), ""), ("1.jpg", 5, "0"))
    assert known(page, *files) == [0, 1]
    assert bring(page, data, "copy.jpg").tree == {"photo": "images/1.jpg", "marks": ["is here already"], "new": False}
    assert images(folder) == ["1.jpg"]


def test_a_photo_that_was_left_out_does_not_come_back_and_one_that_was_deleted_does(page: Page, folder: Path) -> None:
    one, two = encode(photo(1)), encode(photo(2))
    bring(page, one, "1.jpg")
    bring(page, two, "2.jpg")
    page.send("/labels/field/aside", name="images/1.jpg")
    (folder / "data/raw/field/images/2.jpg").unlink()
    assert known(page, ("1.jpg", len(one), ""), ("2.jpg", len(two), "")) == [0]


def test_another_server_and_a_torn_line_know_the_same_photos(page: Page, folder: Path) -> None:
    data = encode(photo(1))
    bring(page, data, "1.jpg")
    file = folder / ".bakeoff/web/photos/field.jsonl"
    with file.open("a", encoding="utf-8") as out:
        out.write('{"photo": "images/torn')  # a kill in the middle of a line
    photo_sets._sets.clear()
    assert known(page, ("1.jpg", len(data), "")) == [0]


def test_a_kill_between_the_line_and_the_file_loses_no_photo(page: Page, folder: Path) -> None:
    data = encode(photo(1))
    bring(page, data, "1.jpg")
    (folder / "data/raw/field/images/1.jpg").unlink()  # the line was written, the file had not been moved yet
    assert known(page, ("1.jpg", len(data), "")) == []
    assert bring(page, data, "1.jpg").tree["new"]
    assert images(folder) == ["1.jpg"]


def test_photos_that_look_alike_and_blurred_ones_are_marked_and_left_out_on_request(page: Page, folder: Path) -> None:
    for seed in range(5):
        bring(page, encode(photo(seed)), f"{seed}.jpg")
    smaller = bring(page, encode(photo(1).resize((240, 180), Image.Resampling.BOX), quality=60), "small.jpg")
    assert smaller.tree["marks"] == ["looks like 1.jpg"]
    soft = bring(page, encode(photo(9).filter(ImageFilter.GaussianBlur(12))), "soft.jpg")
    assert soft.tree["marks"] == ["is blurred"]
    text = page.get("/photos/field?marked=yes").text
    assert "small.jpg" in text and "soft.jpg" in text and "images/3.jpg" not in text
    assert page.send("/photos/field/leave-out-marked").tree["moved"] == 2
    assert images(folder) == [f"{seed}.jpg" for seed in range(5)]
    assert "marked" not in page.get("/photos/field").text


def test_where_all_are_soft_none_is_blurred(page: Page, folder: Path) -> None:
    """As pictures of a microscope are."""
    answers = [
        bring(page, encode(photo(seed).filter(ImageFilter.GaussianBlur(12))), f"{seed}.jpg") for seed in range(6)
    ]
    assert [answer.tree["marks"] for answer in answers] == [[]] * 6


def test_sharpness_is_the_variance_of_the_laplacian() -> None:
    grey = np.zeros((5, 5), np.uint8)
    grey[2, 2] = 10
    laplacian = np.array([[0, 10, 0], [10, -40, 10], [0, 10, 0]], np.float32)
    assert measure_sharpness(grey) == pytest.approx(laplacian.var())
    assert measure_sharpness(grey[:2]) == 0


def test_a_photo_is_shown_turned_as_its_exif_says(page: Page, folder: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    bring(page, encode(photo(1), exif=exif.tobytes()), "1.jpg")
    small = page.get("/photos/field/small?name=images/1.jpg")
    assert Image.open(io.BytesIO(small.body)).size == (240, 320)
    turned = bring(page, encode(photo(1).rotate(-90, expand=True), quality=95), "upright.jpg")
    assert turned.tree["marks"] == ["looks like 1.jpg"]


@pytest.mark.parametrize(
    ("data", "name", "says", "remedy"),
    [
        (HEIC, "a.heic", "HEIC", "convert"),
        (FILM, "a.jpg", "video", "film"),
        (b"PK\x03\x04" + b"\0" * 99, "a.jpg", "zip", "zip"),
        (encode(draw(0.0))[:900], "a.jpg", "cut off", ""),
        (b"<html><script>alert(1)</script>", "a.jpg", "web page", ""),
        (encode(Image.new("L", (9000, 9000)), "PNG"), "a.png", "pixels", "convert"),
        (b"", "a.jpg", "empty", ""),
    ],
)
def test_what_is_no_photo_says_so_with_what_can_be_done(
    page: Page, folder: Path, data: bytes, name: str, says: str, remedy: str
) -> None:
    answer = bring(page, data, name)
    assert answer.code == 400 and answer.tree["remedy"] == remedy
    assert missing_in(answer.tree["problem"], name, says) == []
    assert images(folder) == []


def test_a_renamed_film_gets_the_name_of_one(page: Page, folder: Path) -> None:
    bring(page, FILM, "a.jpg")
    assert page.send("/photos/film", upload=UPLOAD, file="a.jpg").tree == {"file": "a.mp4"}
    assert (folder / f".bakeoff/web/uploads/{UPLOAD}/a.mp4").read_bytes() == FILM


def test_photos_do_not_go_into_the_data_of_others(page: Page, folder: Path) -> None:
    (folder / "conf/data/field.yaml").write_text("kind: coco\npath: data/raw/field\n", encoding="utf-8")
    assert missing_in(bring(page, encode(photo(1)), "1.jpg").tree["problem"], "conf/data/field.yaml") == []
    (folder / "data/raw/other/train").mkdir(parents=True)
    assert missing_in(bring(page, encode(photo(1)), "1.jpg", "other").tree["problem"], "data/raw/other") == []
    for name in ("../field", "a b", "", "preset"):
        assert bring(page, encode(photo(1)), "1.jpg", name).code == 400


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("IMG_1.jpg", "IMG_1_2.jpg"), ("img_1.PNG", "img_1_2.PNG"), ("new", "new.jpg"), ("...", "photo.jpg"),
        ("a/b.jpg", "b.jpg"), ("x" * 300 + ".jpg", "x" * 100 + ".jpg"),
    ],
)  # fmt: skip
def test_no_two_photos_share_the_name_of_a_label(name: str, chosen: str) -> None:
    assert choose_photo_name(name, ".jpg", {"img_1"}) == chosen


@pytest.mark.parametrize(
    ("names", "is_bare"),
    [
        (("a/1.jpg", "a/2.jpg", "__MACOSX/a/._1.jpg"), True), (("1.jpg", "1.xml"), False),
        (("1.jpg", "data.yaml"), False), (("cat/1.jpg", "dog/2.jpg"), False), (("film.mp4",), False),
    ],
)  # fmt: skip
def test_a_zip_of_photos_alone_is_told_from_a_dataset(tmp_path: Path, names: tuple[str, ...], is_bare: bool) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, b"")
            (tmp_path / "a" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "a" / name).touch()
    assert has_no_labels(tmp_path / "a.zip") is has_no_labels(tmp_path / "a") is is_bare


def test_each_workspace_has_sets_of_its_own(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = find_set("field")
    (tmp_path / "b/conf/data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "b")
    assert find_set("field") is not first
    assert work_steps.count_photos().photos == 0
