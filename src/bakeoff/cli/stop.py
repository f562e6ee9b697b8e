"""`bakeoff stop`: asks a run to end after the step it is at, from any terminal."""

import argparse
import sys
import time
from typing import Any

from bakeoff.cli.run_table import in_a_line
from bakeoff.errors import WorkspaceError
from bakeoff.progress import say
from bakeoff.runs.known import KnownRun, known, known_runs, named
from bakeoff.runs.status import State
from bakeoff.workspace import STOP_FILE

SECONDS_BETWEEN_LOOKS = 0.2
SOME_FAILED = 1
END = "asked to stop after the step it is at; it is saved, and can train more"
NOT_BEGIN = "waits for its turn, and was asked not to begin"


def add_to(commands: Any) -> None:
    stop = commands.add_parser("stop", help="end a run after the step it is at; it is saved, and can train more")
    stop.add_argument(
        "which", nargs="?", metavar="RUN",
        help="the beginning of a fingerprint, a variant's name or an experiment's; without it the one that runs",
    )  # fmt: skip
    stop.add_argument("--all", action="store_true", help="every run that is under way")
    stop.add_argument("--wait", action="store_true", help="until they have ended")
    stop.set_defaults(run=stop_runs)


def stop_runs(arguments: argparse.Namespace) -> None:
    runs = _chosen(arguments.which, everything=arguments.all)
    for run in runs:
        (run.folder / STOP_FILE).touch()
        say(f"{run.label}: {NOT_BEGIN if run.waits else END}")
    if arguments.wait:
        ends = [_end_of(run) for run in runs]
        if any(end.state == State.FAILED for end in ends):
            sys.exit(SOME_FAILED)


def _chosen(which: str | None, *, everything: bool) -> list[KnownRun]:
    runs = known_runs()
    live = [run for run in runs if run.state.is_live]
    if which and everything:
        raise WorkspaceError(f"{which}: must not be given with --all, which means every run")
    if which:
        run = named(which, live if _is_name_of_one(which, live) else runs)
        if not run.state.is_live:
            raise WorkspaceError(f"{in_a_line(run)}; it is not under way, so there is nothing to stop")
        return [run]
    if not live and everything:
        say("no run is under way")
    elif not live:
        raise WorkspaceError("no run is under way, so there is nothing to stop; `bakeoff status` lists those that were")
    live = live if everything else [run for run in live if not run.waits] or live
    if len(live) > 1 and not everything:
        those = ", ".join(f"{run.label} {run.state}" for run in live)
        raise WorkspaceError(f"{len(live)} runs are under way: {those}; name one, or --all")
    return live


def _is_name_of_one(which: str, live: list[KnownRun]) -> bool:
    """Of several runs of one variant the one that is under way is meant."""
    return sum(any(name.startswith(which) for name in run.names) for run in live) == 1


def _end_of(run: KnownRun) -> KnownRun:
    """Of one that waits, at the latest when its turn comes."""
    while run.folder.is_dir() and (now := known(run.folder)).state.is_live:
        run = now
        time.sleep(SECONDS_BETWEEN_LOOKS)
    say(in_a_line(now))
    return now
