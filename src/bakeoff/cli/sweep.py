"""`bakeoff sweep`: every combination of a few values, each a DVC experiment."""

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bakeoff import workspace
from bakeoff.cli.columns import say_columns
from bakeoff.errors import INTERRUPTED
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.sweep.launch import Result
    from bakeoff.sweep.preflight import Job

SOME_FAILED = 1


def add_to(commands: Any) -> None:
    sweep = commands.add_parser("sweep", help="run every combination of a few values, each as a DVC experiment")
    sweep.add_argument(
        "overrides",
        nargs="+",
        metavar="OVERRIDE",
        help="changes in Hydra's words, some with several values: lr=cosine,exponential 'seed=range(0,3)' "
        "'model=glob(ssd*)' +lr.warmup_steps=0",
    )
    sweep.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")
    sweep.add_argument("--until", metavar="STAGE", help="run this stage and those that it needs, such as render_config")
    sweep.add_argument("--quiet", action="store_true", help="leave the jobs' own words to their logs")
    sweep.set_defaults(run=run_sweep)


def run_sweep(arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.launch import DONE, FAILED, launch
    from bakeoff.sweep.points import points_of
    from bakeoff.sweep.preflight import preflight

    points = points_of(arguments.overrides, workspace.CONF)
    jobs = preflight(points, until=arguments.until)
    _show_jobs(jobs, len(points))
    if arguments.dry_run:
        return
    for name in ("SIGTERM", "SIGHUP"):  # end the job, too, as Ctrl-C does; Windows has not both, nohup ignores one
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    results = launch(jobs, say, until=arguments.until, quiet=arguments.quiet)
    _show_results(results)
    states = {result.state for result in results}
    if states - {DONE, FAILED}:
        sys.exit(INTERRUPTED)
    if FAILED in states:
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


def _show_results(results: Sequence["Result"]) -> None:
    rows = [("point", "experiment", "metric", "state")]
    for result in results:
        name, value = result.metric or ("", None)
        metric = "-" if value is None else f"{name} {value:.3f}"
        rows.append((result.job.points[0].name, result.experiment, metric, result.state))
    say_columns(rows)
    say(
        "`dvc exp show` has all of them, `bakeoff config NAME` what differs from the workspace, "
        "`dvc exp apply NAME` takes one into it"
    )
