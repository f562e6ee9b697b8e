"""An example as its network gets it: as it is, for evaluation, or changed at random, for training.

`example["image"]` is an image or a clip, (h, w, 3) or (t, h, w, 3), or the same still encoded, () or (t,), with its
height and width in `example["size"]`. Then only what is shown of it is decoded, and it is resampled once.
"""

from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from bakeoff.learning.input.augment import MOVES, REPAINTS, Augment
from bakeoff.learning.input.augment.layer import DecodedExample, LazyExample
from bakeoff.learning.input.augment.scene import draw_number, fold_name, show_whole, split_key
from bakeoff.learning.input.augment.tile import show_tile
from bakeoff.learning.input.decode import Example, choose_frames, choose_ratio, decode_frames
from bakeoff.learning.input.letterbox_graph import find_window, show_square
from bakeoff.learning.input.mixup_mosaic import Partners, mix
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.letterbox import GREY, LETTERBOX, WINDOW

TILE = "tiles"  # the name of its randomness
NEARLY = 1e-3  # pixels; a window that ends so near to the edge of a pixel ends there
# Ways to resize: the kernel, and whether it gets as wide as a pixel of the square where that is the larger one.
KERNELS = {
    "smooth": ("triangle", True),
    "bilinear": ("triangle", False),
    "nearest": ("box", False),
    "bicubic": ("keyscubic", False),
    "area": ("box", True),
    "legacy_bilinear": ("triangle", False),
}
MILD = 1.25


class Region(NamedTuple):
    """Pixels of an image around what is shown of it."""

    frames: tf.Tensor  # (t, h, w, 3)
    corners: tf.Tensor  # (4,) of what is shown, in these pixels
    end: tf.Tensor | None = None  # (2,) where the image ends in them, if it may end inside of the last
    ratio: tf.Tensor | None = None  # at which a JPEG was decoded; only where it is above 1 does `end` count
    square: tf.Tensor | None = None  # (4,) of what is shown, in shares of the letterbox around the image
    tile: tf.Tensor | None = None  # (4,) the same, in shares of the tile that stands in the letterbox


def fit(example: Example, view: View) -> Example:
    """Return the image at the network's input size, for evaluation; boxes are shares of the whole image and stay.

    An image in a letterbox comes with its `window`, by which letterbox_graph.py brings boxes there and back.
    """
    frames, black = _choose_frames(example, view, key=None)
    if view.fit == LETTERBOX:
        window = find_window(_size_of(example), view.size)
        frames, corners, *_ = _decode_region(frames, _size_of(example), window, cuts=False)
        image = resample(tf.cast(frames, tf.float32) - GREY, corners, view.size, view.resizing) + GREY
        fitted = _replace_image(example, _restore_rank(example, view, _blacken(image, black)))
        return fitted | {WINDOW: tf.ensure_shape(window, [4])}
    margin = (1 - view.central_crop) / 2
    window = tf.constant([margin, margin, 1 - margin, 1 - margin])
    frames, corners, *_ = _decode_region(frames, _size_of(example), window, cuts=view.central_crop < 1)
    is_whole = view.central_crop == 1
    way = view.resizing
    image = resample_whole(frames, view.size, way) if is_whole else resample(frames, corners, view.size, way)
    return _replace_image(example, _restore_rank(example, view, _blacken(image, black)))


def distort(
    example: Example, view: View, *, augment: Augment, key: tf.Tensor, partners: Partners | None = None
) -> Example:
    """Return a changed example at the network's input size; `key` (2,) int64 names the randomness.

    `partners` are what other examples are drawn to be mixed into it; None: nothing is mixed.
    """
    names = ("frames", *MOVES, "resize", *REPAINTS)
    keys = dict(zip(names, split_key(key, len(names)), strict=True))
    frames, black = _choose_frames(example, view, keys["frames"])
    layer = _make_layer(example, frames, view, augment, keys | {TILE: fold_name(key, TILE)})
    if partners is None:
        image, boxes, classes = layer.show()
    else:

        def load(data: tf.Tensor, own: tf.Tensor) -> LazyExample:
            other = partners.parse(data)
            of_moves = dict(zip(names, split_key(own, len(names)), strict=True))
            return _make_layer(other, other["image"][None], view, augment, of_moves | {TILE: fold_name(own, TILE)})

        image, boxes, classes = mix(layer, partners.data, load, augment=augment, side=view.size, key=key)
    for name in REPAINTS:
        image, boxes = getattr(augment, name).apply(image, boxes, keys[name])
    for name, change in augment.added.items():
        image, boxes = change.apply(image, boxes, fold_name(key, name))
    changed = _replace_image(example, _restore_rank(example, view, _blacken(image, black)))
    return changed | {"boxes": boxes, "classes": classes} if "boxes" in example else changed


def _make_layer(
    example: Example, frames: tf.Tensor, view: View, augment: Augment, keys: Mapping[str, tf.Tensor]
) -> LazyExample:
    """Draw what is shown of an example."""
    size = _size_of(example)
    boxes, classes = example.get("boxes", tf.zeros([0, 4])), example.get("classes", tf.zeros([0], tf.int64))
    scene = show_whole(size, boxes, classes)
    if view.tiles:
        scene = show_tile(scene, view.tiles, keys[TILE])
    tile, square = scene.window if view.tiles else None, None
    if view.fit == LETTERBOX:
        scene = show_square(scene, view.size)
        square = scene.window
    for name, move in augment.moves.items():
        scene = move.apply(scene, keys[name])

    may_skip = augment.decode == "fraction" and all(KERNELS[way][1] for way in _ways_to_resize(view, augment))

    def decode_shown(window: tf.Tensor, *, cuts: bool, sides: tf.Tensor | None) -> Region:
        region = _decode_region(frames, size, window, cuts=cuts, sides=sides)
        if square is None:
            return region
        of_tile = None if tile is None else _in_shares(window, tile)
        return Region(*region[:4], _in_shares(window, square), of_tile)

    def show() -> DecodedExample:
        cuts, sides = augment.cuts or view.tiles is not None, tf.constant([view.size] * 2) if may_skip else None
        image = _resize(decode_shown(scene.window, cuts=cuts, sides=sides), view, augment, keys["resize"])
        return DecodedExample(image, tf.clip_by_value(scene.boxes, 0.0, 1.0), scene.classes)

    def show_part(window: tf.Tensor, sides: tf.Tensor) -> tf.Tensor:
        region = decode_shown(window, cuts=True, sides=sides if may_skip else None)
        return _resize(region, view, augment, keys["resize"], sides)

    return LazyExample(scene, show, show_part)


def resample(
    frames: tf.Tensor, corners: tf.Tensor, size: int, method: str = "smooth", sides: tf.Tensor | None = None
) -> tf.Tensor:
    """Bring a window (4,) in pixels of (t, h, w, 3) to (t, size, size, 3) float32; zero beside the frames.

    With `sides` (2,) it is brought to that height and width instead.

    `legacy_bilinear` takes the corner of a pixel for its place, where the others take its centre.
    """
    kernel, widens = KERNELS[method]
    wanted = size if sides is None else tf.cast(sides, tf.float32)
    scale, is_legacy = wanted / (corners[2:] - corners[:2]), method == "legacy_bilinear"
    image = tf.raw_ops.ScaleAndTranslate(
        images=tf.pad(frames, [[0, 0], [0, 1], [0, 1], [0, 0]], "SYMMETRIC") if is_legacy else frames,
        size=[size, size] if sides is None else sides,
        scale=scale,
        translation=(0.5 - 0.5 * scale if is_legacy else 0.0) - corners[:2] * scale,
        kernel_type=kernel,
        antialias=widens,
    )
    if is_legacy:  # past the corner of the last pixel it is repeated, but only where the frames are
        image *= _covered(tf.shape(frames)[1:3], corners, tf.shape(image)[1:3])
    known = [size, size] if sides is None else [None, None]
    return tf.ensure_shape(image, [frames.shape[0], *known, frames.shape[3]])


def _covered(extent: tf.Tensor, corners: tf.Tensor, sides: tf.Tensor) -> tf.Tensor:
    """Return 1 for the pixels of a window whose centres lie on the frames, else 0: (height, width, 1)."""
    rows, columns = (_inside(extent[axis], corners[axis], corners[axis + 2], sides[axis]) for axis in range(2))
    return rows[:, None, None] * columns[None, :, None]


def _inside(extent: tf.Tensor, start: tf.Tensor, end: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    steps = tf.cast(tf.range(count), tf.float32)
    places = start + (steps + 0.5) * (end - start) / tf.cast(count, tf.float32)
    return tf.cast((places >= 0) & (places <= tf.cast(extent, tf.float32)), tf.float32)


def resample_whole(frames: tf.Tensor, size: int, method: str = "smooth", corners: tf.Tensor | None = None) -> tf.Tensor:
    """Bring all of (t, h, w, 3) to (t, size, size, 3) float32; what is shown may end inside of the last pixels.

    Where no side shrinks by more than `MILD`, smooth is bilinear: it looks at every pixel as well, is less than one
    level of 255 away on average, and takes a sixth of the time.
    """
    sides = tf.shape(frames)[1:3]

    def resample_by_kernel() -> tf.Tensor:
        whole = tf.cast(tf.concat([[0, 0], sides], axis=0), tf.float32)
        return resample(frames, whole if corners is None else corners, size, method)

    def resize_bilinear() -> tf.Tensor:
        centres = method != "legacy_bilinear"
        image = tf.raw_ops.ResizeBilinear(images=frames, size=[size, size], half_pixel_centers=centres)
        return tf.ensure_shape(image, [frames.shape[0], size, size, frames.shape[3]])

    if method in ("bilinear", "legacy_bilinear"):
        return resize_bilinear()
    if method != "smooth":
        return resample_by_kernel()
    return tf.cond(tf.reduce_all(sides <= int(size * MILD)), resize_bilinear, resample_by_kernel)


def _choose_frames(example: Example, view: View, key: tf.Tensor | None) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Return those of a clip that the network is shown, or the one of an image, and which are to be black."""
    image = example["image"]
    if image.shape.rank == (0 if image.dtype == tf.string else 3):
        return image[None], None
    numbers, black = choose_frames(view.sampling, view.frames, tf.shape(image)[0], key)
    return tf.gather(image, numbers), black if view.sampling.short == "zeros" else None


def _size_of(example: Example) -> tf.Tensor:
    """Height and width, (2,)."""
    return example["size"] if "size" in example else tf.shape(example["image"])[-3:-1]


def _decode_region(
    frames: tf.Tensor, size: tf.Tensor, window: tf.Tensor, *, cuts: bool, sides: tf.Tensor | None = None
) -> Region:
    """Return the pixels that a window (4,) in shares of the image touches.

    With the `sides` (2,) that it is brought to, a JPEG that is much larger is decoded at a fraction of its size.
    """
    is_encoded = frames.dtype == tf.string
    extent = tf.cast(size, tf.float32)
    corners, ratio, end = window * tf.tile(extent, [2]), None, None
    if is_encoded and sides is not None:
        ratio = choose_ratio(frames, corners[2:] - corners[:2], sides)
        # Such a JPEG is rounded up to whole pixels, so the image ends inside of the last ones.
        corners, end = (place / tf.cast(ratio, tf.float32) for place in (corners, extent))
        extent = tf.math.ceil(end)
    if not cuts:
        return Region(decode_frames(frames, None, ratio) if is_encoded else frames, corners, end, ratio)
    low = tf.clip_by_value(tf.floor(corners[:2] + NEARLY), 0.0, extent - 1)
    high = tf.clip_by_value(tf.math.ceil(corners[2:] - NEARLY), low + 1, extent)
    bounds = tf.cast(tf.concat([low, high - low], axis=0), tf.int32)
    if is_encoded:
        pixels = decode_frames(frames, bounds, ratio)
    else:
        top, left, height, width = tf.unstack(bounds, num=4)
        pixels = frames[:, top : top + height, left : left + width]
    return Region(pixels, corners - tf.tile(low, [2]), None if end is None else end - low, ratio)


def _ways_to_resize(view: View, augment: Augment) -> list[str]:
    """`smooth` stands for the way of evaluation, whichever the network has."""
    return [view.resizing if method == "smooth" else method for method in augment.resize]


def _resize(region: Region, view: View, augment: Augment, key: tf.Tensor, sides: tf.Tensor | None = None) -> tf.Tensor:
    """Resample in one of the ways that may be drawn, and fill what is beside the image.

    With `sides` it is a tile of that height and width, which may show a part, or more than the image.
    """
    frames, corners = region.frames, region.corners
    leaves_square = augment.shows_beyond or sides is not None
    shows_beyond = leaves_square or region.square is not None
    size = view.size
    methods = _ways_to_resize(view, augment)
    fill = beyond = tf.zeros([3])
    if shows_beyond:  # what is resampled is zero beside the image
        frames = tf.cast(frames, tf.float32)
        beyond = _make_fill(augment.fill, frames)
        fill = beyond if region.square is None else tf.constant(GREY)
        frames -= fill
    if augment.cuts or shows_beyond or view.tiles:
        ways = [lambda method=method: resample(frames, corners, size, method, sides) for method in methods]
    else:
        ways = [lambda method=method: resample_whole(frames, size, method, corners) for method in methods]
    if len(ways) == 1:
        image = ways[0]()
    else:
        drawn = draw_number(key, len(ways))
        known = [size, size] if sides is None else [None, None]
        image = tf.ensure_shape(tf.switch_case(drawn, ways), [None, *known, 3])
    if shows_beyond:
        image = _clear_beyond(image, region) + fill
    if region.tile is not None:
        image = _fill_beside(image, region.tile, tf.constant(GREY))
    if region.square is not None and leaves_square:
        image = _fill_beside(image, region.square, beyond)
    if "bicubic" in augment.resize:
        image = tf.clip_by_value(image, 0.0, 255.0)  # bicubic resizing overshoots the range of the pixels
    return image


def _in_shares(window: tf.Tensor, area: tf.Tensor) -> tf.Tensor:
    """Return a window (4,) in shares of an area (4,) of the same image."""
    low, sides = area[:2], area[2:] - area[:2]
    return (window - tf.tile(low, [2])) / tf.tile(sides, [2])


def _fill_beside(image: tf.Tensor, window: tf.Tensor, fill: tf.Tensor) -> tf.Tensor:
    """Paint the pixels that lie beside an area, of which the image shows this window."""
    is_inside = _covered(tf.ones([2]), window, tf.shape(image)[1:3]) > 0
    return tf.ensure_shape(tf.where(is_inside, image, fill), image.shape)


def _make_fill(levels: tuple[float, ...], frames: tf.Tensor) -> tf.Tensor:
    """Return the colour beside an image. One number for grey: three take five times as long to add to every pixel."""
    if not levels:
        return tf.reduce_mean(frames, axis=[0, 1, 2])
    return tf.constant(levels[0] if len(set(levels)) == 1 else levels, tf.float32)


def _clear_beyond(image: tf.Tensor, region: Region) -> tf.Tensor:
    """Set to zero what was resampled from beside an image that ends inside of its last pixels."""
    end, ratio = region.end, region.ratio
    if end is None or ratio is None:
        return image
    cleared = tf.cond(ratio > 1, lambda: image * _covered(end, region.corners, tf.shape(image)[1:3]), lambda: image)
    return tf.ensure_shape(cleared, image.shape)


def _blacken(frames: tf.Tensor, black: tf.Tensor | None) -> tf.Tensor:
    return frames if black is None else frames * tf.cast(~black, tf.float32)[:, None, None, None]


def _restore_rank(example: Example, view: View, frames: tf.Tensor) -> tf.Tensor:
    """Return an image again, if it was one."""
    is_clip = example["image"].shape.rank == (1 if example["image"].dtype == tf.string else 4)
    return tf.ensure_shape(frames, [view.frames, view.size, view.size, 3]) if is_clip else frames[0]


def _replace_image(example: Example, image: tf.Tensor) -> Example:
    return {name: value for name, value in example.items() if name != "size"} | {"image": image}
