"""What the run may use: `conf/memory/`. Buffers follow from it and from the sizes in the data set.

The rule, in bytes: what TensorFlow takes once loaded, plus batches that wait, plus images being decoded,
must stay under the budget. As many batches wait as fit into a tenth of what is left, from 1 to 16.
"""

import re
from dataclasses import dataclass

from bakeoff.errors import require
from bakeoff.records.manifest import Split

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
RUNTIME_BYTES = 1050 * 10**6  # of a process that trains a small network on a CPU, its data aside, as measured
WAITING_SHARE = 0.1
MOST_WAITING_BATCHES = 16
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Buffers:
    prefetch_batches: int
    decode_threads: int
    input_bytes: int  # what the two take together


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

    def buffers(self, *, batch_size: int, pixels: int, split: Split) -> Buffers:
        """For batches of `batch_size` float examples of `pixels` pixels each, made from the examples of `split`."""
        batch = batch_size * pixels * 3 * FLOAT_BYTES
        decoding = self.decode_threads * split.decoded_bytes // max(1, split.examples) * (1 + FLOAT_BYTES)
        least = RUNTIME_BYTES + decoding + 2 * batch  # one in use, one waiting
        rule = f"at least {-(-least // 10**6)}MB for train.batch_size={batch_size} (or a smaller batch)"
        require(least <= self.budget_bytes, "budget", self.budget, rule)
        left = self.budget_bytes - RUNTIME_BYTES - decoding - batch
        waiting = max(1, min(MOST_WAITING_BATCHES, int(left * WAITING_SHARE) // batch))
        return Buffers(waiting, self.decode_threads, decoding + (1 + waiting) * batch)


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMG]I?B)\s*", text, re.IGNORECASE)
    return int(float(match[1]) * UNITS[match[2].upper()]) if match else None
