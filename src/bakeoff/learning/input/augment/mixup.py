"""Blend two examples and keep the boxes of both, as for detectors (Zhang et al., 2019, arXiv:1902.04103).

The share of the first is drawn from Beta(alpha, alpha). That paper draws it from Beta(1.5, 1.5) and weighs each box's
loss by it. Here every box counts fully, as in YOLOX (arXiv:2107.08430), so by default the share stays near a half.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.layer import DecodedExample


@dataclass(frozen=True)
class Mixup:
    partners: ClassVar[int] = 1
    probability: float = 0.15
    alpha: float = 8.0  # the larger, the nearer to a half the share of each

    def __post_init__(self) -> None:
        require(0 < self.probability <= 1, "probability", self.probability, "above 0, at most 1")
        require(0.5 <= self.alpha <= 1000, "alpha", self.alpha, "between 0.5 and 1000")

    def mix(self, picture: "DecodedExample", other: "DecodedExample", key: "tf.Tensor") -> "DecodedExample":
        import tensorflow as tf

        # Of two draws from Gamma(alpha), the share that one has of their sum is from Beta(alpha, alpha).
        weights = tf.random.stateless_gamma([2], key, self.alpha)
        share = tf.math.divide_no_nan(weights[0], tf.reduce_sum(weights))
        return picture.beside(other, share * picture.image + (1 - share) * other.image)
