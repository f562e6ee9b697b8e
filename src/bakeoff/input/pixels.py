"""An example as its network gets it: as it is, for evaluation, or changed at random, for training.

`example["image"]` is an image or a clip, (h, w, 3) or (t, h, w, 3), or the same still encoded, () or (t,), with its
height and width in `example["size"]`. Then only what is shown of it is decoded.
"""

import tensorflow as tf

from bakeoff.input import decode
from bakeoff.input.augment import Augment, scene
from bakeoff.input.augment.colour_graph import recoloured
from bakeoff.input.augment.crop_graph import cropped
from bakeoff.input.augment.expand_graph import expanded
from bakeoff.input.augment.turn_graph import turned
from bakeoff.input.augment.zoom_graph import zoomed
from bakeoff.input.clip import chosen_frames
from bakeoff.input.decode import Example
from bakeoff.input.keys import PHILOX, named, parts
from bakeoff.input.resample import resampled, whole_resampled
from bakeoff.input.view import View

NEARLY = 1e-3  # pixels; a window that ends so near to the edge of a pixel ends there


def fit(example: Example, view: View) -> Example:
    """The image at the network's input size, for evaluation; boxes are shares of the whole image and stay."""
    frames, black = _frames(example, view, key=None)
    size = _size(example)
    margin = (1 - view.central_crop) / 2
    window = tf.constant([margin, margin, 1 - margin, 1 - margin])
    region, corners = _region(frames, size, window, cuts=view.central_crop < 1)
    is_whole = view.central_crop == 1
    image = whole_resampled(region, view.size) if is_whole else resampled(region, corners, view.size)
    image = _of_rank(example, view, _blackened(image, black))
    return _without_size(example) | {"image": image}


def distort(example: Example, view: View, *, augment: Augment, key: tf.Tensor) -> Example:
    """A changed example at the network's input size; `key` (2,) int64 names the randomness."""
    of_frames, of_expand, of_crop, of_zoom, of_method, of_turn, of_colour = parts(key, 7)
    frames, black = _frames(example, view, of_frames)
    size = _size(example)
    boxes, classes = example.get("boxes", tf.zeros([0, 4])), example.get("classes", tf.zeros([0], tf.int64))
    shown = scene.whole(size, boxes, classes)
    if augment.expand:
        shown = expanded(shown, augment.expand, of_expand)
    if augment.crop:
        shown = cropped(shown, augment.crop, of_crop)
    if augment.zoom.is_on:
        shown = zoomed(shown, augment.zoom, of_zoom)
    region, corners = _region(frames, size, shown.window, cuts=augment.cuts)
    image = _resized(region, corners, view.size, augment, of_method)
    image, boxes = turned(image, tf.clip_by_value(shown.boxes, 0.0, 1.0), augment.turn, of_turn)
    image = recoloured(image, augment.colour, of_colour)
    for name, change in augment.added.items():
        image, boxes = change.apply(image, boxes, named(key, name))
    image = _of_rank(example, view, _blackened(image, black))
    changed = _without_size(example) | {"image": image}
    return changed | {"boxes": boxes, "classes": shown.classes} if "boxes" in example else changed


def _frames(example: Example, view: View, key: tf.Tensor | None) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Those of a clip that the network is shown, or the one of an image, and which are to be black."""
    image = example["image"]
    if image.shape.rank == (0 if image.dtype == tf.string else 3):
        return image[None], None
    numbers, black = chosen_frames(view.sampling, view.frames, tf.shape(image)[0], key)
    return tf.gather(image, numbers), black if view.sampling.short == "zeros" else None


def _size(example: Example) -> tf.Tensor:
    """Height and width, (2,)."""
    return example["size"] if "size" in example else tf.shape(example["image"])[-3:-1]


def _without_size(example: Example) -> Example:
    return {name: value for name, value in example.items() if name != "size"}


def _region(frames: tf.Tensor, size: tf.Tensor, window: tf.Tensor, *, cuts: bool) -> tuple[tf.Tensor, tf.Tensor]:
    """The pixels that a window (4,) in shares of the image touches, and the window in pixels of that region."""
    extent = tf.cast(size, tf.float32)
    corners = window * tf.tile(extent, [2])
    if not cuts:
        return (decode.pixels(frames, None) if frames.dtype == tf.string else frames), corners
    low = tf.clip_by_value(tf.floor(corners[:2] + NEARLY), 0.0, extent - 1)
    high = tf.clip_by_value(tf.math.ceil(corners[2:] - NEARLY), low + 1, extent)
    bounds = tf.cast(tf.concat([low, high - low], axis=0), tf.int32)
    if frames.dtype == tf.string:
        region = decode.pixels(frames, bounds)
    else:
        top, left, height, width = tf.unstack(bounds, num=4)
        region = frames[:, top : top + height, left : left + width]
    return region, corners - tf.tile(low, [2])


def _resized(region: tf.Tensor, corners: tf.Tensor, size: int, augment: Augment, key: tf.Tensor) -> tf.Tensor:
    """In one of the ways that may be drawn, filled beside the image."""
    fill = tf.zeros([3])
    if augment.shows_beyond:  # what is resampled is zero beside the image
        region = tf.cast(region, tf.float32)
        fill = tf.constant(augment.fill) if augment.fill else tf.reduce_mean(region, axis=[0, 1, 2])
        region -= fill
    if augment.cuts or augment.shows_beyond:
        ways = [lambda method=method: resampled(region, corners, size, method) for method in augment.resize]
    else:
        ways = [lambda method=method: whole_resampled(region, size, method) for method in augment.resize]
    if len(ways) == 1:
        image = ways[0]()
    else:
        drawn = tf.random.stateless_uniform([], key, 0, len(ways), tf.int32, alg=PHILOX)
        image = tf.ensure_shape(tf.switch_case(drawn, ways), [None, size, size, 3])
    if augment.shows_beyond:
        image += fill
    if "bicubic" in augment.resize:
        image = tf.clip_by_value(image, 0.0, 255.0)  # it goes beyond what it is made of
    return image


def _blackened(frames: tf.Tensor, black: tf.Tensor | None) -> tf.Tensor:
    return frames if black is None else frames * tf.cast(~black, tf.float32)[:, None, None, None]


def _of_rank(example: Example, view: View, frames: tf.Tensor) -> tf.Tensor:
    """An image again, if it was one."""
    is_clip = example["image"].shape.rank == (1 if example["image"].dtype == tf.string else 4)
    return tf.ensure_shape(frames, [view.frames, view.size, view.size, 3]) if is_clip else frames[0]
