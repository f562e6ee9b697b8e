"""Sweeps that have started: what came of one at its end, and `bakeoff sweep list`, `show`, `best`, `prune`."""

import sys
import time
from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import print_columns, remove_confirmed
from bakeoff.app.cli.terminal_table import print_fitted, print_wrapped
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import INTERRUPTED, WorkspaceError, choices
from bakeoff.foundation.formatting import format_duration, format_size
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest

SOME_FAILED = 1
OF_SWEEPS = "of sweeps that have started: bakeoff sweep list, show [ID], best [ID], prune [ID]; each has a --help"
ALL_COMMANDS = ("list", "show", "best", "prune")


def finish(manifest: "SweepManifest | None") -> None:
    """Show what came of a sweep, if it began, and leave with the exit code that says how its jobs are."""
    if manifest is None:
        return
    rows = [(job.name, job.experiment, job.metric, job.state.value) for job in manifest.jobs]
    print_fitted(
        [("configuration", "experiment", "metric", "state"), *rows], less=("experiment",), narrow="configuration"
    )
    print_wrapped(
        f"`bakeoff compare {manifest.id}` has all of them, `bakeoff config NAME` what differs from the workspace, "
        "`bakeoff sweep best --apply` takes the best into it"
    )
    if manifest.search is not None:
        _say_how_it_ended(manifest)
    if any(not state.is_final for state in manifest.states):
        print_line(f"`bakeoff sweep --resume {manifest.id}` runs what is not done")
    leave_by(manifest.states)


def _say_how_it_ended(manifest: "SweepManifest") -> None:
    """The best of a search, and why it ended if that was before all its trials."""
    from bakeoff.experiments.sweep.best import find_best

    drawn = len(manifest.jobs)
    if (first := find_best(manifest)) is not None:
        print_line(f"the best is {first.number} of {drawn}: {first.name}, {first.metric}")
    if not manifest.undrawn and drawn < manifest.expected:
        print_line(f"the first {drawn} trials came to nothing, so no other begins; `bakeoff sweep show` says why")


def leave_by(states: Set["JobState"]) -> None:
    """With the exit code that says how the jobs are."""
    from bakeoff.experiments.sweep.sweep_manifest import JobState

    left = {state for state in states if not state.is_final}
    if left - {JobState.FAILED}:
        sys.exit(INTERRUPTED)
    if left or JobState.REFUSED in states:
        sys.exit(SOME_FAILED)


def refuse_command(name: str) -> NoReturn:
    if name in ALL_COMMANDS:
        raise WorkspaceError(f"{name}: must stand right behind `sweep`; `bakeoff sweep {name} --help` has its options")
    raise WorkspaceError(f"{name}: must be an override such as lr=cosine,exponential, or {choices(name, ALL_COMMANDS)}")


@dataclass(frozen=True)
class SweepListCommand(Command):
    epilog = "example: bakeoff sweep list"

    def run(self) -> None:
        from bakeoff.experiments.sweep.sweep_manifest import all_ids, load_manifest

        rows = [("sweep", "began", "jobs", "question")]
        for name in all_ids():
            manifest = load_manifest(workspace.sweeps() / name)
            began = f"{format_duration(max(0, time.time() - manifest.began))} ago"
            rows.append((name, began, manifest.counts, " ".join(manifest.overrides)))
        if len(rows) == 1:
            print_line("no sweep has started here yet")
        else:
            print_fitted(rows, narrow="question")


@dataclass(frozen=True)
class _OneSweep(Command):
    id: str | None = argument("sweep, or the beginning of its id (the last)", "ID", default=None)

    def find(self) -> "SweepManifest":
        from bakeoff.experiments.sweep.sweep_manifest import find_manifest

        return find_manifest(self.id)


@dataclass(frozen=True)
class ShowCommand(_OneSweep):
    epilog = "example: bakeoff sweep show sweep-20260102-030405"

    def run(self) -> None:
        manifest = self.find()
        print_wrapped(f"{manifest.id}: {' '.join(manifest.overrides)}")
        if manifest.note:
            print_wrapped(manifest.note)
        if manifest.search is not None:
            print_line(f"{manifest.search}; {len(manifest.jobs)} drawn")
        rows = [
            (str(job.number), job.name, job.metric, job.state.value, job.experiment, str(len(job.attempts)), job.why)
            for job in manifest.jobs
        ]
        head = ("", "configuration", "metric", "state", "experiment", "attempts", "")
        print_fitted([head, *rows], less=("attempts", "experiment"), narrow="configuration")


@dataclass(frozen=True)
class BestCommand(_OneSweep):
    epilog = "example: bakeoff sweep best --apply"
    apply: bool = flag("apply it to the workspace")

    def run(self) -> None:
        from bakeoff.experiments.sweep.best import apply_configuration, require_best

        manifest = self.find()
        job = require_best(manifest)
        left = sum(not other.state.is_final for other in manifest.jobs)
        among = f", of those that are done; {left} are not" if left else ""
        print_line(f"{job.name}: {job.headline} {job.value:.3f}  ({job.experiment}){among}")
        if self.apply:
            apply_configuration(manifest, job)
            print_line("it is in the workspace now: params.yaml, run.yaml, weights; `dvc repro` has nothing to do")
        else:
            print_line("--apply takes it into the workspace")


@dataclass(frozen=True)
class PruneCommand(_OneSweep):
    epilog = "example: bakeoff sweep prune --keep 2"
    keep: int = option("keep the checkpoints of the N best runs (1)", "N", default=1, least=0)
    yes: bool = flag("remove without asking")

    def run(self) -> None:
        from bakeoff.experiments.sweep.best import find_prunable

        prunable = find_prunable(self.find(), self.keep)
        if prunable:
            print_columns(
                ("" if item.stays else "goes", job.name, item.what, format_size(item.bytes), item.stays or "")
                for job, item in prunable
            )
        remove_confirmed(
            [item for _, item in prunable], "nothing to remove; experiments and their weights are DVC's", sure=self.yes
        )
