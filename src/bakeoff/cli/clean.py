"""`bakeoff clean`: lists old work in flight, and removes what is not wanted any more if one says yes."""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bakeoff.cli.amounts import duration, size
from bakeoff.cli.columns import say_columns
from bakeoff.errors import WorkspaceError
from bakeoff.progress import say
from bakeoff.runs.known import known_runs, named
from bakeoff.runs.status import State

if TYPE_CHECKING:
    from bakeoff.runs.leftovers import Leftover

HEAD = ("", "what", "state", "last heard of", "size", "named by", "")
NAMES_SHOWN = 3


def add_to(commands: Any) -> None:
    clean = commands.add_parser("clean", help="list old work in .bakeoff, and remove what is finished, after a yes")
    clean.add_argument(
        "which", nargs="*", metavar="RUN",
        help="these, whatever the rules say: the beginning of a fingerprint, a variant's name or an experiment's",
    )  # fmt: skip
    clean.add_argument("--keep", type=int, metavar="N", help="the N newest runs stay (1)")
    clean.add_argument("--older-than", metavar="AGE", help="only what was not heard of for so long: 30d, 12h, 2w")
    states = [state.value for state in State if not state.is_live]
    clean.add_argument(
        "--state", action="append", choices=states, metavar="STATE",
        help=f"only runs in this state, again for others: {', '.join(states)}; "
        "without it those that SUCCEEDED and those that have nothing to go on from",
    )  # fmt: skip
    clean.add_argument("--yes", action="store_true", help="remove without asking")
    clean.set_defaults(run=clean_up)


def clean_up(arguments: argparse.Namespace) -> None:
    found = _found(arguments)
    going = [leftover for leftover in found if leftover.stays is None]
    if not found:
        say("nothing is in .bakeoff/runs or .bakeoff/fetched")
        return
    say_columns([HEAD, *map(_row, found)])
    if not going:
        say("nothing to remove by these rules")
        return
    wanted = f"{len(going)} of {len(found)}, {size(sum(leftover.bytes for leftover in going))}"
    if not arguments.yes and not says_yes(f"remove {wanted}? (yes/no) "):
        say(f"nothing was removed; --yes removes {wanted}")
        return
    freed = 0
    for leftover in going:
        if leftover.remove():
            freed += leftover.bytes
        else:
            say(f"{_name(leftover)}: a process trains it right now, so it stays")
    say(f"freed {size(freed)}")


def _found(arguments: argparse.Namespace) -> list["Leftover"]:
    from bakeoff.runs.leftovers import Rules, named_by, old_runs, other_leftovers, seconds_of, these_runs

    runs, names = [run for run in known_runs() if not run.waits], named_by()
    if arguments.which:
        if arguments.keep is not None or arguments.older_than or arguments.state:
            raise WorkspaceError("clean: must be told either runs or rules, got both")
        chosen = {run.fingerprint: run for run in (named(which, runs) for which in arguments.which)}
        return these_runs(list(chosen.values()), runs, names)
    if arguments.keep is not None and arguments.keep < 0:
        raise WorkspaceError(f"--keep: must be 0 or more, got {arguments.keep}")
    age = seconds_of(arguments.older_than) if arguments.older_than else 0.0
    rules = Rules(
        keep=1 if arguments.keep is None else arguments.keep,
        older_than=age,
        states=tuple(State(state) for state in arguments.state or ()),
    )
    return [*old_runs(runs, rules, names), *([] if arguments.state else other_leftovers(age))]


def _row(leftover: "Leftover") -> tuple[str, ...]:
    state = leftover.run.state.value if leftover.run else ""
    heard = f"{duration(max(0, time.time() - leftover.updated))} ago"
    fate = f"stays: {leftover.stays}" if leftover.stays else "goes"
    return (_name(leftover), leftover.what, state, heard, size(leftover.bytes), _listed(leftover.named_by), fate)


def _name(leftover: "Leftover") -> str:
    return leftover.run.short if leftover.run else leftover.path.name[:24]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def says_yes(question: str) -> bool:
    if not _is_terminal():
        return False
    try:
        return input(question).strip().lower() == "yes"
    except EOFError:
        return False


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
