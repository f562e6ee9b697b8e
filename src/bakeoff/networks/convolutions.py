"""How the convolutions of a detector start, are normalised and are kept small."""

from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require


@dataclass(frozen=True)
class Convolutions:
    activation: Literal["relu6", "relu"] = "relu6"
    initializer: Literal["random_normal", "truncated_normal"] = "random_normal"
    initial_deviation: float = 0.01
    l2_weight: float = 4e-5  # half of it times the sum of squares of each kernel is added to the loss
    batch_norm_momentum: float = 0.997  # 0.97 for runs of hundreds of steps
    batch_norm_epsilon: float = 0.001

    def __post_init__(self) -> None:
        require(self.initial_deviation > 0, "initial_deviation", self.initial_deviation, "above 0")
        require(self.l2_weight >= 0, "l2_weight", self.l2_weight, "0 or more")
        momentum = self.batch_norm_momentum
        require(0 < momentum < 1, "batch_norm_momentum", momentum, "between 0 and 1")
        require(self.batch_norm_epsilon > 0, "batch_norm_epsilon", self.batch_norm_epsilon, "above 0")
