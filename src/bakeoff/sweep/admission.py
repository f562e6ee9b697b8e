"""Which job may begin beside those that run: memory, and whether one of them trains the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff import machine
from bakeoff.sweep.manifest import SweepJob


@dataclass(frozen=True)
class Admission:
    side_by_side: int
    memory_bytes: int  # that the jobs may take together
    cores: int

    @classmethod
    def here(cls, side_by_side: int) -> "Admission":
        """What other programs hold now is theirs."""
        return cls(side_by_side, machine.available_memory(), machine.cores())

    def admits(self, job: SweepJob, running: Sequence[SweepJob]) -> bool:
        """One by itself always: whether there is room for it is asked by training, and said in its words."""
        if not running:
            return True
        together = job.memory_bytes + sum(other.memory_bytes for other in running)
        alike = any(other.training == job.training for other in running)  # the second takes it from DVC's cache
        return len(running) < self.side_by_side and together <= self.memory_bytes and not alike

    @property
    def threads(self) -> int | None:
        """For each job; None: as many as it likes."""
        return None if self.side_by_side == 1 else max(1, self.cores // self.side_by_side)
