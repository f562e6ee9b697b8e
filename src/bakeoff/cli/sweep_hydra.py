"""`bakeoff sweep hydra/sweeper=…`: a sweeper of Hydra's proposes the points, batch by batch, by what others came to."""

import argparse
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from bakeoff import workspace
from bakeoff.cli.sweep_plan import show_jobs
from bakeoff.cli.terminal import end_as_by_ctrl_c, say_while_heard
from bakeoff.errors import ConfigError
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.sweep.launch import Rules
    from bakeoff.sweep.manifest import Manifest
    from bakeoff.sweep.points import Point, Words


def sweep_by_hydra(
    rules: "Rules", words: "Words", until: str | None, going_on: "Manifest | None" = None, *, is_dry: bool = False
) -> "Manifest | None":
    """Return the sweep as far as it came, a new one or the one that is `going_on`; None if nothing was to begin."""
    from bakeoff.sweep.hydra_plugins import Enough, Gate, sweeper_of
    from bakeoff.sweep.launch import launch_of
    from bakeoff.sweep.manifest import one_launcher
    from bakeoff.sweep.parent_run import tell_mlflow
    from bakeoff.sweep.preflight import begin, extend, preflight

    lock = ExitStack()  # held as long as the sweeper is at work, also between its batches

    def enter(points: "Sequence[Point]", manifest: "Manifest | None") -> "Manifest":
        jobs = preflight(points, until=until)
        show_jobs(jobs, len(points))
        if is_dry:
            raise Enough
        if manifest is not None:
            return extend(manifest, jobs)
        manifest = begin(jobs, [*words.variants, *words.hydra], until)
        lock.enter_context(one_launcher(manifest.folder))
        say(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        return manifest

    def run(manifest: "Manifest") -> "Manifest":
        with tell_mlflow(manifest):
            return launch_of(manifest, say_while_heard, rules).run()

    end_as_by_ctrl_c()
    gate, place = Gate(enter, run, going_on), workspace.sweeps() / "hydra"  # where the sweeper leaves its own notes
    sweeper = sweeper_of(words.hydra, place, workspace.CONF.resolve(), gate)
    with lock, suppress(Enough):
        if going_on is not None:
            lock.enter_context(one_launcher(going_on.folder))
        try:
            sweeper.sweep(list(words.variants))
        except Exception as error:  # a plugin may raise anything, most often for a job that came to nothing
            say(f"the sweeper ends, for {error}")
    return None if is_dry else gate.manifest


def require_sense(arguments: argparse.Namespace, words: "Words") -> bool:
    """Whether Hydra's own words let a sweeper propose the points; refuse those that other options contradict."""
    if not words.hydra:
        return False
    from bakeoff.sweep.hydra_plugins import Chosen

    chosen, own = Chosen.by(words.hydra), " ".join(words.hydra)
    if arguments.search is not None:
        raise ConfigError(f"--search: must stand without words of Hydra's own, got {own}")
    if chosen.has_launcher and arguments.jobs > 1:
        raise ConfigError(f"--jobs: must stand without {own}: the launcher's own settings say how many run at once")
    return chosen.has_sweeper
