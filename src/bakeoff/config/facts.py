"""What a network is made of, told once and kept: its variables, and what its layers' outputs take for one example.

Building a network needs TensorFlow, which takes seconds to load; who only wants to plan reads the kept facts.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib import metadata
from math import prod
from pathlib import Path
from typing import Any

import bakeoff.networks
from bakeoff.files import write_whole
from bakeoff.input.memory import FLOAT_BYTES
from bakeoff.networks import Network
from bakeoff.networks.selection import select
from bakeoff.quiet import load_tensorflow


@dataclass(frozen=True)
class Variable:
    path: str  # "backbone.stem/kernel"
    shape: tuple[int, ...]
    trainable: bool  # false for the statistics of batch norms

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Facts:
    variables: tuple[Variable, ...]
    activation_bytes: int  # of all layers' outputs for one example, as training keeps them for the gradients

    @property
    def parameters(self) -> int:
        return sum(variable.size for variable in self.variables)

    def trainable(self, patterns: tuple[str, ...], network: Network) -> int:
        """How many parameters are trained if only what the patterns name is; none name everything."""
        learned = [variable for variable in self.variables if variable.trainable]
        chosen = set(select([variable.path for variable in learned], patterns or ("*",), network.parts))
        return sum(variable.size for variable in learned if variable.path in chosen)


def facts_of(network: Network, num_classes: int, kept_in: Path) -> Facts:
    """Read from the folder, or told by building the network and then kept there."""
    path = kept_in / f"{_fingerprint(network, num_classes)}.json"
    if path.is_file() and (facts := _read(path)) is not None:
        return facts
    facts = _told(network, num_classes)
    write_whole(path, json.dumps(asdict(facts)))
    return facts


def _told(network: Network, num_classes: int) -> Facts:
    load_tensorflow()
    model: Any = network.build(num_classes)
    trained = {id(variable) for variable in model.trainable_variables}
    variables = tuple(
        Variable(variable.path, tuple(variable.shape), id(variable) in trained)
        for variable in model.weights
        if "seed_generator" not in variable.path
    )
    outputs = [tensor for layer in model.layers for node in layer._inbound_nodes for tensor in node.output_tensors]
    return Facts(variables, FLOAT_BYTES * sum(prod(size for size in tensor.shape if size) for tensor in outputs))


def _read(path: Path) -> Facts | None:
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        variables = tuple(
            Variable(entry["path"], tuple(entry["shape"]), entry["trainable"]) for entry in tree["variables"]
        )
        return Facts(variables, tree["activation_bytes"])
    except (ValueError, KeyError, TypeError):
        return None  # cut off by a crash; told anew


def _fingerprint(network: Network, num_classes: int) -> str:
    """Other for other settings, other code of the networks and another Keras."""
    digest = hashlib.sha256(f"{network!r} {num_classes} {metadata.version('keras')}".encode())
    for file in sorted(Path(bakeoff.networks.__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
