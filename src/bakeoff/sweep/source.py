"""Where a sweep's jobs come from: all at once, or one by one while others run, as a search or a queue has them."""

from collections.abc import Sequence
from typing import Protocol

from bakeoff.sweep.manifest import Manifest, SweepJob


class Source(Protocol):
    def more(self, manifest: Manifest, seats: int) -> Sequence[SweepJob]:
        """Jobs that shall wait from now on, with the numbers that come next; there is room for `seats` at once."""
        ...

    def is_dry(self, manifest: Manifest) -> bool:
        """Whether none will come any more."""
        ...

    def gives_up(self, manifest: Manifest, job: SweepJob) -> str | None:
        """Why a job that runs is not worth its end; None if it may go on."""
        ...

    def settled(self, job: SweepJob) -> SweepJob:
        """A job that is over, with what is known of it besides."""
        ...


class Planned:
    """Every job stands in the manifest before the first begins."""

    def more(self, manifest: Manifest, seats: int) -> Sequence[SweepJob]:
        return ()

    def is_dry(self, manifest: Manifest) -> bool:
        return True

    def gives_up(self, manifest: Manifest, job: SweepJob) -> str | None:
        return None

    def settled(self, job: SweepJob) -> SweepJob:
        return job
