"""Mirror, turn upside down, turn by a quarter: each a probability."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from bakeoff.foundation.errors import require

if TYPE_CHECKING:
    import tensorflow as tf


@dataclass(frozen=True)
class Turn:
    mirror: float = 0.0  # left and right; not for things that have a handedness, such as digits
    upside_down: float = 0.0  # top and bottom
    quarter: float = 0.0  # 90 degrees against the clock

    def __post_init__(self) -> None:
        for field in fields(self):
            probability = getattr(self, field.name)
            require(0 <= probability <= 1, field.name, probability, "between 0 and 1")

    def apply(self, image: "tf.Tensor", boxes: "tf.Tensor", key: "tf.Tensor") -> tuple["tf.Tensor", "tf.Tensor"]:
        """Turn images (…, side, side, 3), and boxes (n, 4) in shares, with them."""
        if self == Turn():  # an operation costs more than it computes, be it in a graph or outside
            return image, boxes
        import tensorflow as tf

        from bakeoff.learning.input.augment.scene import draw

        def turn_if(is_drawn: tf.Tensor, turn: Callable[[tf.Tensor], tf.Tensor], image: tf.Tensor) -> tf.Tensor:
            """Move no pixel unless it is drawn."""
            return tf.ensure_shape(tf.cond(is_drawn, lambda: turn(image), lambda: image), image.shape)

        def choose(is_drawn: tf.Tensor, *pairs: tuple[tf.Tensor, tf.Tensor]) -> list[tf.Tensor]:
            return [tf.where(is_drawn, changed, unchanged) for changed, unchanged in pairs]

        draws = draw(key, 3)
        y0, x0, y1, x1 = tf.unstack(boxes, axis=-1)
        if self.mirror:
            is_drawn = draws[0] < self.mirror
            image = turn_if(is_drawn, lambda given: tf.reverse(given, [-2]), image)
            x0, x1 = choose(is_drawn, (1 - x1, x0), (1 - x0, x1))
        if self.upside_down:
            is_drawn = draws[1] < self.upside_down
            image = turn_if(is_drawn, lambda given: tf.reverse(given, [-3]), image)
            y0, y1 = choose(is_drawn, (1 - y1, y0), (1 - y0, y1))
        if self.quarter:
            is_drawn = draws[2] < self.quarter
            outer = list(range(image.shape.rank - 3))
            rows_for_columns = [*outer, len(outer) + 1, len(outer), len(outer) + 2]
            image = turn_if(is_drawn, lambda given: tf.reverse(tf.transpose(given, rows_for_columns), [-3]), image)
            y0, x0, y1, x1 = choose(is_drawn, (1 - x1, y0), (y0, x0), (1 - x0, y1), (y1, x1))
        return image, tf.stack([y0, x0, y1, x1], axis=-1)
