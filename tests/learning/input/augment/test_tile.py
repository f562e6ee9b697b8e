"""Crops of `model.tiles` in training: where they lie, what they show, and that no pixel beside them is decoded."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.scene import Scene, show_whole
from bakeoff.learning.input.augment.tile import show_tile
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.tiles import Tiles
from support.changed_pictures import change, distorted, key, noise, rectangle_in, scene

HEIGHT, WIDTH = 90, 160
BOX = np.array([30 / HEIGHT, 100 / WIDTH, 42 / HEIGHT, 116 / WIDTH], np.float32)


def crops(tiles: Tiles, count: int, boxes: np.ndarray = BOX[None]) -> list[tuple[np.ndarray, int]]:
    """Windows in pixels, and how many boxes each asks for."""

    @tf.function(autograph=False)
    def crop(number: tf.Tensor) -> Scene:
        given = tf.constant(boxes, tf.float32), tf.range(1, 1 + len(boxes), dtype=tf.int64)
        return show_tile(show_whole(tf.constant([HEIGHT, WIDTH], tf.int64), *given), tiles, key(number))

    scenes = [crop(tf.constant(number, tf.int64)) for number in range(count)]
    return [(one.window.numpy() * np.tile([HEIGHT, WIDTH], 2), len(one.classes)) for one in scenes]


@pytest.mark.parametrize(
    "tiles", [Tiles(size=40), Tiles(size=120), Tiles(grid=(2, 3)), Tiles(grid=(1, 4), overlap=0.37)]
)
def test_a_crop_is_as_large_as_a_tile_and_lies_on_whole_pixels(tiles: Tiles) -> None:
    sides = [tiles.side(HEIGHT, 0), tiles.side(WIDTH, 1)]
    whole = 0
    for window, _ in crops(tiles, 120):
        np.testing.assert_allclose(window, window.round(), atol=1e-3)
        shown = (window[2:] - window[:2]).round().tolist()
        assert shown in (sides, [HEIGHT, WIDTH])
        assert (window >= -1e-3).all() and window[2] <= HEIGHT + 1e-3 and window[3] <= WIDTH + 1e-3
        whole += shown != sides
    assert 3 <= whole <= 25  # about a tenth of 120


def test_so_many_crops_show_an_object_as_were_asked_for() -> None:
    always = crops(Tiles(size=40, object_share=1.0, whole=False), 60)
    assert all(count == 1 for _, count in always)
    for window, _ in always:  # all of it
        assert (window[:2].round() <= [30, 100]).all() and (window[2:].round() >= [42, 116]).all()
    by_chance = sum(count for _, count in crops(Tiles(size=40, object_share=0.0, whole=False), 200))
    assert 0 < by_chance < 80
    assert len({tuple(window.round()) for window, _ in always}) > 40  # at many places


def test_of_an_object_larger_than_a_tile_a_part_is_shown() -> None:
    large = np.array([[0.1, 0.1, 0.9, 0.9]], np.float32)
    tiles = Tiles(size=40, object_share=1.0, whole=False, min_seen=0.1)
    for window, count in crops(tiles, 40, large):
        assert (
            window[0] >= 9 - 1 and window[2] <= 81 + 1 and window[1] >= 16 - 1 and window[3] <= 144 + 1 and count == 1
        )


def test_a_picture_without_objects_is_cropped_anywhere() -> None:
    windows = crops(Tiles(size=40, object_share=1.0, whole=False), 40, np.zeros([0, 4], np.float32))
    assert len({tuple(window.round()) for window, _ in windows}) > 30


def test_the_box_stays_on_its_object_and_is_cut_by_the_rule_of_what_is_seen() -> None:
    tiles = Tiles(size=40, object_share=0.0, whole=False, min_seen=0.5)
    view = View(80, tiles=tiles)
    run, seen, gone = change(Augment(), view), 0, 0
    example = {"image": scene(BOX, HEIGHT, WIDTH), "boxes": BOX[None], "classes": np.array([1])}
    for number in range(120):
        changed = run(example, number)
        if len(changed["classes"]):
            np.testing.assert_allclose(changed["boxes"][0], rectangle_in(changed["image"]), atol=0.02)
            seen += 1
        else:
            gone += 1
    assert seen > 5 and gone > 30


def test_the_same_number_gives_the_same_crop_eager_and_in_a_graph() -> None:
    view = View(32, tiles=Tiles(size=40))
    example = {"image": noise(HEIGHT, WIDTH, 3), "boxes": BOX[None], "classes": np.array([1])}
    for number in range(5):
        given = {name: tf.constant(value) for name, value in example.items()}
        eager = augment_and_resize.distort(given, view, augment=Augment(), key=key(number))
        for name, value in change(Augment(), view)(example, number).items():
            np.testing.assert_allclose(value, eager[name].numpy(), atol=1e-3)


def test_only_the_crop_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    decode = augment_and_resize.decode_frames

    def note(encoded: tf.Tensor, bounds: tf.Tensor | None, ratio: tf.Tensor | None) -> tf.Tensor:
        asked.append(None if bounds is None else bounds.numpy().tolist())
        return decode(encoded, bounds, ratio)

    monkeypatch.setattr(augment_and_resize, "decode_frames", note)
    encoded = tf.io.encode_jpeg(noise(HEIGHT, WIDTH, 3))
    example = {"image": encoded, "size": tf.constant([HEIGHT, WIDTH], tf.int64)}
    tiles = Tiles(size=40, whole=False)
    for number in range(4):
        augment_and_resize.distort(example, View(32, tiles=tiles), augment=Augment(), key=key(number))
    assert len(asked) == 4 and all(bounds[2:] == [40, 40] for bounds in asked)


def test_without_tiles_nothing_changes() -> None:
    example = {"image": noise(HEIGHT, WIDTH, 3), "boxes": BOX[None], "classes": np.array([1])}
    result = distorted(example, 32, Augment(), 0)
    whole = augment_and_resize.fit({name: tf.constant(value) for name, value in example.items()}, View(32))
    np.testing.assert_array_equal(result["image"], whole["image"].numpy())
