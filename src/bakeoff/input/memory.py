"""What the run may use: `conf/memory/`. Buffers follow from it and from the sizes in the data set.

The rule, in bytes: what TensorFlow takes once loaded, plus the network in training, plus batches that wait, plus
images being decoded, must stay under the budget. As many batches wait as fit into a tenth of what is left, 1 to 16.
"""

import re
from dataclasses import dataclass

from bakeoff.errors import require
from bakeoff.records.manifest import Split

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
RUNTIME_BYTES = 1000 * 10**6  # of a process that trains on a CPU, its data and its network aside, as measured
WAITING_SHARE = 0.1
MOST_WAITING_BATCHES = 16
FLOAT_BYTES = 4
COPIES_OF_WEIGHTS = 4  # themselves, gradients, and two numbers that the optimizer keeps of each


@dataclass(frozen=True)
class Buffers:
    prefetch_batches: int
    decode_threads: int
    bytes: int  # of the whole process at its peak, as far as it can be foreseen


@dataclass(frozen=True)
class Load:
    """What has to fit: batches of float examples, and the network that they go through."""

    batch_size: int
    pixels: int  # of an example
    parameters: int
    activation_bytes: int  # of all layers' outputs for one example


@dataclass(frozen=True)
class Memory:
    budget: str
    decode_threads: int = 2

    def __post_init__(self) -> None:
        require(_bytes(self.budget) is not None, "budget", self.budget, "a size such as 2GB, 1500MB or 4GiB")
        require(1 <= self.decode_threads <= 256, "decode_threads", self.decode_threads, "between 1 and 256")

    @property
    def budget_bytes(self) -> int:
        size = _bytes(self.budget)
        assert size is not None
        return size

    def buffers(self, load: Load, split: Split) -> Buffers:
        """For a training on examples of `split`."""
        batch = load.batch_size * load.pixels * 3 * FLOAT_BYTES
        decoding = self.decode_threads * split.decoded_bytes // max(1, split.examples) * (1 + FLOAT_BYTES)
        network = load.parameters * FLOAT_BYTES * COPIES_OF_WEIGHTS + load.batch_size * load.activation_bytes
        fixed = RUNTIME_BYTES + network + decoding + batch  # one batch in use
        least = fixed + batch  # and one waiting
        rule = f"at least {-(-least // 10**6)}MB for train.batch_size={load.batch_size} (or a smaller batch)"
        require(least <= self.budget_bytes, "budget", self.budget, rule)
        waiting = max(1, min(MOST_WAITING_BATCHES, int((self.budget_bytes - fixed) * WAITING_SHARE) // batch))
        return Buffers(waiting, self.decode_threads, fixed + waiting * batch)


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMG]I?B)\s*", text, re.IGNORECASE)
    return int(float(match[1]) * UNITS[match[2].upper()]) if match else None
