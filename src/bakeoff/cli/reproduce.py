"""`bakeoff reproduce`: a run once more, from its commit, in a workspace of its own, and whether the same came out."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from bakeoff.cli.terminal import RUN, end_as_by_ctrl_c
from bakeoff.errors import WorkspaceError

if TYPE_CHECKING:
    from bakeoff.reproduce.again import Attempt

DIFFERS = 1
JSON_VERSION = 1
STAGES = ("build_records", "render_config", "train", "evaluate")


def add_to(commands: Any) -> None:
    reproduce = commands.add_parser("reproduce")
    add = reproduce.add_argument
    add("which", metavar="RUN", help=RUN)
    add("--until", choices=STAGES, default=STAGES[-1], metavar="STAGE", help="stop after this stage")
    add("--tolerance", type=float, metavar="X", help="metrics may differ by X (default: by the run's own intervals)")
    add("--keep", action="store_true", help="keep the workspace in .bakeoff/reproduce")
    add("--track", action="store_true", help="report it to MLflow as a run of its own")
    add("--json", action="store_true", help="print the verdict as JSON; everything else goes to standard error")
    reproduce.set_defaults(run=make_again)


def make_again(arguments: argparse.Namespace) -> None:
    from bakeoff.reproduce import again
    from bakeoff.reproduce.recorded import recorded
    from bakeoff.reproduce.verdict import Outcome
    from bakeoff.tracking.reconcile import reconcile

    if arguments.tolerance is not None and not arguments.tolerance >= 0:
        raise WorkspaceError(f"--tolerance: must be 0 or more, got {arguments.tolerance}")
    out = sys.stderr if arguments.json else sys.stdout

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    end_as_by_ctrl_c()
    reconcile()
    attempt = again.Attempt(recorded(arguments.which))
    say(f"{attempt.recorded.called}: {attempt.recorded.variant}, run {attempt.recorded.run_id or 'unknown'}")
    for remark in attempt.recorded.remarks:
        say(f"note: {remark}")
    try:
        again.make_again(attempt, say, until=arguments.until, tolerance=arguments.tolerance, keep=arguments.keep)
    except again.CannotBeTried as error:
        if arguments.json:
            print(_as_json(attempt, str(error)))
        raise
    found = attempt.verdict
    say(f"verdict: {found.outcome}{f' at {found.stage}' if found.stage else ''}: {found.said}")
    if attempt.kept:
        say(f"workspace: {attempt.kept} stays; remove it when you are done")
    if again.print_verdict(attempt):
        say("the run has the verdict as the tag bakeoff.reproduced")
    if arguments.track and (run_id := again.report_as_run(attempt)):
        say(f"MLflow gets it as run {run_id}, with the tag bakeoff.reproduction_of")
    if arguments.json:
        print(_as_json(attempt, None))
    if found.outcome == Outcome.DIFFERS:
        sys.exit(DIFFERS)


def _as_json(attempt: "Attempt", why_not: str | None) -> str:
    found = None if why_not else attempt.verdict
    tree = {
        "version": JSON_VERSION,
        "run": attempt.recorded.run_id,
        "commit": attempt.recorded.commit,
        "verdict": found.outcome.value if found else "not tried",
        "stage": found.stage if found else None,
        "because": found.said if found else why_not,
        "missing": [{"said": lack.said, "fatal": lack.is_fatal} for lack in attempt.lacks],
        "stages": [
            {"stage": one.stage, "same": one.same, "said": one.said, "seconds": round(attempt.seconds[one.stage])}
            for one in attempt.compared
        ],
        "workspace": str(attempt.kept) if attempt.kept else None,
    }
    return json.dumps(tree, indent=1)
