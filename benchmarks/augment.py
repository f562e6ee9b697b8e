"""What each change of `train.augment` costs: images per second, and processor time for each image.

    python benchmarks/augment.py [FOLDER] [--size 300] [--images 200] [--rounds 3]

All JPEGs below FOLDER, or 500 x 375 crops of two photographs, are kept in memory, decoded and changed by two threads of
tf.data. Rounds take turns and the best of each row counts; on a busy machine look at the processor time.
"""

import argparse
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from PIL import Image
from sklearn.datasets import load_sample_images

from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.copy_paste import CopyPaste
from bakeoff.learning.input.augment.crop import Crop, SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.mixup import Mixup
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.augment.scene import make_key
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.decode import Example, decode_frames
from bakeoff.learning.input.mixup_mosaic import Draw, Partners
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.network import Sampling

HEIGHT, WIDTH = 375, 500
THREADS = 2
FRAMES, SHOWN, CLIPS = 64, 16, 12
AMOUNTS = {"brightness": 32 / 255, "contrast": 0.5, "saturation": 0.5, "hue": 0.2}
ORDERS = (("brightness", "saturation", "hue", "contrast"), ("brightness", "contrast", "saturation", "hue"))
METHODS = ("bilinear", "nearest", "bicubic", "area")
CHANGES = {
    "nothing": Augment(),
    "expand": Augment(expand=Expand(probability=1.0)),
    "crop single": Augment(crop=Crop()),
    "crop ssd": Augment(crop=SsdCrop()),
    "zoom": Augment(zoom=Zoom(smallest=0.5, largest=1.5, stretch=1.3)),
    "resize in four ways": Augment(resize=METHODS),
    "turn": Augment(turn=Turn(0.5, 0.5, 0.5)),
    "colour": Augment(colour=Colour(**AMOUNTS)),
    "mosaic": Augment(mosaic=Mosaic(probability=1.0)),
    "copy_paste": Augment(copy_paste=CopyPaste(probability=1.0)),
    "mixup": Augment(mixup=Mixup(probability=1.0)),
    "the three as often as by default": Augment(mosaic=Mosaic(), copy_paste=CopyPaste(), mixup=Mixup()),
    "colour in orders": Augment(colour=Colour(**AMOUNTS, orders=ORDERS)),
    "Inception's": Augment(crop=Crop(), resize=METHODS, turn=Turn(mirror=0.5), colour=Colour(**AMOUNTS, orders=ORDERS)),
}
BOXES = {"boxes": tf.constant([[0.1, 0.1, 0.4, 0.3], [0.5, 0.4, 0.8, 0.7]]), "classes": tf.constant([1, 2], tf.int64)}
Way = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]  # encoded image, its number -> pixels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    images = read_images(arguments.folder, arguments.images)
    ways = image_ways(View(arguments.size), images) | clip_ways(arguments.size)
    rows = tf.data.Dataset.from_tensor_slices(images).enumerate()
    best = {name: (np.inf, np.inf) for name in ways}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            count = CLIPS if name.startswith("clip") else len(images)
            best[name] = tuple(np.minimum(best[name], seconds(rows.take(count), way)))
    print(f"{len(images)} images to {arguments.size} x {arguments.size}, {THREADS} threads")
    print(f"{'':38}{'images/s':>10}{'ms of processor':>18}")
    for name, (wall, processor) in best.items():
        print(f"{name:38}{1 / wall:10.0f}{1000 * processor:18.2f}")


def read_images(folder: Path | None, count: int) -> list[bytes]:
    if folder is not None:
        files = [file for file in sorted(folder.rglob("*")) if file.suffix.lower() in (".jpg", ".jpeg")]
        return [file.read_bytes() for file in files[:count]]
    draw, made = np.random.default_rng(0), []
    photographs = load_sample_images().images
    for number in range(count):
        photograph = photographs[number % len(photographs)]
        y, x = draw.integers(0, np.array(photograph.shape[:2]) - (HEIGHT, WIDTH) + 1)
        buffer = io.BytesIO()
        Image.fromarray(photograph[y : y + HEIGHT, x : x + WIDTH]).save(buffer, "JPEG", quality=90)
        made.append(buffer.getvalue())
    return made


def image_ways(view: View, images: Sequence[bytes]) -> dict[str, Way]:
    """Partners are drawn as training draws them; every image has the same two boxes."""

    def changed(augment: Augment, example: Example, number: tf.Tensor) -> tf.Tensor:
        key = make_key(0, epoch=tf.constant(0, tf.int64), example=number)
        partners = None
        if augment.mixes:
            draw_all = Draw(ExampleOrder(len(images), 0), augment)
            drawn = np.array([draw_all.at(0, example) for example in range(len(images))])
            data = tf.gather(tf.constant([*images, b""]), tf.gather(drawn % (len(images) + 1), number))
            data = tf.concat([example["image"][None], data], axis=0)
            partners = Partners(data, lambda encoded: _encoded(encoded) | BOXES)
            example = example | BOXES
        return augment_and_resize.distort(example, view, augment=augment, key=key, partners=partners)["image"]

    def way(augment: Augment) -> Way:
        return lambda encoded, number: changed(augment, _encoded(encoded), number)

    def wholly_decoded(encoded: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        return changed(CHANGES["crop single"], {"image": decode_frames(encoded[None], None)[0]}, number)

    return {
        "decoding alone": lambda encoded, number: decode_frames(encoded[None], None),
        "evaluation": lambda encoded, number: augment_and_resize.fit(_encoded(encoded), view)["image"],
        **{f"training, {name}": way(augment) for name, augment in CHANGES.items()},
        "crop single, decoding all": wholly_decoded,
    }


def clip_ways(size: int) -> dict[str, Way]:
    """Of clips that are one image again and again."""

    def clip(encoded: tf.Tensor) -> Example:
        return _encoded(encoded) | {"image": tf.repeat(encoded[None], FRAMES)}

    def all_decoded(encoded: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        frames = decode_frames(clip(encoded)["image"], None)
        return augment_and_resize.fit({"image": frames}, View(size, SHOWN, sampling=Sampling("part")))["image"]

    return {
        f"clip, {SHOWN} of {FRAMES} frames": lambda encoded, number: augment_and_resize.fit(
            clip(encoded), View(size, SHOWN, sampling=Sampling("part"))
        )["image"],
        f"clip, {SHOWN} of {FRAMES} frames, decoding all": all_decoded,
    }


def _encoded(encoded: tf.Tensor) -> Example:
    return {"image": encoded, "size": tf.cast(tf.io.extract_jpeg_shape(encoded)[:2], tf.int64)}


def seconds(rows: tf.data.Dataset, way: Way) -> tuple[float, float]:
    """By the clock and of the processor for each image; the first is not counted, nor is the building of the graph."""
    mapped = rows.map(lambda number, encoded: way(encoded, number), num_parallel_calls=THREADS, deterministic=True)
    images = iter(mapped)
    next(images)
    start, processor = time.perf_counter(), time.process_time()
    count = sum(1 for _ in images)
    return (time.perf_counter() - start) / count, (time.process_time() - processor) / count


if __name__ == "__main__":
    main()
