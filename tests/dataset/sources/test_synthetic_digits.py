import io
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images

from bakeoff.dataset.records.record import SEEN, TRAIN, VALIDATION, Record, RecordSource
from bakeoff.dataset.sources import SOURCES, synthetic_digits
from bakeoff.dataset.sources.synthetic_digits import DigitScenes, MovingDigits, SingleDigits
from bakeoff.foundation.errors import OutOfRange

SMALL: list[RecordSource] = [
    DigitScenes(train_examples=6, validation_examples=6, min_side=64, max_side=80, min_digit=12, max_digit=30),
    SingleDigits(train_examples=6, validation_examples=6, side=24),
    MovingDigits(train_examples=3, validation_examples=3, frames=3, side=32),
]
every_source = pytest.mark.parametrize("source", SMALL, ids=lambda source: source.task)


def pixels(encoded: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(encoded))).astype(int)


@pytest.fixture
def plain_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits on grey, so that the ink can be told from the rest."""
    monkeypatch.setattr(
        synthetic_digits,
        "_draw_background",
        lambda draw, split, width, height: np.full((height, width, 3), 128, np.uint8),
    )


def ink(image: np.ndarray) -> np.ndarray:
    """How far each pixel is from the plain background, in the channel that tells it best."""
    return np.abs(image - 128).max(axis=-1)


# What every source promises.


def test_small_sources_cover_the_sources_that_draw() -> None:
    assert {type(source) for source in SMALL} == {cls for cls in SOURCES.values() if hasattr(cls, "records")}


@every_source
@pytest.mark.parametrize("split", SEEN)
def test_same_settings_give_the_same_bytes(source: RecordSource, split: str) -> None:
    assert list(source.records(split)) == list(replace(source).records(split))  # type: ignore[type-var]


@every_source
def test_another_seed_gives_other_pictures(source: Any) -> None:
    frames = {record.frames for seed in (0, 1) for record in replace(source, seed=seed).records(TRAIN)}
    assert len(frames) == 2 * source.train_examples


@every_source
def test_the_splits_share_no_picture(source: RecordSource) -> None:
    assert not {r.frames for r in source.records(TRAIN)} & {r.frames for r in source.records(VALIDATION)}


def test_the_splits_are_drawn_each_for_itself() -> None:
    """Else validation would show the arrangements of training with other digits."""
    source = DigitScenes(train_examples=20, validation_examples=20, min_side=64, max_side=96, max_digit=40)
    sizes = ([(record.height, record.width) for record in source.records(split)] for split in SEEN)
    assert sum(a == b for a, b in zip(*sizes, strict=True)) < 5


@every_source
def test_more_examples_leave_the_first_ones_as_they_were(source: Any) -> None:
    more = replace(source, train_examples=source.train_examples + 2)
    assert list(more.records(TRAIN))[:-2] == list(source.records(TRAIN))


@every_source
@pytest.mark.parametrize("split", SEEN)
def test_there_are_as_many_records_as_were_counted_each_with_its_own_name(source: RecordSource, split: str) -> None:
    names = [record.name for record in source.records(split)]
    assert source.count(split) == len(names) == len(set(names))


@every_source
def test_pictures_have_the_size_that_the_record_says(source: RecordSource) -> None:
    for record in source.records(TRAIN):
        for frame in record.frames:
            assert record.format == "jpeg" == Image.open(io.BytesIO(frame)).format.lower()
            assert pixels(frame).shape == (record.height, record.width, 3)


@every_source
def test_every_label_is_one_of_the_classes(source: RecordSource) -> None:
    for record in source.records(TRAIN):
        labels = [box.label for box in record.boxes] or record.labels
        assert labels and set(labels) <= set(source.classes())


# What keeps training and validation apart.


def test_training_and_validation_share_no_digit() -> None:
    train, validation = ({image.tobytes() for image in synthetic_digits._load_digits(split)[0]} for split in SEEN)
    assert not train & validation
    assert len(train) + len(validation) == len(load_digits().images)


def test_each_split_has_each_digit_at_least_forty_times_with_its_own_label() -> None:
    images = load_digits()
    label_of = {image.tobytes(): label for image, label in zip(images.images, images.target, strict=True)}
    for split in SEEN:
        opacity, labels = synthetic_digits._load_digits(split)
        assert min(Counter(labels.tolist()).values()) >= 40 and len(set(labels)) == 10
        original = np.round(opacity.astype(float) * 16 / 255)
        assert [label_of[image.tobytes()] for image in original] == labels.tolist()


def test_training_and_validation_share_no_photo_column() -> None:
    columns = {split: set[tuple[int, int]]() for split in SEEN}
    for split in SEEN:
        for photo, part in enumerate(synthetic_digits._load_photographs(split)):
            whole = load_sample_images().images[photo]
            places = {whole[:, column].tobytes(): column for column in range(whole.shape[1])}
            columns[split] |= {(photo, places[strip.tobytes()]) for strip in np.asarray(part).swapaxes(0, 1)}
    assert len(columns[TRAIN]) > len(columns[VALIDATION]) > 300
    assert not columns[TRAIN] & columns[VALIDATION]


@every_source
@pytest.mark.parametrize("split", SEEN)
def test_records_are_made_from_their_own_split_only(
    source: RecordSource, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    for name in ("_load_digits", "_load_photographs"):
        part_of = getattr(synthetic_digits, name)
        monkeypatch.setattr(
            synthetic_digits, name, lambda split, part_of=part_of: asked.append(split) or part_of(split)
        )
    records = list(source.records(split))
    assert asked == [split] * len(asked) and len(asked) >= 2 * len(records)


# Scenes.


def test_boxes_lie_inside_the_image_and_do_not_overlap() -> None:
    source = DigitScenes(train_examples=60, min_side=64, max_side=96, max_digits=8, min_digit=10, max_digit=30, seed=3)
    for record in source.records(TRAIN):
        for box in record.boxes:
            assert 0 <= box.ymin < box.ymax <= 1 and 0 <= box.xmin < box.xmax <= 1
        for a, b in combinations(record.boxes, 2):
            apart = a.ymax <= b.ymin or b.ymax <= a.ymin or a.xmax <= b.xmin or b.xmax <= a.xmin
            assert apart, record.name


def test_scenes_hold_from_one_to_the_most_allowed_digits() -> None:
    source = DigitScenes(train_examples=80, min_side=96, max_side=96, max_digits=4, min_digit=10, max_digit=16)
    assert {len(record.boxes) for record in source.records(TRAIN)} == {1, 2, 3, 4}


def test_crowded_scene_holds_at_least_one_digit() -> None:
    source = DigitScenes(train_examples=40, min_side=32, max_side=32, max_digits=20, min_digit=32, max_digit=32)
    assert min(len(record.boxes) for record in source.records(TRAIN)) >= 1


def test_scenes_have_the_sizes_that_were_asked_for() -> None:
    source = DigitScenes(train_examples=60, min_side=64, max_side=68, min_digit=8, max_digit=12)
    records = list(source.records(TRAIN))
    assert {record.height for record in records} == {record.width for record in records} == {64, 65, 66, 67, 68}
    heights = {round((box.ymax - box.ymin) * record.height) for record in records for box in record.boxes}
    assert heights == {8, 9, 10, 11, 12}


def test_box_encloses_the_ink_of_its_digit(plain_background: None) -> None:
    for record in DigitScenes(train_examples=30, max_digits=1).records(TRAIN):
        [box] = record.boxes
        seen = ink(pixels(record.frames[0])) > 25
        rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
        expected = [rows[0], columns[0], rows[-1] + 1, columns[-1] + 1]
        given = np.array([box.ymin, box.xmin, box.ymax, box.xmax]) * np.tile([record.height, record.width], 2)
        np.testing.assert_allclose(given, expected, atol=3)


def test_digits_differ_from_what_lies_behind_them() -> None:
    """The lightness inside a box spreads more than the smoothed photographs' does."""
    lightness = np.array([0.299, 0.587, 0.114])
    spreads = []
    for record in DigitScenes(train_examples=30, max_digits=1).records(TRAIN):
        [box] = record.boxes
        image = pixels(record.frames[0]) @ lightness
        inside = image[
            round(box.ymin * record.height) : round(box.ymax * record.height),
            round(box.xmin * record.width) : round(box.xmax * record.width),
        ]
        spreads.append(np.percentile(inside, 95) - np.percentile(inside, 5))
    assert min(spreads) > 50


# One digit an image.


def test_label_names_the_digit_that_is_drawn(plain_background: None) -> None:
    """By the nearest of the 1,797 originals, all cut to their ink."""

    def cut(opacity: np.ndarray) -> np.ndarray:
        seen = opacity >= 0.2 * opacity.max()
        rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
        part = opacity[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        small = Image.fromarray((255 * part / part.max()).astype(np.uint8)).resize((8, 8), Image.Resampling.BILINEAR)
        return np.asarray(small, float).ravel()

    originals = load_digits()
    known = np.array([cut(image) for image in originals.images])
    records = list(SingleDigits(train_examples=60).records(TRAIN))
    nearest = [
        str(originals.target[((known - cut(ink(pixels(record.frames[0])))) ** 2).sum(axis=1).argmin()])
        for record in records
    ]
    assert sum((answer,) == record.labels for answer, record in zip(nearest, records, strict=True)) >= 54


def test_single_digits_are_spread_over_the_classes() -> None:
    counts = Counter(record.labels for record in SingleDigits(train_examples=200, side=16).records(TRAIN))
    assert len(counts) == 10 and min(counts.values()) >= 6


# Clips.


def place(frame: bytes) -> np.ndarray:
    """Where the ink of a frame is, (y, x), as angles round the frame, for it wraps at the edges."""
    opacity = ink(pixels(frame)).astype(float)
    opacity[opacity < 25] = 0
    steps = np.exp(2j * np.pi * np.arange(len(opacity)) / len(opacity))
    return np.angle([(opacity.sum(axis=1) * steps).sum(), (opacity.sum(axis=0) * steps).sum()])


def displacement(first: bytes, later: bytes) -> tuple[int, int]:
    """The shift (y, x) that fits best, frames taken as wrapped round: the peak of their correlation."""
    a, b = (ink(pixels(frame)).astype(float) for frame in (first, later))
    fit = np.fft.ifft2(np.fft.fft2(a).conj() * np.fft.fft2(b)).real
    y, x = np.unravel_index(fit.argmax(), fit.shape)
    return int(y), int(x)


def test_digits_move_as_their_class_is_named(plain_background: None) -> None:
    source = MovingDigits(train_examples=30, frames=8, side=48, min_speed=3.0, max_speed=3.0, seed=1)
    ways = {"down": (3, 0), "up": (-3, 0), "left": (0, -3), "right": (0, 3), "still": (0, 0)}
    seen = set()
    for record in source.records(TRAIN):
        [label] = record.labels
        seen.add(label)
        for frame in range(1, len(record.frames)):
            y, x = ways[label]
            moved = displacement(record.frames[0], record.frames[frame])
            assert moved == (y * frame % 48, x * frame % 48), (record.name, label, frame)
    assert seen == set(ways) == set(source.classes())


def test_speeds_lie_between_the_slowest_and_the_fastest(plain_background: None) -> None:
    source = MovingDigits(train_examples=60, frames=5, side=48, min_speed=1.0, max_speed=4.0, seed=2)
    speeds = []
    for record in source.records(TRAIN):
        if record.labels == ("right",):
            speeds.append(displacement(record.frames[0], record.frames[4])[1] / 4)
    assert 1 <= min(speeds) < 2 and 3 < max(speeds) <= 4


def test_background_of_a_clip_stands_still() -> None:
    """In a clip that goes round more than twice every pixel is background most of the time."""
    source = MovingDigits(train_examples=4, frames=48, side=32, min_speed=2.0, max_speed=2.0, seed=4)
    record = next(record for record in source.records(TRAIN) if record.labels != ("still",))
    clip = np.stack([pixels(frame) for frame in record.frames])
    usual = np.median(clip, axis=0)
    unusual = (np.abs(clip - usual).max(axis=-1) > 40).mean()
    assert 0.01 < unusual < 0.35


def test_one_frame_says_nothing_about_the_class(plain_background: None) -> None:
    """In the first and the last frame, the places of each class are spread evenly (Rayleigh's test, p < 1e-4)."""
    source = MovingDigits(train_examples=300, frames=6, side=32, min_speed=4.0, max_speed=5.0, seed=5)
    places = defaultdict(list)
    for record in source.records(TRAIN):
        for frame in (0, -1):
            places[record.labels, frame].append(place(record.frames[frame]))
    assert len(places) == 10
    for key, angles in places.items():
        spread = len(angles) * np.abs(np.exp(1j * np.array(angles)).mean(axis=0)) ** 2
        assert spread.max() < -np.log(1e-4), key


def test_clips_state_how_fast_they_play() -> None:
    source = MovingDigits(train_examples=1, frames=2, side=32, frames_per_second=7.5)
    [record] = source.records(TRAIN)
    assert record.frames_per_second == 7.5 and len(record.frames) == 2


def test_images_are_no_clips() -> None:
    record: Record
    for source in SMALL[:2]:
        for record in source.records(TRAIN):
            assert record.frames_per_second == 0 and len(record.frames) == 1


# What is refused.


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (DigitScenes, {"train_examples": 0}, r"^train_examples: must be between 1 and 1,000,000, got 0$"),
        (SingleDigits, {"train_examples": 1_000_001}, r"^train_examples: must be .* 1,000,000, got 1000001$"),
        (MovingDigits, {"validation_examples": 0}, r"^validation_examples: must be between 1 and 1,000,000, got 0$"),
        (SingleDigits, {"seed": -1}, r"^seed: must be 0 or more, got -1$"),
        (DigitScenes, {"min_side": 31}, r"^min_side: must be 32 or more, got 31$"),
        (DigitScenes, {"min_side": 193}, r"^max_side: .*min_side.*\b400\b.*\b192$"),
        (DigitScenes, {"max_side": 401}, r"^max_side: .*, got 401$"),
        (DigitScenes, {"min_digit": 7}, r"^min_digit: .*, got 7$"),
        (MovingDigits, {"min_speed": 0.0}, r"^min_speed: .*, got 0\.0$"),
        (DigitScenes, {"max_digits": 0}, r"^max_digits: must be between 1 and 20, got 0$"),
        (DigitScenes, {"max_digits": 21}, r"^max_digits: must be between 1 and 20, got 21$"),
        (DigitScenes, {"max_digit": 161}, r"^max_digit: must be between min_digit=28 and min_side=160, got 161$"),
        (DigitScenes, {"max_digit": 20}, r"^max_digit: must be between min_digit=28 and min_side=160, got 20$"),
        (SingleDigits, {"side": 15}, r"^side: must be between 16 and 200, got 15$"),
        (SingleDigits, {"side": 201}, r"^side: must be between 16 and 200, got 201$"),
        (MovingDigits, {"frames": 1}, r"^frames: must be between 2 and 256, got 1$"),
        (MovingDigits, {"frames": 257}, r"^frames: must be between 2 and 256, got 257$"),
        (MovingDigits, {"side": 31}, r"^side: must be between 32 and 200, got 31$"),
        (MovingDigits, {"frames_per_second": 0.0}, r"^frames_per_second: must be above 0, got 0\.0$"),
        (MovingDigits, {"min_speed": 6.0}, r"^max_speed: .*min_speed.*half"),
        (MovingDigits, {"max_speed": 32.0}, r"^max_speed: .*min_speed.*half.*\b32\.0$"),
    ],
)
def test_senseless_settings_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)
