"""Cut out a rectangle of a drawn area and aspect ratio that shows enough of an object.

The defaults are those of Inception's training, where the whole image is the object. `SsdCrop` draws one of several
ways to crop for each example; its own seven are those of the Object Detection API's `ssd_random_crop`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bakeoff.foundation.errors import require, require_between

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.scene import Scene

Form = tuple[tuple[float, float], tuple[float, float]]  # least and largest aspect ratio, least and largest area
ATTEMPTS = 100  # then the whole image is taken; the number of Inception and of the Object Detection API


def _require_range(low: float, low_key: str, high: float, high_key: str, *, most: float) -> None:
    require(0 < low <= most, low_key, low, f"above 0, at most {most}")
    require(low <= high <= most, high_key, high, f"between {low_key} ({low:g}) and {most}")


@dataclass(frozen=True)
class Crop:
    cuts: ClassVar[bool] = True
    shows_beyond: ClassVar[bool] = False
    min_object_covered: float = 0.1  # of at least one box so much must be inside; of an image without boxes, of itself
    min_aspect_ratio: float = 0.75  # width by height of the crop, in pixels
    max_aspect_ratio: float = 1.33
    min_area: float = 0.05  # of the image's
    max_area: float = 1.0
    min_seen: float = 0.5  # a box of which the crop shows less is not asked for
    untouched: float = 0.0  # probability of the whole image
    when_empty: Literal["undo", "keep"] = "undo"  # a crop that no box is left in, of an image that has some

    def __post_init__(self) -> None:
        require_between(self, min_object_covered=(0, 1), min_seen=(0, 1), untouched=(0, 1))
        _require_range(self.min_aspect_ratio, "min_aspect_ratio", self.max_aspect_ratio, "max_aspect_ratio", most=100)
        _require_range(self.min_area, "min_area", self.max_area, "max_area", most=1)

    @property
    def ways(self) -> "tuple[Crop, ...]":
        return (self,)

    def apply(self, scene: "Scene", key: "tf.Tensor") -> "Scene":
        return _crop(scene, self.ways, key)


SSD_WAYS = tuple(
    Crop(
        min_object_covered=covered,
        min_aspect_ratio=0.5,
        max_aspect_ratio=2.0,
        min_area=0.1,
        min_seen=covered,
        untouched=0.15,
        when_empty="keep",
    )
    for covered in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
)


@dataclass(frozen=True)
class SsdCrop:
    cuts: ClassVar[bool] = True
    shows_beyond: ClassVar[bool] = False
    ways: tuple[Crop, ...] = SSD_WAYS  # one is drawn

    def __post_init__(self) -> None:
        require(bool(self.ways), "ways", list(self.ways), "at least one way to crop")

    def apply(self, scene: "Scene", key: "tf.Tensor") -> "Scene":
        return _crop(scene, self.ways, key)


CROPS: dict[str, type] = {"single": Crop, "ssd": SsdCrop}


def _crop(scene: "Scene", ways: tuple[Crop, ...], key: "tf.Tensor") -> "Scene":
    import tensorflow as tf

    from bakeoff.learning.input.augment.scene import WHOLE, draw, draw_number, split_key

    of_way, of_window, of_chance = split_key(key, 3)
    drawn = draw_number(of_way, len(ways))
    numbers = [[way.min_object_covered, way.min_seen, way.untouched, float(way.when_empty == "undo")] for way in ways]
    covered, min_seen, untouched, undo = tf.unstack(tf.gather(numbers, drawn), num=4)
    # What the operation wants to know before it runs is mostly the same in all ways.
    form_of: list[Form] = [((way.min_aspect_ratio, way.max_aspect_ratio), (way.min_area, way.max_area)) for way in ways]
    forms = list(dict.fromkeys(form_of))
    windows = [lambda form=form: _draw_window(scene, form, covered, of_window) for form in forms]
    number = tf.gather([forms.index(form) for form in form_of], drawn)
    window = windows[0]() if len(forms) == 1 else tf.switch_case(number, windows)
    window = tf.where(draw(of_chance) < untouched, WHOLE, window)
    found = scene.through(window, min_seen)
    is_lost = (tf.size(found.classes) == 0) & (tf.size(scene.classes) > 0) & (undo > 0)
    return scene.through(tf.where(is_lost, WHOLE, window), tf.where(is_lost, 0.0, min_seen))


def _draw_window(scene: "Scene", form: Form, covered: "tf.Tensor", key: "tf.Tensor") -> "tf.Tensor":
    import tensorflow as tf

    pixels = tf.cast(tf.round(scene.extent), tf.int32)
    corner, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        image_size=tf.concat([pixels, [3]], axis=0),
        bounding_boxes=tf.clip_by_value(scene.boxes, 0.0, 1.0)[None],
        seed=key,
        min_object_covered=covered,
        aspect_ratio_range=form[0],
        area_range=form[1],
        max_attempts=ATTEMPTS,
        use_image_if_no_bounding_boxes=True,
    )
    corners = tf.concat([corner[:2], corner[:2] + size[:2]], axis=0)
    return tf.cast(corners, tf.float32) / tf.cast(tf.tile(pixels, [2]), tf.float32)
