from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.decode import choose_frames
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.network import Sampling
from support.changed_pictures import key


def chosen(sampling: Sampling, wanted: int, available: int, number: int | None = None) -> tuple[list[int], list[bool]]:
    choice = choose_frames(sampling, wanted, tf.constant(available), None if number is None else key(number))
    return choice[0].numpy().tolist(), choice[1].numpy().tolist()


def test_part_of_a_clip_is_centred_outside_training() -> None:
    assert chosen(Sampling("part"), 4, 10)[0] == [3, 4, 5, 6]
    assert chosen(Sampling("part", stride=2), 4, 10)[0] == [1, 3, 5, 7]
    assert chosen(Sampling("part", stride=3), 4, 10)[0] == [0, 3, 6, 9]
    assert chosen(Sampling("part", start="centred"), 4, 10, number=1)[0] == [3, 4, 5, 6]


def test_every_start_that_fits_is_drawn_as_often() -> None:
    starts = []
    for number in range(200):
        frames, black = chosen(Sampling("part", stride=2), 3, 8, number)
        assert frames == [frames[0], frames[0] + 2, frames[0] + 4] and not any(black)
        starts.append(frames[0])
    np.testing.assert_allclose(np.bincount(starts), [50] * 4, atol=20)  # 0 to 3; 3.3 standard deviations


@pytest.mark.parametrize(
    ("short", "shown", "black"),
    [
        ("loop", [0, 2, 1, 0], [False] * 4),  # 0, 2, 4 -> 1, 6 -> 0 of three frames
        ("hold", [0, 2, 2, 2], [False] * 4),
        ("zeros", [0, 2, 2, 2], [False, False, True, True]),
    ],
)
def test_clip_that_is_too_short_goes_on_by_rule(short: Any, shown: list[int], black: list[bool]) -> None:
    sampling = Sampling("part", stride=2, short=short)
    for number in (None, 0, 1):
        assert chosen(sampling, 4, 3, number) == (shown, black)


def test_clip_of_the_right_length_is_shown_as_it_is() -> None:
    for short in ("loop", "hold", "zeros"):
        for number in (None, 3):
            assert chosen(Sampling("part", short=short), 5, 5, number) == ([0, 1, 2, 3, 4], [False] * 5)


def test_whole_clip_is_shown_evenly_in_training_too() -> None:
    for number in (None, 0, 1):
        assert chosen(Sampling(), 3, 9, number)[0] == [0, 4, 8]


def test_frames_beyond_a_short_clip_stay_black_whatever_the_colours() -> None:
    clip = np.full((2, 6, 6, 3), 100, np.uint8)
    view = View(6, 4, sampling=Sampling("part", short="zeros"))
    bright = Augment(colour=Colour(brightness=0.3))
    for frames in (
        augment_and_resize.fit({"image": tf.constant(clip)}, view)["image"],
        augment_and_resize.distort({"image": tf.constant(clip)}, view, augment=bright, key=key(0))["image"],
    ):
        assert np.all(frames[2:] == 0) and np.all(frames[:2] > 20)


def test_only_the_frames_that_are_shown_are_decoded() -> None:
    """The others are no images at all."""
    frame = tf.io.encode_jpeg(np.full((8, 8, 3), 90, np.uint8)).numpy()
    clip = tf.constant([b"?", frame, b"?", frame, b"?"])
    example = {"image": clip, "size": tf.constant([8, 8], tf.int64)}
    frames = augment_and_resize.fit(example, View(8, 2, sampling=Sampling("part", stride=2)))["image"]
    assert frames.shape == (2, 8, 8, 3) and np.abs(frames - 90).max() < 2
    with pytest.raises(tf.errors.InvalidArgumentError):
        augment_and_resize.fit(example, View(8, 3))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cover": "part", "stride": 0}, r"^stride:\D+1\D+64\D+0$"),
        ({"cover": "part", "stride": 65}, r"^stride:\D+1\D+64\D+65$"),
        ({"stride": 2}, r"^stride:\D+1\D+cover\D+whole\D+2$"),
    ],
)
def test_senseless_sampling_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        Sampling(**fields)
