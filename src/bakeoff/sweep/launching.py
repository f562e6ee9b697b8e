"""A sweep -> the launch that fits it: where its jobs come from, and who begins them."""

from collections.abc import Callable

from bakeoff.sweep.admission import Seats
from bakeoff.sweep.launch import Launch, Rules
from bakeoff.sweep.manifest import JobState, Manifest
from bakeoff.sweep.source import Planned, Source
from bakeoff.sweep.words import Words


def launch_of(manifest: Manifest, say: Callable[[str], None], rules: Rules, seats: Seats | None = None) -> Launch:
    hydra = Words.of(manifest.words).hydra
    if hydra:
        from bakeoff.sweep.launch_by_hydra import LaunchByHydra, run_one
        from bakeoff.sweep.plugins import launcher_of

        if (launcher := launcher_of(hydra, manifest.folder, run_one)) is not None:
            return LaunchByHydra(manifest, say, rules, launcher)
    return Launch(manifest, say, rules, seats, source_of(manifest))


def source_of(manifest: Manifest) -> Source:
    if manifest.search is None:
        return Planned()
    from bakeoff.sweep.search.searching import Searching

    return Searching(manifest)


def trials_left(manifest: Manifest) -> int:
    """That a search has not drawn yet, and will."""
    if manifest.search is None:
        return 0
    from bakeoff.sweep.search.searching import is_hopeless

    return 0 if is_hopeless(manifest) else manifest.expected - len(manifest.jobs)


def states_of(manifest: Manifest) -> set[JobState]:
    """Of its jobs, those included that are still to be drawn."""
    waiting = {JobState.WAITING} if trials_left(manifest) else set()
    return {job.state for job in manifest.jobs} | waiting
