"""`train.trainable`: which weights a leg trains; all others stay as they are.

A layer of which nothing is trained is frozen as a whole: batch-norm statistics stay as well, and are what it
normalises with.
"""

from collections.abc import Sequence

import keras

from bakeoff.errors import ConfigError
from bakeoff.networks.network import Parts, select, unmatched


def train_only(network: keras.Model, patterns: Sequence[str], parts: Parts, key: str) -> None:
    """Everything if there are no patterns."""
    # Whatever the leg before froze; Keras passes a value on only where it changes.
    network.trainable = False
    network.trainable = True
    if not patterns:
        return
    paths = [weight.path for weight in network.weights]
    require_matches(paths, patterns, parts, key)
    chosen = set(select(paths, patterns, parts))
    for layer in network._flatten_layers(include_self=False):
        if layer.weights and not any(weight.path in chosen for weight in layer.weights):
            layer.trainable = False
    for weight in network.trainable_weights:
        weight.trainable = weight.path in chosen
    if not network.trainable_weights:
        raise ConfigError(f"{key}: {', '.join(patterns)} names nothing that can be trained, only statistics")


def require_matches(paths: Sequence[str], patterns: Sequence[str], parts: Parts, key: str) -> None:
    for pattern, near in unmatched(paths, patterns, parts).items():
        meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        named = ", ".join(sorted(parts)) or "(none)"
        raise ConfigError(f"{key}: no variable of the network matches {pattern!r}; {meant}its parts are: {named}")
