"""`bakeoff sweep`: every combination of a few values, each a DVC experiment."""

import argparse
import os
import re
import sys
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff import workspace
from bakeoff.cli.amounts import duration
from bakeoff.cli.clean import says_yes
from bakeoff.cli.signals import end_as_by_ctrl_c, say_while_heard
from bakeoff.cli.sweep_hydra import ByHydra, require_sense
from bakeoff.cli.sweep_search import Asked, add_options, ask_again, require_search, say_how_it_ended
from bakeoff.cli.sweep_table import show_jobs, show_results, show_sum
from bakeoff.errors import INTERRUPTED, WorkspaceError
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.sweep.launch import Rules
    from bakeoff.sweep.manifest import JobState, Manifest

SOME_FAILED = 1
WORD = re.compile(r"[a-z]+")  # a change has a = or a ~
SECONDS_UNASKED = 3600.0


def add_to(commands: Any) -> None:
    sweep = commands.add_parser("sweep", help="run every combination of a few values, each as a DVC experiment")
    sweep.add_argument(
        "overrides",
        nargs="*",
        metavar="OVERRIDE",
        help="changes in Hydra's words, some with several values: lr=cosine,exponential 'seed=range(0,3)' "
        "'model=glob(ssd*)' +lr.warmup_steps=0; or list, show [ID], best [ID], prune [ID] for sweeps that have begun",
    )
    add_question_to(sweep)
    add_rules_to(sweep)
    sweep.add_argument(
        "--resume", nargs="?", const="", metavar="ID", help="go on with the last sweep, or this one: what is not done"
    )
    sweep.add_argument("--apply", action="store_true", help="with best: take it into the workspace")
    sweep.add_argument(
        "--keep", type=int, default=1, metavar="N", help="with prune: checkpoints of the N best points stay (1)"
    )
    sweep.add_argument(
        "--yes", action="store_true", help="begin what takes more than an hour, or remove, without asking"
    )
    changed = sweep.add_mutually_exclusive_group()
    changed.add_argument(
        "--as-begun", action="store_true", help="resume with the code and values that it began with, whatever changed"
    )
    changed.add_argument("--anew", action="store_true", help="if they changed, begin a new sweep of its words")
    add_options(sweep)
    sweep.set_defaults(run=run_sweep)


def add_question_to(command: argparse.ArgumentParser) -> None:
    """What is to be run."""
    command.add_argument(
        "--from", dest="file", metavar="FILE", help="more changes, from a file such as conf/sweep/rates.yaml"
    )
    command.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")
    command.add_argument(
        "--until", metavar="STAGE", help="run this stage and those that it needs, such as render_config"
    )


def add_rules_to(command: argparse.ArgumentParser) -> None:
    """How it is run."""
    command.add_argument(
        "-j", "--jobs", type=int, default=1, metavar="N", help="so many side by side, if memory allows"
    )
    command.add_argument("--follow", action="store_true", help="show the jobs' own words, also of several side by side")
    command.add_argument("--quiet", action="store_true", help="leave the jobs' own words to their logs")
    command.add_argument("--fail-fast", action="store_true", help="begin no other job of a sweep once one has failed")
    command.add_argument(
        "--retries", type=int, default=0, metavar="N",
        help="try a job again if it was killed, or had too little memory or disk",
    )  # fmt: skip


def run_sweep(arguments: argparse.Namespace) -> None:
    rules(arguments)  # before anything else is read
    require_search(arguments)
    if arguments.resume is not None:
        _resume(arguments)
    elif arguments.overrides and WORD.fullmatch(arguments.overrides[0]):
        from bakeoff.cli import sweeps

        sweeps.run_word(arguments.overrides[0], arguments.overrides[1:], arguments)
    elif arguments.overrides or arguments.file:
        _begin(arguments, question(arguments), arguments.until)
    else:
        raise WorkspaceError("sweep: must be told what varies, such as lr=cosine,exponential, or --resume")


def question(arguments: argparse.Namespace) -> list[str]:
    """The words of the file and those behind it."""
    from bakeoff.sweep.points import load_words

    words = load_words(Path(arguments.file)) if arguments.file else []
    return [*words, *arguments.overrides]


def planned(arguments: argparse.Namespace, words: Sequence[str], until: str | None) -> "Manifest | None":
    """Shown, confirmed and written down; None if no more than that is wanted."""
    from bakeoff.planning.estimate import together
    from bakeoff.sweep.points import Words, points_of
    from bakeoff.sweep.preflight import begin, preflight

    variants = Words.split(words).variants
    asked = Asked(arguments, words, until) if arguments.search is not None else None
    if asked is not None:
        jobs, estimates = asked.corners, asked.estimates()
        asked.show()
    else:
        points = points_of(variants, workspace.CONF, sure=arguments.yes)
        jobs = preflight(points, until=until)
        estimates = [job.estimate for job in jobs]
        show_jobs(jobs, len(points))
    at_a_time = min(arguments.jobs, len(estimates))
    sum_of_all = together(estimates, at_a_time)
    show_sum(sum_of_all, at_a_time)
    if arguments.dry_run:
        if asked is not None:
            asked.show_first()
        return None
    if sum_of_all.seconds > SECONDS_UNASKED and not arguments.yes:
        about = duration(sum_of_all.seconds)
        if not says_yes(f"begin what takes about {about}? (yes/no) "):
            raise WorkspaceError(f"sweep: takes about {about}, so it must be confirmed; --yes begins it")
    return begin(jobs, words, until, asked.search if asked else None)


def _begin(arguments: argparse.Namespace, words: Sequence[str], until: str | None) -> None:
    from bakeoff.sweep.points import Words

    said = Words.split(words)
    if require_sense(arguments, said):
        _end(ByHydra(arguments, said, until, rules(arguments)).run())
    elif (manifest := planned(arguments, words, until)) is not None:
        _launch(manifest, rules(arguments))


def _resume(arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.manifest import find_manifest
    from bakeoff.sweep.points import Words
    from bakeoff.sweep.snapshot import changed_since, format_files

    if arguments.overrides or arguments.file or arguments.until or arguments.search is not None:
        raise WorkspaceError("--resume: must stand without changes, --until and --search, for the sweep has its own")
    manifest = find_manifest(arguments.resume or None)
    left = manifest.unfinished
    say(f"{manifest.id}: {manifest.expected - left} of {manifest.expected} jobs are done")
    changed = changed_since(manifest.snapshot) if left else []
    if changed and arguments.anew:
        say(f"{format_files(changed)} changed since, so it begins anew")
        ask_again(arguments, manifest.search)
        _begin(arguments, manifest.words, manifest.until)
        return
    if changed and not arguments.as_begun:
        raise WorkspaceError(
            f"{manifest.id}: {format_files(changed)} changed since it began; --as-begun goes on with what they were, "
            "--anew begins a new sweep of the same words"
        )
    words = Words.split(manifest.words)
    if arguments.dry_run:
        return
    if require_sense(arguments, words):
        _end(ByHydra(arguments, words, manifest.until, rules(arguments), manifest).run())
    elif left:
        _launch(manifest, rules(arguments))


def rules(arguments: argparse.Namespace, **more: bool) -> "Rules":
    from bakeoff.sweep.launch import Rules

    for option, number, least in (("--jobs", arguments.jobs, 1), ("--retries", arguments.retries, 0)):
        if number < least:
            raise WorkspaceError(f"{option}: must be {least} or more, got {number}")
    follow = arguments.follow or (arguments.jobs == 1 and not arguments.quiet)
    return Rules(arguments.jobs, follow, arguments.fail_fast, arguments.retries, **more)


def _launch(manifest: "Manifest", rules: "Rules") -> None:
    from bakeoff.sweep.launch import launch_of
    from bakeoff.sweep.manifest import load_manifest, one_launcher
    from bakeoff.sweep.parent_run import tell_mlflow

    end_as_by_ctrl_c()
    with one_launcher(manifest.folder):
        manifest = load_manifest(manifest.folder)  # another may have launched it until now
        say(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        with tell_mlflow(manifest):
            manifest = launch_of(manifest, say_while_heard, rules).run()
    _end(manifest)


def _end(manifest: "Manifest | None") -> None:
    if manifest is None:
        return
    show_results(manifest)
    say_how_it_ended(manifest)
    states = manifest.states
    if any(not state.is_final for state in states):
        say(f"`bakeoff sweep --resume {manifest.id}` goes on with what is not done")
    leave_by(states)


def leave_by(states: Set["JobState"]) -> None:
    """With the exit code that says how the jobs are."""
    from bakeoff.sweep.manifest import JobState

    left = {state for state in states if not state.is_final}
    if left - {JobState.FAILED}:
        sys.exit(INTERRUPTED)
    if left or JobState.REFUSED in states:
        sys.exit(SOME_FAILED)
