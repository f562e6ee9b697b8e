"""Sweeps that have started: what came of one at its end, and `bakeoff sweep list`, `show`, `best`, `prune`."""

import argparse
import sys
import time
from collections.abc import Callable, Set
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from bakeoff.app.cli.command_table import COMMANDS
from bakeoff.app.cli.terminal import confirm, print_columns
from bakeoff.app.cli.terminal_table import print_fitted, print_wrapped
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import INTERRUPTED, WorkspaceError, choices
from bakeoff.foundation.formatting import format_duration, format_size
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest

SOME_FAILED = 1
OF_SWEEPS = "of sweeps that have started: bakeoff sweep list, show [ID], best [ID], prune [ID]; each has a --help"
RunCommand: TypeAlias = Callable[["SweepManifest", argparse.Namespace], None]


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


def add_to(commands: Any) -> None:
    add_commands(commands, "sweep ")


def add_commands(commands: Any, before: str = "") -> None:
    """Add what can be asked of sweeps that have started, each with `before` it in its name."""
    listing = commands.add_parser(
        f"{before}list", help=COMMANDS["sweep list"].line, epilog="example: bakeoff sweep list"
    )
    listing.set_defaults(run=lambda arguments: _list())
    for name, (example, run) in ON_ONE_SWEEP.items():
        epilog = f"example: bakeoff sweep {name} {example}"
        command = commands.add_parser(f"{before}{name}", help=COMMANDS[f"sweep {name}"].line, epilog=epilog)
        command.add_argument("id", nargs="?", metavar="ID", help="sweep, or the beginning of its id (the last)")
        command.set_defaults(run=partial(_run_on_one, run))
        if name == "best":
            command.add_argument("--apply", action="store_true", help="apply it to the workspace")
        if name == "prune":
            add = command.add_argument
            add("--keep", type=int, default=1, metavar="N", help="keep the checkpoints of the N best runs (1)")
            add("--yes", action="store_true", help="remove without asking")


def refuse_command(name: str) -> NoReturn:
    if name in ALL_COMMANDS:
        raise WorkspaceError(f"{name}: must stand right behind `sweep`; `bakeoff sweep {name} --help` has its options")
    raise WorkspaceError(f"{name}: must be an override such as lr=cosine,exponential, or {choices(name, ALL_COMMANDS)}")


def _run_on_one(run: "RunCommand", arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.sweep_manifest import find_manifest

    run(find_manifest(arguments.id), arguments)


def _list() -> None:
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


def _show(manifest: "SweepManifest", arguments: argparse.Namespace) -> None:
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


def _best(manifest: "SweepManifest", arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.best import apply_configuration, require_best

    job = require_best(manifest)
    left = sum(not other.state.is_final for other in manifest.jobs)
    among = f", of those that are done; {left} are not" if left else ""
    print_line(f"{job.name}: {job.headline} {job.value:.3f}  ({job.experiment}){among}")
    if arguments.apply:
        apply_configuration(manifest, job)
        print_line("it is in the workspace now: params.yaml, run.yaml, weights; `dvc repro` has nothing to do")
    else:
        print_line("--apply takes it into the workspace")


def _prune(manifest: "SweepManifest", arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.best import find_prunable

    if arguments.keep < 0:
        raise WorkspaceError(f"--keep: must be 0 or more, got {arguments.keep}")
    prunable = find_prunable(manifest, arguments.keep)
    going = [item for _, item in prunable if item.stays is None]
    if prunable:
        print_columns(
            ("" if item.stays else "goes", job.name, item.what, format_size(item.bytes), item.stays or "")
            for job, item in prunable
        )
    wanted = f"{len(going)} of {len(prunable)}, {format_size(sum(item.bytes for item in going))}"
    if not going:
        print_line("nothing to remove; experiments and their weights are DVC's")
    elif arguments.yes or confirm(f"remove {wanted}? (yes/no) "):
        print_line(f"freed {format_size(sum(item.bytes for item in going if item.remove()))}")
    else:
        print_line(f"nothing was removed; --yes removes {wanted}")


ON_ONE_SWEEP: dict[str, tuple[str, RunCommand]] = {  # an example of each, and what it runs
    "show": ("sweep-20260102-030405", _show),
    "best": ("--apply", _best),
    "prune": ("--keep 2", _prune),
}
ALL_COMMANDS = ("list", *ON_ONE_SWEEP)
