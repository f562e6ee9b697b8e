"""What is known of networks and of this machine, found once and kept in one folder.

Building a network needs TensorFlow, which takes seconds to load; who only wants to plan reads the kept facts. And a
variant must be rendered to the same numbers tomorrow, when other programs run: deleting
`.bakeoff/networks/machine-*.json` looks at the machine afresh.
"""

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import bakeoff.learning.networks
from bakeoff.config.compose.memory_plan import FLOAT_BYTES, Limits
from bakeoff.config.compose.read_once import read_once
from bakeoff.export.settings import Export
from bakeoff.foundation import machine
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.own_parts import digest_parts
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.foundation.versions import installed_version
from bakeoff.learning.input.memory_budget import AUTO, Memory
from bakeoff.learning.networks.network import Network, select
from bakeoff.learning.plan.train_settings import Train

GRAIN = 100 * 10**6  # a budget from a share of the machine is a whole number of these
Known = TypeVar("Known")


@dataclass(frozen=True)
class Variable:
    path: str  # "backbone.stem/kernel"
    shape: tuple[int, ...]
    trainable: bool  # false for the statistics of batch norms
    after_bytes: int = 0  # of the outputs of its layer and of all later ones, for one example

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Facts:
    variables: tuple[Variable, ...]
    activation_bytes: int  # of all layers' outputs for one example, as training keeps them for the gradients
    without_eight_bits: str | None = None  # the first layer that has no form in eight bits; None: all, or nobody asks

    @property
    def parameters(self) -> int:
        return sum(variable.size for variable in self.variables)

    def trainable(self, patterns: tuple[str, ...], network: Network) -> int:
        """Return how many parameters are trained if only what the patterns name is; none name everything."""
        return sum(variable.size for variable in self._select(patterns, network))

    def kept_share(self, patterns: tuple[str, ...], network: Network) -> float:
        """Return the share of the outputs that wait for gradients: those from the first layer on that learns."""
        kept = max((variable.after_bytes for variable in self._select(patterns, network)), default=0)
        return kept / self.activation_bytes if patterns and kept else 1.0

    def _select(self, patterns: tuple[str, ...], network: Network) -> list[Variable]:
        learned = [variable for variable in self.variables if variable.trainable]
        chosen = set(select([variable.path for variable in learned], patterns or ("*",), network.parts))
        return [variable for variable in learned if variable.path in chosen]


@dataclass(frozen=True)
class MachineResources:
    free_bytes: int
    total_bytes: int
    cores: int
    device_free_bytes: int  # of the accelerator with the least; 0: there is none


def find_once(path: Path, read: Callable[[Any], Known], find: Callable[[], Known]) -> Known:
    """Return what the file keeps, or find it and keep it there; `read` makes it of the file's JSON."""
    try:
        return read(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        known: Any = find()  # nothing yet, or cut off by a crash
    write_whole(path, json.dumps(asdict(known)))
    return known


def asks_for_eight_bits(train: Train | None, export: Export | None) -> bool:
    """Tell whether the network is computed in eight bits here."""
    return bool(train and train.quantizes) or bool(export and export.needs_eight_bits)


def facts_of(network: Network, num_classes: int, kept_in: Path, *, quantizes: bool = False) -> Facts:
    """Return the facts that the folder keeps, or build the network for them; with `quantizes` also in eight bits."""

    def read(tree: Any) -> Facts:
        rows = [(row["path"], tuple(row["shape"]), row["trainable"], row["after_bytes"]) for row in tree["variables"]]
        return Facts(tuple(Variable(*row) for row in rows), tree["activation_bytes"], tree["without_eight_bits"])

    file = _file(network, num_classes, kept_in, quantizes=quantizes)
    return find_once(file, read, lambda: _build_for_facts(network, num_classes, quantizes=quantizes))


def kept_facts(network: Network, num_classes: int, kept_in: Path, *, quantizes: bool = False) -> Facts | None:
    """Return what was found earlier, at no cost."""
    is_known = _file(network, num_classes, kept_in, quantizes=quantizes).exists()
    return facts_of(network, num_classes, kept_in, quantizes=quantizes) if is_known else None


def _build_for_facts(network: Network, num_classes: int, *, quantizes: bool) -> Facts:
    load_tensorflow()
    from bakeoff.learning.networks.quantized.graph import find_obstacle

    model: Any = network.build(num_classes)
    trained = {id(variable) for variable in model.trainable_variables}
    after: dict[int, int] = {}
    left = 0
    for layer in reversed(model.layers):  # each stands behind those whose outputs it takes
        outputs = [tensor for node in layer._inbound_nodes for tensor in node.output_tensors]
        inside = getattr(layer, "inner_numbers", 0)  # what a layer of layers says that it keeps
        left += FLOAT_BYTES * (inside + sum(prod(size for size in tensor.shape if size) for tensor in outputs))
        after |= {id(variable): left for variable in layer.weights}
    variables = tuple(
        Variable(variable.path, tuple(variable.shape), id(variable) in trained, after.get(id(variable), left))
        for variable in model.weights
        if "seed_generator" not in variable.path
    )
    return Facts(variables, left, find_obstacle(model) if quantizes else None)


def _file(network: Network, num_classes: int, kept_in: Path, *, quantizes: bool) -> Path:
    """Return another for other settings, other code of the networks and another Keras."""
    digest = hashlib.sha256(f"{network!r} {num_classes} {read_once(installed_version, 'keras')}".encode())
    digest.update(read_once(_read_networks))
    digest.update(read_once(digest_parts, "export"))  # which networks alone decide
    return kept_in / f"{digest.hexdigest()[:16]}{'-eight-bits' if quantizes else ''}.json"


def _read_networks() -> bytes:
    files = sorted(Path(bakeoff.learning.networks.__file__).parent.rglob("*.py"))
    return b"".join(file.read_bytes() for file in files)


def inspect_machine() -> MachineResources:
    return MachineResources(
        free_bytes=machine.available_memory(),
        total_bytes=machine.total_memory(),
        cores=machine.cores(),
        device_free_bytes=min((gpu.free_bytes for gpu in machine.list_gpus()), default=0),
    )


def stated_limits(memory: Memory) -> Limits:
    """Return what a run may use by a budget that is not `auto`."""
    assert memory.budget_bytes is not None
    return Limits(memory.budget_bytes, memory.device_budget_bytes or 0)


def limits_on_this_machine(
    memory: Memory,
    kept_in: Path,
    warn: Callable[[str], object],
    inspect: Callable[[], MachineResources] = inspect_machine,
) -> Limits:
    """Return what a run may use: a stated budget is what it says, `auto` asks the machine once."""
    if AUTO not in (memory.budget, memory.device_budget):
        return stated_limits(memory)
    now = inspect()
    # By total memory too, since a container of the same name may have another limit.
    key = hashlib.sha256(f"{platform.node()} {now.total_bytes}".encode()).hexdigest()[:12]
    path = kept_in / f"machine-{key}.json"
    then = find_once(path, lambda tree: MachineResources(**tree), lambda: now)
    budget, device = memory.budget_bytes, memory.device_budget_bytes or 0
    if budget is None:
        budget = _share(then.free_bytes, memory.share)
        if now.free_bytes < budget:
            warn(
                f"is {budget / 1e9:.1f} GB, {memory.share:.0%} of what was free when this machine was first looked at, "
                f"but only {now.free_bytes / 1e9:.1f} GB are free now; end other programs, or delete "
                f"{path.as_posix()} to look afresh"
            )
    if memory.device_budget == AUTO:
        device = _share(then.device_free_bytes, memory.share)
    return Limits(budget, device, then.cores)


def _share(free: int, share: float) -> int:
    return int(free * share) // GRAIN * GRAIN
