"""`bakeoff sweep`: every combination of a few values, each a DVC experiment."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bakeoff import workspace
from bakeoff.cli.columns import say_columns
from bakeoff.errors import INTERRUPTED, WorkspaceError
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.sweep.launch import Rules
    from bakeoff.sweep.manifest import Manifest
    from bakeoff.sweep.preflight import Job

SOME_FAILED = 1
FILES_SHOWN = 5


def add_to(commands: Any) -> None:
    sweep = commands.add_parser("sweep", help="run every combination of a few values, each as a DVC experiment")
    sweep.add_argument(
        "overrides",
        nargs="*",
        metavar="OVERRIDE",
        help="changes in Hydra's words, some with several values: lr=cosine,exponential 'seed=range(0,3)' "
        "'model=glob(ssd*)' +lr.warmup_steps=0",
    )
    sweep.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")
    sweep.add_argument("--until", metavar="STAGE", help="run this stage and those that it needs, such as render_config")
    sweep.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="so many side by side, if memory allows")
    sweep.add_argument("--follow", action="store_true", help="show the jobs' own words, also of several side by side")
    sweep.add_argument("--quiet", action="store_true", help="leave the jobs' own words to their logs")
    sweep.add_argument("--fail-fast", action="store_true", help="begin no other job once one has failed")
    sweep.add_argument(
        "--retries", type=int, default=0, metavar="N",
        help="try a job again if it was killed, or had too little memory or disk",
    )  # fmt: skip
    sweep.add_argument(
        "--resume", nargs="?", const="", metavar="ID", help="go on with the last sweep, or this one: what is not done"
    )
    changed = sweep.add_mutually_exclusive_group()
    changed.add_argument(
        "--as-begun", action="store_true", help="resume with the code and values that it began with, whatever changed"
    )
    changed.add_argument("--anew", action="store_true", help="if they changed, begin a new sweep of its words")
    sweep.set_defaults(run=run_sweep)


def run_sweep(arguments: argparse.Namespace) -> None:
    for option, number, least in (("--jobs", arguments.jobs, 1), ("--retries", arguments.retries, 0)):
        if number < least:
            raise WorkspaceError(f"{option}: must be {least} or more, got {number}")
    if arguments.resume is not None:
        _resume(arguments)
    elif arguments.overrides:
        _begin(arguments, arguments.overrides, arguments.until)
    else:
        raise WorkspaceError("sweep: must be told what varies, such as lr=cosine,exponential, or --resume")


def _begin(arguments: argparse.Namespace, words: Sequence[str], until: str | None) -> None:
    from bakeoff.sweep.planned import begin
    from bakeoff.sweep.points import points_of
    from bakeoff.sweep.preflight import preflight

    points = points_of(words, workspace.CONF)
    jobs = preflight(points, until=until)
    _show_jobs(jobs, len(points))
    if not arguments.dry_run:
        _launch(begin(jobs, words, until), _rules(arguments))


def _resume(arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.launch import unfinished
    from bakeoff.sweep.manifest import named
    from bakeoff.sweep.snapshot import changed_since

    if arguments.overrides or arguments.until:
        raise WorkspaceError("--resume: must stand without overrides and --until, for the sweep has its own")
    manifest = named(arguments.resume or None)
    left = unfinished(manifest.jobs)
    say(f"{manifest.id}: {len(manifest.jobs) - len(left)} of {len(manifest.jobs)} jobs are done")
    changed = changed_since(manifest.snapshot) if left else []
    if changed and arguments.anew:
        say(f"{_listed(changed)} changed since, so it begins anew")
        _begin(arguments, manifest.words, manifest.until)
        return
    if changed and not arguments.as_begun:
        raise WorkspaceError(
            f"{manifest.id}: {_listed(changed)} changed since it began; --as-begun goes on with what they were, "
            "--anew begins a new sweep of the same words"
        )
    if left and not arguments.dry_run:
        _launch(manifest, _rules(arguments))


def _rules(arguments: argparse.Namespace) -> "Rules":
    from bakeoff.sweep.launch import Rules

    follow = arguments.follow or (arguments.jobs == 1 and not arguments.quiet)
    return Rules(arguments.jobs, follow, arguments.fail_fast, arguments.retries)


def _launch(manifest: "Manifest", rules: "Rules") -> None:
    from bakeoff.sweep.launch import Launch
    from bakeoff.sweep.manifest import JobState, one_launcher, read
    from bakeoff.sweep.parent_run import ParentRun

    for name in ("SIGTERM", "SIGHUP"):  # end the jobs, too, as Ctrl-C does; Windows has not both, nohup ignores one
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    with one_launcher(manifest.folder):
        manifest = read(manifest.folder)  # another may have launched it until now
        say(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        parent = ParentRun.of(manifest.track)
        parent.began(manifest)
        try:
            manifest = Launch(manifest, say, rules).run()
        finally:
            parent.ended(read(manifest.folder))
    _show_results(manifest)
    states = {job.state for job in manifest.jobs}
    if states - {JobState.DONE}:
        say(f"`bakeoff sweep --resume {manifest.id}` goes on with what is not done")
    if states - {JobState.DONE, JobState.FAILED}:
        sys.exit(INTERRUPTED)
    if JobState.FAILED in states:
        sys.exit(SOME_FAILED)


def _show_jobs(jobs: Sequence["Job"], points: int) -> None:
    rows = [("", "point", "variant", "steps", "stages")]
    for job in jobs:
        stages = ", ".join(f"{stage} {outcome}" for stage, outcome in job.stages.items())
        rows.append((str(job.number), job.points[0].name, job.run.name, f"{job.derived.steps:,}", stages))
        rows += [("", point.name, f"the same variant as {job.number}", "", "") for point in job.points[1:]]
    say_columns(rows)
    for warning in dict.fromkeys(warning for job in jobs for warning in job.warnings):
        say(f"warning: {warning}")
    merged = f" of {points} points" if len(jobs) != points else ""
    say(f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'}{merged}")


def _show_results(manifest: "Manifest") -> None:
    rows = [("point", "experiment", "metric", "state")]
    for job in manifest.jobs:
        metric = "-" if job.value is None else f"{job.headline} {job.value:.3f}"
        rows.append((job.name, job.experiment, metric, job.state.value))
    say_columns(rows)
    say(
        "`dvc exp show` has all of them, `bakeoff config NAME` what differs from the workspace, "
        "`dvc exp apply NAME` takes one into it"
    )


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - FILES_SHOWN} more" if len(files) > FILES_SHOWN else ""
    return ", ".join(files[:FILES_SHOWN]) + more
