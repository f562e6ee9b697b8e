"""What a run may use, in bytes: a stated budget is what it says, `auto` asks the machine once.

Kept, for the same variant must be rendered to the same numbers tomorrow, when other programs run. Deleting
`.bakeoff/networks/machine-*.json` looks afresh.
"""

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff import machine
from bakeoff.input.memory import AUTO, Limits, Memory

GRAIN = 100 * 10**6  # a budget is a whole number of these


@dataclass(frozen=True)
class Machine:
    free_bytes: int
    total_bytes: int
    cores: int
    device_free_bytes: int  # of the accelerator with the least; 0: there is none


def look() -> Machine:
    return Machine(
        free_bytes=machine.available_memory(),
        total_bytes=machine.total_memory(),
        cores=machine.cores(),
        device_free_bytes=min(machine.free_on_gpus() or [0]),
    )


def stated_limits(memory: Memory) -> Limits:
    """Of a budget that is not `auto`."""
    assert memory.budget_bytes is not None
    return Limits(memory.budget_bytes, memory.device_budget_bytes or 0)


def limits_on_this_machine(
    memory: Memory, kept_in: Path, warn: Callable[[str], object], look: Callable[[], Machine] = look
) -> Limits:
    if AUTO not in (memory.budget, memory.device_budget):
        return stated_limits(memory)
    now = look()
    path = kept_in / f"machine-{_key(now)}.json"
    then = _read(path)
    if then is None:
        then = now
        kept_in.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(then)), encoding="utf-8")
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


def _key(seen: Machine) -> str:
    """Names the machine; its total memory, since a container of the same name may have another limit."""
    return hashlib.sha256(f"{platform.node()} {seen.total_bytes}".encode()).hexdigest()[:12]


def _read(path: Path) -> Machine | None:
    try:
        return Machine(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # not looked at yet, or cut off by a crash
