"""Gradients -> new weights: `conf/optimizer/`. The rate comes from the schedule, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bakeoff.foundation.errors import require, require_at_most
from bakeoff.learning.networks.network import select
from bakeoff.learning.networks.quantized.scales import LAYER

if TYPE_CHECKING:
    import keras

NO_DECAY = ("*/bias", "*/beta", "*/gamma")  # biases and norms


class Optimizer(Protocol):
    @property
    def slots(self) -> int:
        """Numbers that it keeps of each parameter."""

    def build(self, network: "keras.Model") -> "keras.optimizers.Optimizer":
        """For what is trainable in the network now."""


@dataclass(frozen=True)
class Momentum:
    """Stochastic gradient descent; plain with a momentum of 0."""

    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 0.0
    no_decay: tuple[str, ...] = NO_DECAY  # patterns over variable paths
    clip_norm: float = 0.0  # of all gradients together; 0: not clipped

    def __post_init__(self) -> None:
        _require_share("momentum", self.momentum)
        _require_shared(self)

    @property
    def slots(self) -> int:
        return 1 if self.momentum else 0

    def build(self, network: "keras.Model") -> "keras.optimizers.Optimizer":
        import keras

        return _for_network(
            keras.optimizers.SGD(momentum=self.momentum, nesterov=self.nesterov, **_shared(self)),
            network,
            self.no_decay,
        )


@dataclass(frozen=True)
class RmsProp:
    """Epsilon stands under the root: with 1.0, as Inception and the Object Detection API have it, small gradients
    are not blown up. Unlike TensorFlow 1, the mean square starts from 0."""

    rho: float = 0.9  # of the mean square; `decay` in the Object Detection API
    momentum: float = 0.9
    epsilon: float = 1.0
    weight_decay: float = 0.0
    no_decay: tuple[str, ...] = NO_DECAY
    clip_norm: float = 0.0

    def __post_init__(self) -> None:
        _require_share("rho", self.rho)
        _require_share("momentum", self.momentum)
        require(self.epsilon > 0, "epsilon", self.epsilon, "above 0")
        require_at_most(self, epsilon=1000)
        _require_shared(self)

    @property
    def slots(self) -> int:
        return 2 if self.momentum else 1

    def build(self, network: "keras.Model") -> "keras.optimizers.Optimizer":
        import keras

        return _for_network(
            keras.optimizers.RMSprop(rho=self.rho, momentum=self.momentum, epsilon=self.epsilon, **_shared(self)),
            network,
            self.no_decay,
        )


@dataclass(frozen=True)
class Adam:
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7
    weight_decay: float = 0.0  # decoupled, as AdamW has it
    no_decay: tuple[str, ...] = NO_DECAY
    clip_norm: float = 0.0

    def __post_init__(self) -> None:
        _require_share("beta_1", self.beta_1)
        _require_share("beta_2", self.beta_2)
        require(self.epsilon > 0, "epsilon", self.epsilon, "above 0")
        require_at_most(self, epsilon=1000)
        _require_shared(self)

    @property
    def slots(self) -> int:
        return 2

    def build(self, network: "keras.Model") -> "keras.optimizers.Optimizer":
        from bakeoff.learning.plan.fused_adam import OnePassAdam

        return _for_network(
            OnePassAdam(beta_1=self.beta_1, beta_2=self.beta_2, epsilon=self.epsilon, **_shared(self)),
            network,
            self.no_decay,
        )


OPTIMIZERS: dict[str, type[Optimizer]] = {"momentum": Momentum, "rmsprop": RmsProp, "adam": Adam}


def _require_share(key: str, value: float) -> None:
    require(0 <= value < 1, key, value, "at least 0 and under 1")


def _require_shared(optimizer: Momentum | RmsProp | Adam) -> None:
    require(optimizer.weight_decay >= 0, "weight_decay", optimizer.weight_decay, "0 or more")
    require(optimizer.clip_norm >= 0, "clip_norm", optimizer.clip_norm, "0 or more")
    require_at_most(optimizer, weight_decay=10, clip_norm=1_000_000)


def _shared(optimizer: Momentum | RmsProp | Adam) -> dict[str, Any]:
    # Keras takes None, not 0, for "off".
    return {"weight_decay": optimizer.weight_decay or None, "global_clipnorm": optimizer.clip_norm or None}


def _for_network(
    optimizer: "keras.optimizers.Optimizer", network: "keras.Model", no_decay: Sequence[str]
) -> "keras.optimizers.Optimizer":
    """With its slots made."""
    variables = network.trainable_variables
    spared = set(select([variable.path for variable in variables], (*no_decay, LAYER), {}))
    optimizer.exclude_from_weight_decay(var_list=[variable for variable in variables if variable.path in spared])
    optimizer.build(variables)
    return optimizer
