"""The next suggestion: decided by the search, the trials so far and the number, whichever process asks."""

import hashlib
from collections.abc import Sequence

from bakeoff.sweep.manifest import SweepJob
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.space import Drawn, Space
from bakeoff.sweep.search.study import distributions, study_of

DRAWS = 10  # until something comes that was not tried


def suggestion(space: Space, search: Search, jobs: Sequence[SweepJob]) -> Drawn:
    """What no trial has drawn yet; the space must have such a point."""
    tried = {space.drawn(job) for job in jobs}
    for draw in range(DRAWS):
        study = study_of(space, search, jobs, _seed(search.seed, len(jobs) + 1, draw))
        found = study.ask(distributions(space)).params
        drawn = tuple(found[axis.key] for axis in space.axes)
        if drawn not in tried:
            return drawn
    return space.first_without(tried)


def _seed(*parts: int) -> int:
    """Each trial has its own, so that none needs to know how often others drew."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4])
