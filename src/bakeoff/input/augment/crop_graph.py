"""What `Crop` and `SsdCrop` do, in TensorFlow."""

import tensorflow as tf

from bakeoff.input.augment.crop import Crop, SsdCrop
from bakeoff.input.augment.scene import WHOLE, Scene
from bakeoff.input.keys import PHILOX, parts

ATTEMPTS = 100  # then the whole image is taken; the number of Inception and of the Object Detection API


def cropped(scene: Scene, crop: Crop | SsdCrop, key: tf.Tensor) -> Scene:
    of_way, of_window, of_chance = parts(key, 3)
    drawn = tf.random.stateless_uniform([], of_way, 0, len(crop.ways), tf.int32, alg=PHILOX)
    numbers = [
        [way.min_object_covered, way.min_seen, way.untouched, float(way.when_empty == "undo")] for way in crop.ways
    ]
    covered, min_seen, untouched, undo = tf.unstack(tf.gather(numbers, drawn), num=4)
    forms = list(dict.fromkeys(map(_form, crop.ways)))  # mostly one that all ways have
    windows = [lambda form=form: _draw_window(scene, form, covered, of_window) for form in forms]
    window = tf.switch_case(tf.gather([forms.index(_form(way)) for way in crop.ways], drawn), windows)
    window = tf.where(tf.random.stateless_uniform([], of_chance, alg=PHILOX) < untouched, WHOLE, window)
    found = scene.through(window, min_seen)
    is_lost = (tf.size(found.classes) == 0) & (tf.size(scene.classes) > 0) & (undo > 0)
    return scene.through(tf.where(is_lost, WHOLE, window), tf.where(is_lost, 0.0, min_seen))


def _form(way: Crop) -> tuple[float, float, float, float]:
    """What the operation wants to know before it runs."""
    return way.min_aspect_ratio, way.max_aspect_ratio, way.min_area, way.max_area


def _draw_window(
    scene: Scene, form: tuple[float, float, float, float], min_object_covered: tf.Tensor, key: tf.Tensor
) -> tf.Tensor:
    pixels = tf.cast(tf.round(scene.extent), tf.int32)
    corner, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        image_size=tf.concat([pixels, [3]], axis=0),
        bounding_boxes=tf.clip_by_value(scene.boxes, 0.0, 1.0)[None],
        seed=key,
        min_object_covered=min_object_covered,
        aspect_ratio_range=form[:2],
        area_range=form[2:],
        max_attempts=ATTEMPTS,
        use_image_if_no_bounding_boxes=True,
    )
    corners = tf.concat([corner[:2], corner[:2] + size[:2]], axis=0)
    return tf.cast(corners, tf.float32) / tf.cast(tf.tile(pixels, [2]), tf.float32)
