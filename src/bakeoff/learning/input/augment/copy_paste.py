"""Paste objects of another example, after the idea of Ghiasi et al., 2020 (arXiv:2012.07177).

They cut objects out along masks. Boxes have none, so a rectangle is pasted, with the ground around the object. They
paste where the object was and drop what it hides. Here the place is drawn, of those that hide too little to drop.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require, require_between

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.layer import DecodedExample

PLACES = 10  # that are drawn for an object; the first that fits is taken
LEAST_SIDE = 4  # pixels; a smaller object is not pasted


@dataclass(frozen=True)
class CopyPaste:
    partners: ClassVar[int] = 1
    probability: float = 0.3
    most: int = 3  # objects
    most_hidden: float = 0.3  # of any box, by all that is pasted; of another object, what a rectangle may show

    def __post_init__(self) -> None:
        require(0 < self.probability <= 1, "probability", self.probability, "above 0, at most 1")
        require_between(self, most=(1, 10), most_hidden=(0, 0.9))

    def mix(self, picture: "DecodedExample", other: "DecodedExample", key: "tf.Tensor") -> "DecodedExample":
        import tensorflow as tf

        from bakeoff.learning.input.augment.layer import DecodedExample
        from bakeoff.learning.input.augment.scene import draw, split_key

        of_objects, *of_spots = split_key(key, 1 + self.most)
        count, side = tf.size(other.classes), picture.image.shape[1]
        chance = draw(of_objects, count)
        drawn = tf.pad(tf.argsort(chance, stable=True), [[0, self.most]], constant_values=count)
        # A box without a size stands for the object that is not there.
        boxes, classes = tf.pad(other.boxes, [[0, 1], [0, 0]]), tf.pad(other.classes, [[0, 1]])
        hidden = tf.zeros(tf.shape(picture.classes))
        for number, of_spot in zip(tf.unstack(drawn[: self.most], num=self.most), of_spots, strict=True):
            low, high = tf.floor(boxes[number][:2] * side), tf.math.ceil(boxes[number][2:] * side)
            beside = tf.range(count) != number
            shown = tf.where(beside, _covered(other.boxes, tf.concat([low, high], axis=0)[None] / side)[0], 0.0)
            spots = tf.floor(draw(of_spot, PLACES, 2) * (side - (high - low) + 1))
            after = hidden + _covered(picture.boxes, tf.concat([spots, spots + high - low], axis=1) / side)
            fits = tf.reduce_all(after <= self.most_hidden, axis=1)  # (places,)
            is_large = tf.reduce_min(high - low) >= LEAST_SIDE
            is_pasted = is_large & tf.reduce_all(shown <= self.most_hidden) & tf.reduce_any(fits)
            first = tf.argmax(fits)
            moved = boxes[number] + tf.tile((spots[first] - low) / side, [2])
            kept = is_pasted[None]
            hidden = tf.concat([tf.where(is_pasted, after[first], hidden), tf.zeros_like(low[:1])[kept]], axis=0)
            image = _paste(picture.image, other.image, (low, high, spots[first]), is_pasted)
            picture = picture.beside(DecodedExample(image, moved[None][kept], classes[number][None][kept]), image)
        return picture


def _covered(boxes: "tf.Tensor", others: "tf.Tensor") -> "tf.Tensor":
    """Return what share of each box (n, 4) each of the others (m, 4) covers: (m, n)."""
    import tensorflow as tf

    low = tf.maximum(boxes[None, :, :2], others[:, None, :2])
    high = tf.minimum(boxes[None, :, 2:], others[:, None, 2:])
    both = tf.reduce_prod(tf.maximum(high - low, 0.0), axis=-1)
    return tf.math.divide_no_nan(both, tf.reduce_prod(boxes[:, 2:] - boxes[:, :2], axis=-1)[None])


def _paste(
    image: "tf.Tensor", other: "tf.Tensor", pixels: tuple["tf.Tensor", ...], is_pasted: "tf.Tensor"
) -> "tf.Tensor":
    """Return the image with what the other has from `low` to `high`, at `spot`; moves no pixel if it is not wanted."""
    import tensorflow as tf

    low, high, spot = (tf.cast(corner, tf.int32) for corner in pixels)

    def paste() -> "tf.Tensor":
        around = tf.concat([[[0, 0]], tf.stack([spot, tf.shape(image)[1:3] - spot - high + low], axis=1), [[0, 0]]], 0)
        cut = other[:, low[0] : high[0], low[1] : high[1]]
        return tf.where(tf.pad(tf.ones_like(cut), around) > 0, tf.pad(cut, around), image)

    return tf.ensure_shape(tf.cond(is_pasted, paste, lambda: image), image.shape)
