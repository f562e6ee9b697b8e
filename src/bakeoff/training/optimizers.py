"""Gradients -> new weights: `conf/optimizer/`. The rate comes from the schedule, step by step."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bakeoff.errors import require

if TYPE_CHECKING:
    import keras


class Optimizer(Protocol):
    def build(self, network: "keras.Model") -> "keras.optimizers.Optimizer": ...


@dataclass(frozen=True)
class Momentum:
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 0.0
    clip_norm: float = 0.0  # of all gradients together; 0: not clipped

    def __post_init__(self) -> None:
        require(0 <= self.momentum < 1, "momentum", self.momentum, "at least 0 and under 1")
        _require_shared(self)

    def build(self, network: "keras.Model") -> "keras.optimizers.Optimizer":
        import keras

        return _for_network(
            keras.optimizers.SGD(momentum=self.momentum, nesterov=self.nesterov, **_shared(self)), network
        )


@dataclass(frozen=True)
class Adam:
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7
    weight_decay: float = 0.0  # decoupled, as AdamW has it
    clip_norm: float = 0.0

    def __post_init__(self) -> None:
        for key in ("beta_1", "beta_2"):
            require(0 <= getattr(self, key) < 1, key, getattr(self, key), "at least 0 and under 1")
        require(self.epsilon > 0, "epsilon", self.epsilon, "above 0")
        _require_shared(self)

    def build(self, network: "keras.Model") -> "keras.optimizers.Optimizer":
        import keras

        return _for_network(
            keras.optimizers.Adam(beta_1=self.beta_1, beta_2=self.beta_2, epsilon=self.epsilon, **_shared(self)),
            network,
        )


OPTIMIZERS: dict[str, type[Optimizer]] = {"momentum": Momentum, "adam": Adam}


def _require_shared(optimizer: Momentum | Adam) -> None:
    require(optimizer.weight_decay >= 0, "weight_decay", optimizer.weight_decay, "0 or more")
    require(optimizer.clip_norm >= 0, "clip_norm", optimizer.clip_norm, "0 or more")


def _shared(optimizer: Momentum | Adam) -> dict[str, float | None]:
    # Keras takes None, not 0, for "off".
    return {"weight_decay": optimizer.weight_decay or None, "global_clipnorm": optimizer.clip_norm or None}


def _for_network(optimizer: "keras.optimizers.Optimizer", network: "keras.Model") -> "keras.optimizers.Optimizer":
    """With its slots made; biases and norms are not decayed."""
    optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    optimizer.build(network.trainable_variables)
    return optimizer
