"""`bakeoff reproduce`: a run once more, from its commit, in a workspace of its own, and whether the same came out."""

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN, end_as_by_ctrl_c

if TYPE_CHECKING:
    from bakeoff.experiments.reproduce.rerun import Reproduction

DIFFERS = 1
JSON_VERSION = 1
STAGES = ("build_records", "render_config", "train", "evaluate")


@dataclass(frozen=True)
class ReproduceCommand(Command):
    which: str = argument(RUN, "RUN")
    until: str = option("stop after this stage", "STAGE", default=STAGES[-1], choices=STAGES)
    tolerance: float | None = option("metrics may differ by X (default: by the run's own intervals)", "X", least=0)
    install: bool = flag("install the bakeoff that made the run, if it is another, from the address in the run's tags")
    keep: bool = flag("keep the workspace in .bakeoff/reproduce")
    track: bool = flag("report it to MLflow as a run of its own")
    json: bool = flag("print the verdict as JSON; everything else goes to standard error")

    def run(self) -> None:
        from bakeoff.experiments.reproduce import rerun
        from bakeoff.experiments.reproduce.recorded import recorded
        from bakeoff.experiments.reproduce.reproduction_verdict import MatchLevel
        from bakeoff.tracking.restored_results import reconcile

        out = sys.stderr if self.json else sys.stdout

        def print_line(line: str) -> None:
            print(line, file=out, flush=True)

        end_as_by_ctrl_c()
        reconcile()
        attempt = rerun.Reproduction(recorded(self.which))
        print_line(f"{attempt.recorded.called}: {attempt.recorded.variant}, run {attempt.recorded.run_id or 'unknown'}")
        for remark in attempt.recorded.remarks:
            print_line(f"note: {remark}")
        try:
            wishes = rerun.Wishes(self.until, self.tolerance, self.keep, self.install)
            rerun.make_again(attempt, print_line, wishes)
        except rerun.CannotBeTried as error:
            if self.json:
                print(_as_json(attempt, str(error)))
            raise
        verdict = attempt.verdict
        print_line(f"verdict: {verdict.outcome}{f' at {verdict.stage}' if verdict.stage else ''}: {verdict.text}")
        if attempt.kept:
            print_line(f"workspace: {attempt.kept} stays; remove it when you are done")
        if rerun.tag_verdict(attempt):
            print_line("the run has the verdict as the tag bakeoff.reproduced")
        if self.track and (run_id := rerun.report_as_run(attempt)):
            print_line(f"MLflow gets it as run {run_id}, with the tag bakeoff.reproduction_of")
        if self.json:
            print(_as_json(attempt, None))
        if verdict.outcome == MatchLevel.DIFFERS:
            sys.exit(DIFFERS)


def _as_json(attempt: "Reproduction", why_not: str | None) -> str:
    verdict = None if why_not else attempt.verdict
    tree = {
        "version": JSON_VERSION,
        "run": attempt.recorded.run_id,
        "commit": attempt.recorded.commit,
        "verdict": verdict.outcome.value if verdict else "not tried",
        "stage": verdict.stage if verdict else None,
        "because": verdict.text if verdict else why_not,
        "missing": [{"said": lack.text, "fatal": lack.is_fatal} for lack in attempt.lacks],
        "stages": [
            {"stage": one.stage, "same": one.same, "said": one.text, "seconds": round(attempt.seconds[one.stage])}
            for one in attempt.compared
        ],
        "workspace": str(attempt.kept) if attempt.kept else None,
    }
    return json.dumps(tree, indent=1)
