"""`bakeoff stop` and `bakeoff clean`: end a run after the step it is at, and remove what is not wanted any more."""

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN, print_columns, remove_confirmed
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import format_duration, format_names, format_size
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.runs.cleanup import Leftover
    from bakeoff.experiments.runs.list_runs import KnownRun

POLL_SECONDS = 0.2
SOME_FAILED = 1
END = "asked to stop after the step it is at; it is saved, and can train more"
NOT_BEGIN = "waits for its turn, and was asked not to begin"
HEAD = ("", "what", "state", "updated", "size", "named by", "")
NAMES_SHOWN = 3
ENDED = tuple(state.value for state in State if not state.is_live)


@dataclass(frozen=True)
class StopCommand(Command):
    which: str | None = argument(f"{RUN}; default: the one that runs", "RUN", default=None)
    all: bool = flag("stop every run in progress")
    wait: bool = flag("wait until they have ended")

    def run(self) -> None:
        runs = _choose(self.which, everything=self.all)
        for run in runs:
            run.stop_file.touch()
            print_line(f"{run.label}: {NOT_BEGIN if run.waits or run.place else END}")
        if self.wait and State.FAILED in [_wait_for(run).state for run in runs]:
            sys.exit(SOME_FAILED)


def _choose(which: str | None, *, everything: bool) -> list["KnownRun"]:
    from bakeoff.app.cli.run_table import line_of
    from bakeoff.experiments.runs.list_runs import known_runs
    from bakeoff.tracking.resolve_name import candidates, resolve

    runs = known_runs()
    live = [run for run in runs if run.state.is_live]
    if which and everything:
        raise WorkspaceError(f"{which}: must not be given with --all, which means every run")
    if which:
        one_is_live = len(candidates(which, live)) == 1  # of several runs of one variant it is meant
        run = resolve(which, live if one_is_live else runs)
        if not run.state.is_live:
            raise WorkspaceError(f"{line_of(run)}; it is not under way, so there is nothing to stop")
        return [run]
    if not live and everything:
        print_line("no run is under way")
    elif not live:
        raise WorkspaceError("no run is under way, so there is nothing to stop; `bakeoff status` lists those that were")
    live = live if everything else [run for run in live if not run.waits] or live
    if len(live) > 1 and not everything:
        those = ", ".join(f"{run.label} {run.state}" for run in live)
        raise WorkspaceError(f"{len(live)} runs are under way: {those}; name one, or --all")
    return live


def _wait_for(run: "KnownRun") -> "KnownRun":
    """Wait for its end; of one that waits it comes at the latest when its turn does."""
    from bakeoff.app.cli.run_table import line_of
    from bakeoff.experiments.runs.list_runs import read_run

    while run.folder.is_dir() and (run := read_run(run.folder)).state.is_live:
        time.sleep(POLL_SECONDS)
    print_line(line_of(run))
    return run


@dataclass(frozen=True)
class CleanCommand(Command):
    which: tuple[str, ...] = argument(f"remove these, whatever the rules say: {RUN}", "RUN")
    keep: int | None = option("keep the N newest runs (1)", "N", least=0)
    older_than: str | None = option("only work without activity for this long: 30d, 12h, 2w", "AGE")
    state: tuple[str, ...] = option(
        f"only runs in this state; give it again for more: {', '.join(ENDED)}; "
        "without it those that SUCCEEDED and those that have nothing to resume from",
        "STATE",
        choices=ENDED,
    )
    yes: bool = flag("remove without asking")

    def run(self) -> None:
        leftovers = _find(self)
        if not leftovers:
            print_line("nothing is in .bakeoff/ that can be removed")
            return
        print_columns([HEAD, *map(_row, leftovers)])
        for leftover in remove_confirmed(leftovers, "nothing to remove by these rules", sure=self.yes):
            print_line(f"{_name(leftover)}: a process trains it right now, so it stays")


def _find(asked: CleanCommand) -> list["Leftover"]:
    from bakeoff.experiments.runs.cleanup import (
        CleanupRules,
        named_by,
        old_runs,
        other_leftovers,
        seconds_of,
        these_runs,
    )
    from bakeoff.experiments.runs.list_runs import known_runs
    from bakeoff.tracking.resolve_name import resolve

    runs, names = [run for run in known_runs() if not run.waits], named_by()
    if asked.which:
        if asked.keep is not None or asked.older_than or asked.state:
            raise WorkspaceError("clean: must be given either runs or rules, got both")
        chosen = {run.fingerprint: run for run in (resolve(which, runs) for which in asked.which)}
        named = list(chosen.values())
        return [*these_runs(named, runs, names), *_in_store(named, runs, 0.0)]
    age = seconds_of(asked.older_than) if asked.older_than else 0.0
    rules = CleanupRules(
        keep=1 if asked.keep is None else asked.keep,
        older_than=age,
        states=tuple(State(state) for state in asked.state),
    )
    others = [] if asked.state else [*other_leftovers(age), *_in_store(None, runs, age)]
    return [*old_runs(runs, rules, names), *others]


def _in_store(chosen: list["KnownRun"] | None, runs: list["KnownRun"], age: float) -> list["Leftover"]:
    """Return what the store of work in flight has of the runs that were chosen, or of all by the rules."""
    from bakeoff.experiments.checkpoint_store.run_copies import stored_runs, these_stored
    from bakeoff.experiments.checkpoint_store.store import VARIABLE, open_store

    if not (named := os.environ.get(VARIABLE)):
        return []
    store, now = open_store(named), time.time()
    leftovers = stored_runs(store, runs, now, age) if chosen is None else these_stored(store, chosen, now)
    return list(leftovers)


def _row(leftover: "Leftover") -> tuple[str, ...]:
    state = leftover.run.state.value if leftover.run else ""
    updated = f"{format_duration(max(0, time.time() - leftover.updated))} ago"
    size, names = format_size(leftover.bytes), format_names(leftover.named_by, NAMES_SHOWN)
    fate = f"stays: {leftover.stays}" if leftover.stays else "goes"
    return (_name(leftover), leftover.what, state, updated, size, names, fate)


def _name(leftover: "Leftover") -> str:
    return leftover.run.short if leftover.run else leftover.path.name[:24]
