"""`bakeoff queue`: variants and sweeps in line, first in, first out; whoever starts the queue runs them."""

import argparse
from typing import Any

from bakeoff import workspace
from bakeoff.cli import sweep
from bakeoff.cli.columns import say_columns
from bakeoff.cli.signals import end_as_by_ctrl_c, say_while_heard
from bakeoff.cli.sweep_search import add_options, require_search
from bakeoff.errors import WorkspaceError
from bakeoff.progress import say


def add_to(commands: Any) -> None:
    queue = commands.add_parser("queue", help="variants and sweeps in line, first in, first out")
    words = queue.add_subparsers(title="commands", metavar="COMMAND", required=True)

    add = words.add_parser("add", help="to the end of the line: a variant, or every combination of a few values")
    add.add_argument(
        "overrides", nargs="*", metavar="OVERRIDE", help="as for `bakeoff sweep`; without any, params.yaml as it is"
    )
    sweep.add_question_to(add)
    add.add_argument("--yes", action="store_true", help="add what takes more than an hour without asking")
    add_options(add)
    add.set_defaults(run=_add, jobs=1)

    start = words.add_parser("start", help="run what is in line, until the line is empty")
    sweep.add_rules_to(start)
    start.add_argument("--wait", action="store_true", help="for more, when the line is empty, until Ctrl-C")
    start.set_defaults(run=_start)

    shown = words.add_parser("list", help="what is in line")
    shown.set_defaults(run=_list)

    remove = words.add_parser("remove", help="out of the line; what runs of it comes to its end")
    remove.add_argument("which", nargs="*", metavar="ID", help="of sweeps in line")
    remove.add_argument("--all", action="store_true", help="the whole line")
    remove.set_defaults(run=_remove)


def _add(arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.points import require_none_of_hydra
    from bakeoff.sweep.queue import add_sweep

    require_none_of_hydra(sweep.question(arguments), "queue add")
    require_search(arguments)
    manifest = sweep.planned(arguments, sweep.question(arguments), arguments.until)
    if manifest is not None:
        place = add_sweep(manifest)
        say(f"{manifest.id}: {place} in the queue; `bakeoff queue start` runs it, and what stands before it")


def _start(arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.manifest import one_launcher
    from bakeoff.sweep.queue import QueueRun

    rules = sweep.rules(arguments, again=False, queued=True)
    end_as_by_ctrl_c()
    workspace.queue().mkdir(parents=True, exist_ok=True)
    with one_launcher(workspace.queue()):
        run = QueueRun(say_while_heard, rules, wait=arguments.wait)
        run.run()
    if not run.states:
        say("the queue is empty; `bakeoff queue add lr=cosine` adds to it")
    sweep.leave_by(run.states)


def _list(arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.manifest import load_manifest
    from bakeoff.sweep.queue import sweeps_in_line

    manifests = [load_manifest(workspace.sweeps() / sweep) for sweep in sweeps_in_line()]
    if manifests:
        rows = [
            (str(place), manifest.id, manifest.counts, " ".join(manifest.words) or "params.yaml")
            for place, manifest in enumerate(manifests, 1)
        ]
        say_columns([("", "sweep", "jobs", "question"), *rows])
    else:
        say("the queue is empty")


def _remove(arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.queue import find_in_line, remove_sweep, sweeps_in_line

    if bool(arguments.which) == arguments.all:
        raise WorkspaceError("queue remove: must be given either ids of sweeps or --all; `bakeoff queue list` has them")
    for sweep_id in sweeps_in_line() if arguments.all else [find_in_line(name) for name in arguments.which]:
        remove_sweep(sweep_id)
        say(f"{sweep_id}: is out of the queue; `bakeoff sweep --resume {sweep_id}` runs it by itself")
