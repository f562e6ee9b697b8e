"""The Keras graph of `SetDetector`: input -> backbone -> encoder -> decoder."""

from typing import Any, ClassVar

import keras
import tensorflow as tf

from bakeoff.learning.networks.boxes import centres_and_sizes
from bakeoff.learning.networks.layers import to_unit_range
from bakeoff.learning.networks.set_detector import SetDetector
from bakeoff.learning.networks.sets.backbone import backbone
from bakeoff.learning.networks.sets.decoder import Decoder
from bakeoff.learning.networks.sets.encoder import encode


class SetNetwork(keras.Model):
    """A graph of images alone; shown the targets, too, its decoder answers for every layer and denoises."""

    sees_targets: ClassVar[bool] = True

    def __init__(self, image: keras.KerasTensor, maps: list[keras.KerasTensor], decoder: Decoder) -> None:
        super().__init__(inputs=image, outputs=decoder(maps), name="set_detector")
        seen = keras.Model(image, maps)
        # Hidden from Keras, for both are parts of the graph already.
        self._maps, self._decoder = lambda: seen, lambda: decoder

    def call(
        self, inputs: Any, training: bool | None = None, mask: Any = None, targets: dict[str, tf.Tensor] | None = None,
        **drawn: Any,
    ) -> Any:  # fmt: skip
        """`targets` has boxes and classes as the head encodes them."""
        if targets is None:
            return super().call(inputs, training=training, mask=mask)
        return self._decoder()(
            self._maps()(inputs, training=training),
            targets={"boxes": as_middles(targets["boxes"]), "classes": targets["classes"]},
            **drawn,
        )


def as_middles(corners: tf.Tensor) -> tf.Tensor:
    """Return x, y, width, height of boxes ymin xmin ymax xmax."""
    centres, sizes = centres_and_sizes(corners)
    return tf.concat([centres[..., ::-1], sizes[..., ::-1]], axis=-1)


def build(detector: SetDetector, num_classes: int) -> SetNetwork:
    image = keras.Input((detector.input_size, detector.input_size, 3), name="image")
    pixels = keras.layers.Rescaling(0.5, offset=0.5, name="to_share")(to_unit_range(image))
    maps = encode(detector, backbone(detector, pixels))
    return SetNetwork(image, maps, Decoder(detector, num_classes))
