"""Which pictures look alike: candidates by their hashes, which pixels confirm."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance

from bakeoff.dataset.building import near_duplicates
from bakeoff.dataset.building.image_check import check_image
from bakeoff.dataset.building.near_duplicates import GreyImage, look_alike
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from support.built import Build
from support.drawing import encoded, write, write_images, write_video
from support.messages import missing_in

SHIFTS = {"train": 0, "validation": 3}  # of the hands, in pixels


def hand(fingers: int, shift: int = 0) -> Image.Image:
    """A hand on paper that is darker to the edges: all such pictures get lighter in the same places."""
    paper = 220 - 3 * np.abs(np.arange(100) - 50) * np.ones((100, 1))
    drawn = Image.new("L", (100, 100))
    draw = ImageDraw.Draw(drawn)
    draw.rectangle((30 + shift, 60, 66 + shift, 99), fill=60)
    for number in range(fingers):
        left = 31 + 10 * number + shift
        draw.rectangle((left, 20 + 4 * number, left + 4, 62), fill=60)
    return Image.fromarray((paper - np.asarray(drawn)).astype(np.uint8))


def saved(image: Image.Image, quality: int = 90) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def picture(image: Image.Image) -> GreyImage:
    return GreyImage(image.convert("L").resize((96, 96), Image.Resampling.BOX), min(image.size))


def test_pictures_whose_hashes_are_near_are_not_alike_unless_their_pixels_are(make: Build, tmp_path: Path) -> None:
    """One finger, two fingers: many pairs are candidates by their hashes, and one is the same picture."""
    hands = {side: [hand(fingers, 5 * fingers + shift) for fingers in range(4)] for side, shift in SHIFTS.items()}
    for side, images in hands.items():
        for number, image in enumerate(images):
            write(tmp_path / f"set/{side}/hand/{number}.jpg", saved(image))
    write(tmp_path / "set/validation/hand/again.jpg", saved(hands["train"][2], 40))
    hashes = {side: [check_image(saved(image), None).likeness for image in images] for side, images in hands.items()}
    near = sum((one ^ other).bit_count() <= 3 for one in hashes["train"] for other in hashes["validation"])
    assert near >= 4  # or this test shows nothing
    built = make(ImageFolders(path="set"))
    report = built.report
    assert report["near-duplicates"] == [["train/hand/2.jpg", "validation/hand/again.jpg"]]
    assert missing_in(built.findings.warnings[-1], "1 pair", "alike", "train/hand/2.jpg") == []


def test_a_picture_stays_alike_when_it_is_saved_again_resized_or_made_lighter() -> None:
    image = Image.open(io.BytesIO(encoded(3, width=240, height=180)))
    lighter = ImageEnhance.Brightness(image).enhance(1.1)
    for other in (image.resize((120, 90)), image.resize((480, 360)), Image.open(io.BytesIO(saved(image, 20))), lighter):
        assert look_alike(picture(image), picture(other))


@pytest.mark.parametrize("size", [(24, 32), (96, 96), (300, 200)])
def test_other_pictures_are_not_alike_at_any_size(size: tuple[int, int]) -> None:
    images = [picture(Image.open(io.BytesIO(encoded(seed, width=size[0], height=size[1])))) for seed in range(20)]
    assert not any(look_alike(one, other) for number, one in enumerate(images) for other in images[:number])


def test_pictures_without_any_detail_are_not_alike() -> None:
    assert not look_alike(picture(Image.new("L", (64, 64), 200)), picture(Image.new("L", (64, 64), 90)))


def test_the_name_and_the_picture_of_a_pair_belong_together_in_many_shards(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.dataset.building import shard_assignment

    monkeypatch.setattr(shard_assignment, "EXAMPLES_PER_SHARD", 4)
    write_images(tmp_path / "set/train", {"cat": 30})
    for number in (3, 17, 28):
        write(tmp_path / f"set/validation/cat/{number}.jpg", encoded(number, quality=70))
    built = make(ImageFolders(path="set"))
    assert len(built.manifest.splits["train"].shards) > 3
    pairs = built.report["near-duplicates"]
    assert sorted(pairs) == [[f"train/cat/{n:03d}.jpg", f"validation/cat/{n}.jpg"] for n in (3, 17, 28)]


def test_clips_are_compared_by_their_middle_frames(make: Build, tmp_path: Path) -> None:
    for number in range(3):
        write_video(tmp_path / f"set/train/move/{number}.avi", frames=9, seed=number)
    write_video(tmp_path / "set/val/move/same.mp4", frames=9, seed=1)
    write_video(tmp_path / "set/val/move/other.avi", frames=9, seed=7)
    pairs = make(Clips(path="set")).report["near-duplicates"]
    assert pairs == [["train/move/1.avi", "val/move/same.mp4"]]


def test_more_pairs_than_are_compared_are_reported_as_at_least(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path / "set/train", {"cat": 6})
    for number in range(6):
        write(tmp_path / f"set/val/cat/{number}.jpg", encoded(number, quality=70))
    monkeypatch.setattr(near_duplicates, "MOST_PAIRS", 4)
    warnings = make(ImageFolders(path="set")).findings.warnings
    assert missing_in(warnings[-1], "at least 4 pairs", "alike") == []


@pytest.mark.parametrize("at_once", [1, 2, 500])
def test_pairs_are_the_first_ones_however_many_are_compared_at_once(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    write_images(tmp_path / "set/train", {"cat": 8})
    for number in range(8):
        write(tmp_path / f"set/val/cat/{number}.jpg", encoded(number, quality=70))
        write(tmp_path / f"set/test/cat/{number}.jpg", encoded(number, quality=60))
    monkeypatch.setattr(near_duplicates, "AT_ONCE", at_once)
    pairs = make(ImageFolders(path="set")).report["near-duplicates"]
    first, second = pairs[:8], pairs[8:]
    assert sorted(first) == [[f"train/cat/{n:03d}.jpg", f"val/cat/{n}.jpg"] for n in range(8)]
    assert len(second) == 16 and {other.split("/")[0] for _, other in second} == {"test"}
    monkeypatch.setattr(near_duplicates, "MOST_PAIRS", 5)
    make(ImageFolders(path="set"))
    assert json.loads((tmp_path / "records/report.json").read_text())["near-duplicates"] == pairs[:5]
