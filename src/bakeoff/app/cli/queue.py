"""`bakeoff queue`: variants and sweeps in line, first in, first out; whoever starts the queue runs them."""

import argparse
from typing import Any

from bakeoff.app.cli import sweep, sweep_commands
from bakeoff.app.cli.backend_option import place_at, require_place
from bakeoff.app.cli.sweep_plan import add_search_options, require_search
from bakeoff.app.cli.terminal import end_as_by_ctrl_c, print_columns, print_while_heard
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.progress import print_line


def add_to(commands: Any) -> None:
    queue = commands.add_parser("queue")
    commands = queue.add_commands()

    add = commands.add_parser("add", help="queue a variant, or every combination of a few values")
    add.add_argument(
        "overrides",
        nargs="*",
        metavar="OVERRIDE",
        help="overrides, as for `bakeoff sweep`; without any, params.yaml as it is",
    )
    sweep.add_question_options(add)
    add.add_argument("--yes", action="store_true", help="queue without asking, even if it takes more than an hour")
    add_search_options(add)
    add.set_defaults(run=_add, jobs=None)

    start = commands.add_parser("start", help="run what is queued, until the queue is empty")
    sweep.add_rule_options(start)
    start.add_argument("--wait", action="store_true", help="when the queue is empty, wait for more until Ctrl-C")
    start.set_defaults(run=_start)

    commands.add_parser("list", help="show the queue").set_defaults(run=_list)

    remove = commands.add_parser("remove", help="remove from the queue; jobs that run end as usual")
    remove.add_argument("which", nargs="*", metavar="ID", help="sweeps of the queue")
    remove.add_argument("--all", action="store_true", help="remove all")
    remove.set_defaults(run=_remove)


def _add(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.configurations import SplitOverrides
    from bakeoff.experiments.sweep.sweep_queue import add_sweep
    from bakeoff.experiments.sweep.team_quota import lock_minutes, require_minutes_to_resume

    overrides = sweep.read_question(arguments)
    if own := " ".join(SplitOverrides.split(overrides).hydra):
        raise ConfigError(f"queue add: must stand without overrides of Hydra's own, got {own}; leave them out")
    require_search(arguments)
    manifest = sweep.plan_sweep(arguments, overrides)
    if manifest is not None:
        with lock_minutes():  # others may have added theirs meanwhile
            require_minutes_to_resume(manifest)
            place = add_sweep(manifest)
        print_line(f"{manifest.id}: {place} in the queue; `bakeoff queue start` runs it, and what stands before it")


def _start(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.sweep_manifest import one_launcher
    from bakeoff.experiments.sweep.sweep_queue import QueueRun

    rules = sweep.read_rules(arguments, again=False, queued=True)
    require_place(arguments.on)
    end_as_by_ctrl_c()
    workspace.queue().mkdir(parents=True, exist_ok=True)
    with one_launcher(workspace.queue()), place_at(arguments.on) as place:
        (run := QueueRun(print_while_heard, rules, wait=arguments.wait, place=place)).run()
    if not run.states:
        print_line("the queue is empty; `bakeoff queue add lr=cosine` adds to it")
    sweep_commands.leave_by(run.states)


def _list(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.sweep_manifest import load_manifest
    from bakeoff.experiments.sweep.sweep_queue import list_queued_sweeps

    rows = [("", "sweep", "jobs", "question")]
    for place, sweep_id in enumerate(list_queued_sweeps(), 1):
        manifest = load_manifest(workspace.sweeps() / sweep_id)
        rows.append((str(place), manifest.id, manifest.counts, " ".join(manifest.overrides) or "params.yaml"))
    if len(rows) == 1:
        print_line("the queue is empty")
    else:
        print_columns(rows)


def _remove(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.sweep_queue import find_queued_sweep, list_queued_sweeps, remove_sweep

    if bool(arguments.which) == arguments.all:
        raise WorkspaceError("queue remove: must be given either ids of sweeps or --all; `bakeoff queue list` has them")
    for sweep_id in list_queued_sweeps() if arguments.all else [find_queued_sweep(name) for name in arguments.which]:
        remove_sweep(sweep_id)
        print_line(f"{sweep_id}: is out of the queue; `bakeoff sweep --resume {sweep_id}` runs it by itself")
