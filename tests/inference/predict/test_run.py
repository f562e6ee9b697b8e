"""Files in, lines and pictures out, with a model that answers what the pixels say."""

import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.files import NO_REGULAR_FILE
from bakeoff.foundation.progress import Bar
from bakeoff.inference.predict.read_images import read_image, sources
from bakeoff.inference.predict.run import FilePredictor, PredictionCounts, format_tally
from support.built import Build
from support.drawing import pixels, write_video
from support.messages import missing_in


class Lamp:
    """Finds the left half, as `dark` or `bright`."""

    task = "detection"
    labels = ("dark", "bright")

    def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        mean = pixels.mean() / 255
        return {
            "boxes": np.array([[0, 0, 1, 0.5], [0, 0, 0.5, 0.25]], np.float32),
            "classes": np.array([1 + int(mean > 0.5)] * 2),
            "scores": np.array([0.75, 0.25], np.float32),
        }


class Longest:
    """Of a clip, whether it has more than ten frames."""

    task = "video"
    labels = ("short", "long")

    def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        assert pixels.ndim == 4
        long = float(len(pixels) > 10)
        return {"probabilities": np.array([1 - long, long])}


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def image(path: Path, value: int, size: tuple[int, int] = (40, 20)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (value,) * 3).save(path)
    return path


def predicted(out: Path, *paths: Path, model: Any = None, **settings: Any) -> FilePredictor:
    files = sources([str(path) for path in paths], out)
    work = FilePredictor(model or Lamp(), out, settings.pop("min_score", 0.5), draws=settings.pop("draws", True))
    work.run(files, Bar("predict", work.units(files), "images", None))
    return work


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_are_cocos_results_in_pixels(inputs: Path, tmp_path: Path) -> None:
    path = image(inputs / "a.png", 200)
    predicted(tmp_path / "out", path)
    same = {"image_id": 1, "category_id": 2, "category": "bright", "file_name": str(path)}
    assert lines(tmp_path / "out/results.jsonl") == [
        same | {"bbox": [0, 0, 20, 20], "score": 0.75},
        same | {"bbox": [0, 0, 10, 10], "score": 0.25},
    ]
    assert lines(tmp_path / "out/images.jsonl") == [{"id": 1, "file_name": str(path), "width": 40, "height": 20}]


def test_only_what_is_sure_is_drawn(inputs: Path, tmp_path: Path) -> None:
    path = image(inputs / "a.png", 0, (200, 100))
    predicted(tmp_path / "out", path)
    pixels = np.asarray(Image.open(tmp_path / "out/pictures/a.jpg")).astype(int)
    assert pixels.shape == (100, 200, 3)
    assert pixels[60, 99:101].max() > 150  # the right side of the first box
    assert pixels[25:45, 50].max() < 60  # where the second box would end


def test_every_frame_of_a_video_is_an_image_and_the_film_has_as_many(inputs: Path, tmp_path: Path) -> None:
    import av

    path = write_video(inputs / "film.avi", 7, size=(62, 46), rate=10)
    work = predicted(tmp_path / "out", path)
    assert [row["frame"] for row in lines(tmp_path / "out/images.jsonl")] == list(range(7))
    assert [row["time_s"] for row in lines(tmp_path / "out/images.jsonl")][:3] == [0.0, 0.1, 0.2]
    assert work.tally.images == 7 and work.tally.rows == 14
    with av.open(str(tmp_path / "out/pictures/film.mp4")) as film:
        frames = list(film.decode(video=0))
    assert len(frames) == 7 and (frames[0].width, frames[0].height) == (62, 46)


def test_a_video_is_one_answer_of_a_model_for_clips_and_an_image_none(inputs: Path, tmp_path: Path) -> None:
    paths = [write_video(inputs / "film.avi", 12), image(inputs / "a.png", 3)]
    work = predicted(tmp_path / "out", *paths, model=Longest())
    [row] = lines(tmp_path / "out/results.jsonl")
    assert (row["category"], row["category_id"], row["score"]) == ("long", 2, 1.0) and "bbox" not in row
    [(path, why)] = work.tally.failures
    assert path == paths[1] and missing_in(why, "no video", "clips") == []


def test_a_film_too_long_to_be_one_clip_is_told(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.inference.predict.read_images.CLIP_BYTES", 5 * 62 * 46 * 3)
    path = write_video(inputs / "film.avi", 9, size=(62, 46))
    work = predicted(tmp_path / "out", path, model=Longest())
    [(_, why)] = work.tally.failures
    assert missing_in(why, "too long", "5 frames", "0 MB", "cut it") == []
    assert lines(tmp_path / "out/results.jsonl") == []


def test_counts_are_in_the_singular_where_there_is_one() -> None:
    assert format_tally(Lamp(), PredictionCounts(1, 1)) == "detection of 2 classes: 1 image, 1 answer"
    one = type("One", (Longest,), {"labels": ("walk",)})()
    assert format_tally(one, PredictionCounts(1, 3)) == "video of 1 class: 1 clip, 3 answers"
    many = format_tally(Lamp(), PredictionCounts(2000, 0))
    assert missing_in(many, "detection", "2 classes", "2,000 images and frames", "0 answers") == []


def test_a_broken_file_is_told_and_passed_over(inputs: Path, tmp_path: Path) -> None:
    image(inputs / "a.png", 0)
    whole = image(inputs / "b.png", 255, (300, 300)).read_bytes()
    (inputs / "b.png").write_bytes(whole[: len(whole) // 2])
    (inputs / "c.jpg").write_text("<html>no</html>", encoding="utf-8")
    (inputs / "d.mp4").write_bytes(b"\0" * 100)
    (inputs / "e.jpg").write_bytes(b"")
    image(inputs / "f.png", 255)
    write_video(inputs / "hidden/film.avi", 4)
    (inputs / "g.mp4").write_text("ffconcat version 1.0\nfile 'hidden/film.avi'\n", encoding="utf-8")
    work = predicted(tmp_path / "out", inputs)
    assert [path.name for path, _ in work.tally.failures] == ["b.png", "c.jpg", "d.mp4", "e.jpg", "g.mp4"]
    assert len(lines(tmp_path / "out/images.jsonl")) == 2 + 4
    assert "broken image" in work.tally.failures[0][1] and "a web page" in work.tally.failures[1][1]


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with a name")
def test_what_is_no_regular_file_is_passed_over_by_name(inputs: Path, tmp_path: Path) -> None:
    image(inputs / "a.png", 0)
    os.mkfifo(inputs / "b.jpg")
    for name, leads_to in (("c.jpg", "c.jpg"), ("d.png", "nowhere"), ("e.mp4", "/dev/zero")):
        (inputs / name).symlink_to(leads_to)
    work = predicted(tmp_path / "out", inputs)
    assert [path.name for path, _ in work.tally.failures] == ["b.jpg", "c.jpg", "d.png", "e.mp4"]
    assert NO_REGULAR_FILE in work.tally.failures[0][1] and NO_REGULAR_FILE in work.tally.failures[3][1]
    again = predicted(tmp_path / "out", inputs / "c.jpg")
    assert [path.name for path, _ in again.tally.failures] == ["c.jpg"]


def test_of_a_video_that_breaks_off_the_frames_before_are_kept(inputs: Path, tmp_path: Path) -> None:
    path = write_video(inputs / "film.avi", 40)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    path.write_bytes(bytes(data))
    work = predicted(tmp_path / "out", path)
    assert 0 < work.tally.images < 40
    assert (tmp_path / "out/pictures/film.mp4").is_file()
    assert not list((tmp_path / "out/pictures").glob("*.partial"))


@pytest.mark.parametrize(
    "name", ["with space.png", "[1]*?.png", "-rf.png", "ümläut 'quoted' \"x\".png", "a%20;$(b).png"]
)
def test_odd_names_work(inputs: Path, tmp_path: Path, name: str) -> None:
    image(inputs / name, 9)
    predicted(tmp_path / "out", inputs / name)
    assert (tmp_path / "out/pictures" / name).with_suffix(".jpg").is_file()


def test_files_of_one_name_get_pictures_of_their_own(inputs: Path, tmp_path: Path) -> None:
    predicted(tmp_path / "out", image(inputs / "a.png", 1), image(inputs / "x/a.png", 2), image(inputs / "a.bmp", 3))
    assert {path.name for path in (tmp_path / "out/pictures").iterdir()} == {"a.jpg", "a_2.jpg", "a_3.jpg"}


def test_folders_keep_their_shape_and_patterns_are_followed(inputs: Path, tmp_path: Path) -> None:
    image(inputs / "one/a.png", 1), image(inputs / "two/b.jpg", 2), (inputs / "two/notes.txt").write_text("x")
    listed_sources = sources([str(inputs), str(inputs / "*/b.*")], tmp_path / "out")
    assert [source.name.as_posix() for source in listed_sources] == ["one/a.png", "two/b.jpg"]


def test_what_is_looked_at_may_not_lie_where_answers_go(inputs: Path, tmp_path: Path) -> None:
    path = image(inputs / "a.jpg", 1)
    with pytest.raises(DataError, match=r"a.jpg: lies in --out .*\bin\b"):
        sources([str(path)], inputs)
    with pytest.raises(DataError, match=r"in: lies in --out"):
        sources([str(inputs)], inputs)
    link = tmp_path / "link.jpg"
    link.symlink_to(path)
    with pytest.raises(DataError, match=r"link.jpg: lies in --out"):
        sources([str(link)], inputs)


def test_pictures_of_an_earlier_call_are_not_looked_at(inputs: Path) -> None:
    image(inputs / "a.png", 1)
    predicted(inputs / "out", inputs)
    again = predicted(inputs / "out", inputs)
    assert again.tally.images == 1


def test_a_folder_with_something_else_in_it_is_not_written_to(inputs: Path, tmp_path: Path) -> None:
    image(inputs / "a.png", 1)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/letter.txt").write_text("mine")
    with pytest.raises(WorkspaceError, match=r"^--out: .*empty folder"):
        predicted(tmp_path / "own", inputs)
    with pytest.raises(WorkspaceError, match=r"^--out: .*letter.txt is a file"):
        predicted(tmp_path / "own/letter.txt", inputs)


def test_a_path_that_is_not_there_is_said() -> None:
    with pytest.raises(DataError, match=r"^nowhere/\*.png: .*pattern"):
        sources(["nowhere/*.png"], Path("out"))


def test_an_image_is_turned_as_its_camera_says(inputs: Path, tmp_path: Path) -> None:
    turned = Image.new("RGB", (40, 20))
    exif = turned.getexif()
    exif[0x0112] = 6  # a quarter turn
    turned.save(inputs / "a.jpg", exif=exif)
    predicted(tmp_path / "out", inputs / "a.jpg")
    [row] = lines(tmp_path / "out/images.jsonl")
    assert (row["width"], row["height"]) == (20, 40)


# Training and predict see the same.


def deep(values: np.ndarray) -> Image.Image:
    return Image.fromarray(values.astype(np.uint16))


def transparent(mode: str) -> Image.Image:
    noise = np.random.default_rng(8).integers(0, 256, (24, 32, 4), np.uint8)
    return Image.fromarray(noise).convert(mode)


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


PICTURES = {
    "plain.jpg": (Image.fromarray(pixels(1, 61, 47)), {"quality": 90}),
    "grey.jpg": (Image.fromarray(pixels(2)).convert("L"), {}),
    "upside_down.jpg": (Image.fromarray(pixels(3)), {"exif": turned(3)}),
    "on_its_side.tif": (Image.fromarray(pixels(4)), {"exif": turned(6)}),
    "on_its_side.png": (Image.fromarray(pixels(5)), {"exif": turned(8)}),
    "cmyk.jpg": (Image.fromarray(pixels(6)).convert("CMYK"), {}),
    "see_through.png": (transparent("RGBA"), {}),
    "grey_see_through.png": (transparent("LA"), {}),
    "see_through.webp": (transparent("RGBA"), {"lossless": True}),
    "keyed.png": (Image.fromarray(pixels(7)).quantize(9), {"transparency": 3}),
    "keyed.gif": (Image.fromarray(pixels(8)).quantize(9), {"transparency": 3}),
    "deep.png": (deep(np.arange(0, 65536, 64).reshape(32, 32)), {}),
    "deep.tif": (deep(np.arange(0, 4096, 4).reshape(32, 32)), {}),
    "bits.png": (Image.fromarray(pixels(9)).convert("1"), {}),
}


def test_a_file_has_the_pixels_that_training_would_see(tmp_path: Path, make: Build) -> None:
    """Of every kind that records change, to the bit: the record of a real build, decoded as a batch is."""
    for name, (picture, options) in PICTURES.items():
        (tmp_path / "set/any").mkdir(parents=True, exist_ok=True)
        picture.save(tmp_path / "set/any" / name, **options)
    rows = make(ImageFolders(path="set", max_rejected=0)).every()
    assert {Path(name).name for name in rows} == set(PICTURES)
    for name, row in rows.items():
        trained_on = tf.io.decode_image(row["image/encoded"][0], channels=3, expand_animations=False).numpy()
        np.testing.assert_array_equal(read_image(tmp_path / "set" / name), trained_on, err_msg=name)


def test_what_a_build_rejects_is_passed_over_with_the_same_words(inputs: Path, tmp_path: Path) -> None:
    whole = image(inputs / "a.png", 5).read_bytes()
    header = whole[12:16] + (10_000).to_bytes(4) * 2 + whole[24:29]
    (inputs / "a.png").write_bytes(whole[:12] + header + zlib.crc32(header).to_bytes(4) + whole[33:])
    (inputs / "b.gif").write_bytes(b"GIF89a" + b"\xff" * 40)
    with (inputs / "c.jpg").open("wb") as file:
        file.truncate(1 << 33)
    work = predicted(tmp_path / "out", inputs)
    reasons = [why for _, why in work.tally.failures]
    assert missing_in(reasons[0], "10000x10000", "67,108,864") == []
    assert reasons[1].startswith("broken image: ")
    assert missing_in(reasons[2], "8,590 MB", "268 MB") == []
    assert work.tally.images == 0


def test_objects_of_a_film_are_numbered_through_all_frames(inputs: Path, tmp_path: Path) -> None:
    write_video(inputs / "film.mp4", 6)

    class Dark(Lamp):
        def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
            return super().answer(0 * pixels)

    work = FilePredictor(Dark(), tmp_path / "out", 0.5, draws=True, follows_objects=True)
    files = sources([str(inputs)], tmp_path / "out")
    assert work.units(files) == 6
    work.run(files, Bar("predict", 6, "images", None))
    rows = lines(tmp_path / "out/results.jsonl")
    assert [row["track_id"] for row in rows if row["score"] == 0.75] == [1] * 6
    assert {row["track_id"] for row in rows if row["score"] == 0.25} == {None}  # unsure ones begin nothing
