"""`fit: letterbox`: an image keeps its proportions, grey fills the rest, and boxes go there and back."""

import math

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.inference.predict import resize_numpy
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input import letterbox_graph as graph
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.crop import Crop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.view import View
from bakeoff.learning.networks import letterbox
from bakeoff.learning.networks.network import Resizing
from bakeoff.learning.networks.tiles import Tiles
from support.changed_pictures import change, noise, rectangle_in, scene

SIDES = [(7, 11), (40, 30), (1, 50), (50, 1), (1, 1), (32, 32), (33, 64), (333, 90), (90, 161)]


def padded_by_the_reader(height: int, width: int, size: int) -> tuple[int, int, int, int]:
    """Rows above, rows, columns on the left, columns, by the rule of PhotonVision, in its floating numbers."""
    ratio = min(size / height, size / width)
    high, wide = (max(1, math.floor(side * ratio + 0.5)) for side in (height, width))
    top, left = (math.floor((size - shown) / 2 - 0.1 + 0.5) for shown in (high, wide))
    return top, high, left, wide


def letterboxed_by_pil(image: np.ndarray, size: int) -> np.ndarray:
    top, high, left, wide = padded_by_the_reader(*image.shape[:2], size)
    square = np.full((size, size, 3), 128, np.float32)
    for colour in range(3):
        plane = Image.fromarray(image[..., colour].astype(np.float32))
        square[top : top + high, left : left + wide, colour] = plane.resize((wide, high), Image.Resampling.BILINEAR)
    return square


@pytest.mark.parametrize("size", [32, 47])
@pytest.mark.parametrize("sides", SIDES)
def test_pixels_are_those_of_pil_between_whole_rows_and_columns_of_grey(sides: tuple[int, int], size: int) -> None:
    image, view = noise(*sides, 3), View(size, fit="letterbox")
    expected = letterboxed_by_pil(image, size)
    np.testing.assert_allclose(resize_numpy.fit(image, view), expected, atol=0.02)
    np.testing.assert_allclose(
        augment_and_resize.fit({"image": tf.constant(image)}, view)["image"], expected, atol=0.02
    )


@pytest.mark.parametrize("resizing", ["smooth", "legacy_bilinear"])
def test_a_file_is_shown_what_the_network_is_shown(resizing: Resizing) -> None:
    view = View(24, resizing=resizing, fit="letterbox")
    for sides in SIDES:
        image = noise(*sides, 3, seed=2)
        fitted = augment_and_resize.fit({"image": tf.constant(image)}, view)["image"]
        np.testing.assert_allclose(resize_numpy.fit(image, view), fitted, atol=0.02)


def test_boxes_go_into_the_square_and_back_and_both_ways_to_count_agree() -> None:
    boxes = np.random.default_rng(0).uniform(0, 1, (20, 2, 2))
    boxes = np.sort(boxes, axis=1).reshape(20, 4).astype(np.float32)
    classes = np.arange(20)
    for height, width in SIDES:
        window = letterbox.find_window(height, width, 47)
        np.testing.assert_allclose(graph.find_window(tf.constant([height, width]), 47), window, atol=1e-6)
        example = {letterbox.WINDOW: tf.constant(window[None])}
        placed = graph.place_boxes(tf.constant(boxes[None]), example)
        top, high, left, wide = padded_by_the_reader(height, width, 47)
        by_hand = (boxes * [high, wide, high, wide] + [top, left, top, left]) / 47
        np.testing.assert_allclose(placed[0], by_hand, atol=1e-6)
        shown = graph.show_square(augment_and_resize.show_whole(tf.constant([height, width]), boxes, classes), 47)
        np.testing.assert_allclose(shown.boxes, by_hand, atol=1e-6)
        given = {"boxes": placed, "scores": tf.ones([1, 20]), "classes": classes[None], "count": tf.constant([20])}
        back = graph.restore_boxes({name: tf.convert_to_tensor(value) for name, value in given.items()}, example)
        one = {"boxes": placed[0].numpy(), "scores": np.ones(20), "classes": classes}
        np.testing.assert_allclose(back["boxes"][0], boxes, atol=1e-5)
        np.testing.assert_allclose(letterbox.restore_boxes(one, window)["boxes"], boxes, atol=1e-5)


def test_a_box_is_cut_to_the_image_and_one_in_the_grey_goes() -> None:
    """The image has the rows from 1/4 to 3/4 of the square."""
    boxes = np.float32(
        [[0, 0, 0.2, 0.5], [0.1, 0.1, 0.5, 0.4], [0.8, 0, 1, 1], [0.5, 0.5, 0.75, 1], [0.3, 0.3, 0.6, 0.6]]
    )
    scores, classes = np.float32([0.9, 0.8, 0.7, 0.6, 0.5]), np.int64([1, 2, 3, 4, 5])
    window = letterbox.find_window(20, 40, 32)
    expected = [[0, 0.1, 0.5, 0.4], [0.5, 0.5, 1, 1]]
    one = letterbox.restore_boxes({"boxes": boxes[:4], "scores": scores[:4], "classes": classes[:4]}, window)
    np.testing.assert_allclose(one["boxes"], expected, atol=1e-6)
    assert one["classes"].tolist() == [2, 4]
    batch = {"boxes": boxes[None], "scores": scores[None], "classes": classes[None], "count": np.int32([4])}
    batch["spreads"] = scores[None] / 10
    given = {name: tf.constant(value) for name, value in batch.items()}
    back = graph.restore_boxes(given, {letterbox.WINDOW: tf.constant(window[None])})
    assert back["count"].numpy().tolist() == [2]
    np.testing.assert_allclose(back["boxes"][0], expected + [[0, 0, 0, 0]] * 3, atol=1e-6)
    assert back["classes"].numpy().tolist() == [[2, 4, 0, 0, 0]]
    np.testing.assert_allclose(back["scores"], [[0.8, 0.6, 0, 0, 0]])
    np.testing.assert_allclose(back["spreads"], [[0.08, 0.06, 0, 0, 0]])
    assert graph.restore_boxes(given, {}) is given


def test_a_picture_is_cut_out_of_its_grey() -> None:
    for sides in SIDES:
        square = resize_numpy.fit(np.full((*sides, 3), 7, np.uint8), View(47, fit="letterbox"))
        picture = letterbox.cut_out(square, letterbox.find_window(*sides, 47))
        assert picture.shape[:2] == letterbox.shown_sides(*sides, 47) and np.abs(picture - 7).max() < 1e-3
        assert (square < 100).sum() == picture.size


# Training.

BOX = np.array([0.2, 0.3, 0.7, 0.6], np.float32)
KINDS = {
    "nothing": Augment(),
    "all": Augment(
        expand=Expand(largest=1.5), crop=Crop(min_area=0.4), zoom=Zoom(0.7, 1.3, 1.3), turn=Turn(mirror=0.5)
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_stay_on_their_objects_in_the_square_and_through_every_move(kind: str) -> None:
    example = {"image": scene(BOX, 120, 200), "boxes": BOX[None], "classes": np.int64([1])}
    change_it = change(KINDS[kind], View(96, fit="letterbox"))
    for number in range(4):
        changed = change_it(example, number)
        if len(changed["boxes"]):
            np.testing.assert_allclose(changed["boxes"][0], rectangle_in(changed["image"]), atol=1.6 / 96)


def test_training_without_a_change_shows_what_evaluation_shows() -> None:
    image, view = noise(20, 31, 3), View(16, fit="letterbox")
    shown = change(Augment(), view)({"image": image, "boxes": BOX[None], "classes": np.int64([1])}, 0)
    fitted = augment_and_resize.fit({"image": tf.constant(image)}, view)
    np.testing.assert_allclose(shown["image"], fitted["image"], atol=1e-3)
    placed = graph.place_boxes(BOX[None, None], {letterbox.WINDOW: fitted[letterbox.WINDOW][None]})
    np.testing.assert_allclose(shown["boxes"], placed[0], atol=1e-6)


def test_the_square_has_its_grey_and_what_lies_beside_it_the_colour_of_augmentation() -> None:
    expand = Expand(probability=1.0, smallest=2.0, largest=2.0)
    image = change(Augment(expand=expand, fill=(0.0, 0.0, 255.0)), View(32, fit="letterbox"))(
        {"image": np.full((10, 20, 3), 200, np.uint8)}, 3
    )["image"]
    kinds, counts = np.unique(np.rint(image).reshape(-1, 3), axis=0, return_counts=True)
    assert {tuple(kind): count for kind, count in zip(kinds.astype(int).tolist(), counts.tolist(), strict=True)} == {
        (0, 0, 255): 32 * 32 - 16 * 16, (128, 128, 128): 16 * 8, (200, 200, 200): 16 * 8,
    }  # fmt: skip


def test_a_jpeg_that_is_decoded_at_a_fraction_is_nearly_the_whole_one() -> None:
    smooth = np.array(Image.fromarray(noise(9, 13, 3)).resize((611, 403), Image.Resampling.BICUBIC))
    example = {"image": tf.io.encode_jpeg(smooth, quality=95).numpy(), "size": np.int64([403, 611])}
    view = View(32, fit="letterbox")
    part, whole = (change(Augment(decode=how), view)(example, 0)["image"] for how in ("fraction", "full"))
    np.testing.assert_allclose(part, whole, atol=6)
    assert ((part == 128).all(axis=(1, 2)) == (whole == 128).all(axis=(1, 2))).all()


def test_a_tile_stands_in_grey_though_its_picture_goes_on_beside_it() -> None:
    tiles = Tiles(grid=(1, 4), overlap=0.0, whole=False, object_share=0.0)
    shown = change(Augment(), View(32, tiles=tiles, fit="letterbox"))({"image": np.full((20, 40, 3), 9, np.uint8)}, 1)
    expected = resize_numpy.fit(np.full((20, 10, 3), 9, np.uint8), View(32, fit="letterbox"))
    np.testing.assert_allclose(shown["image"], expected, atol=1e-3)


def test_a_clip_and_a_labelled_image_are_letterboxed_too() -> None:
    view = View(16, 4, fit="letterbox")
    clip = noise(6, 10, 20, 3)
    fitted = augment_and_resize.fit({"image": tf.constant(clip), "label": 3}, view)
    np.testing.assert_allclose(fitted["image"], resize_numpy.fit(clip, view), atol=0.02)
    assert (fitted["image"].numpy()[:, :4] == 128).all() and fitted["label"] == 3
    shown = change(KINDS["all"], view)({"image": clip}, 1)["image"]
    assert shown.shape == (4, 16, 16, 3)
