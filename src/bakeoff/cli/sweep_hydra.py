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


class Enough(BaseException):
    """The sweeper is to propose no more; no error, which a plugin may catch."""


class ByHydra:
    def __init__(
        self, rules: "Rules", words: "Words", until: str | None, manifest: "Manifest | None" = None, *,
        is_dry: bool = False,
    ) -> None:  # fmt: skip
        """`manifest` of a sweep that goes on."""
        from bakeoff.sweep.hydra_plugins import Gate

        self._rules, self._words, self._until, self._is_dry = rules, words, until, is_dry
        self._gate = Gate(self._enter, self._run, manifest)
        self._lock = ExitStack()

    def run(self) -> "Manifest | None":
        """As far as it came; None if nothing was to begin."""
        from bakeoff.sweep.hydra_plugins import sweeper_of

        end_as_by_ctrl_c()
        place = workspace.sweeps() / "hydra"  # where the sweeper leaves its own notes
        sweeper = sweeper_of(self._words.hydra, place, workspace.CONF.resolve(), self._gate)
        with self._lock, suppress(Enough):
            if self._gate.manifest is not None:
                self._hold(self._gate.manifest)
            try:
                sweeper.sweep(list(self._words.variants))
            except Exception as error:  # a plugin may raise anything, most often for a job that came to nothing
                say(f"the sweeper ends, for {error}")
        return None if self._is_dry else self._gate.manifest

    def _enter(self, points: "Sequence[Point]", manifest: "Manifest | None") -> "Manifest":
        from bakeoff.sweep.preflight import begin, extend, preflight

        jobs = preflight(points, until=self._until)
        show_jobs(jobs, len(points))
        if self._is_dry:
            raise Enough
        if manifest is not None:
            return extend(manifest, jobs)
        manifest = begin(jobs, [*self._words.variants, *self._words.hydra], self._until)
        self._hold(manifest)
        say(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        return manifest

    def _hold(self, manifest: "Manifest") -> None:
        """As long as the sweeper is at work, also between its batches."""
        from bakeoff.sweep.manifest import one_launcher

        self._lock.enter_context(one_launcher(manifest.folder))

    def _run(self, manifest: "Manifest") -> "Manifest":
        from bakeoff.sweep.launch import launch_of
        from bakeoff.sweep.manifest import JobState
        from bakeoff.sweep.parent_run import tell_mlflow

        with tell_mlflow(manifest):
            manifest = launch_of(manifest, say_while_heard, self._rules).run()
        self._gate.manifest = manifest
        if {state for state in manifest.states if not state.is_final} - {JobState.FAILED}:
            raise Enough
        return manifest


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
