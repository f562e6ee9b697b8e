"""`bakeoff gate`: may a change take the place of what is there? For a person, and for a pipeline that blocks it."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.gate.gate_verdict import GateVerdict

WORSE, UNDECIDED = 1, 3


@dataclass(frozen=True)
class GateCommand(Command):
    which: str = argument(f"{RUN}; default: the result in this workspace", "RUN", default=".")
    against: str | None = option("the run or git revision that it may replace (conf/gate.yaml, or main)", "RUN|REV")
    worse_by: float | None = option("the metric of the task may lose X (conf/gate.yaml, or 0.02)", "X", least=0, most=1)
    on: str | None = option("use the numbers of `bakeoff evaluate`: test, or OPTION_test for other data", "NAME")
    samples: int | None = option("number of bootstrap samples (2,000)", "N", least=100, most=100_000)
    json: bool = flag("print JSON, for scripts")
    md: Path | None = option("write a comment for a pull request, in Markdown", "FILE")
    picture: Path | None = option("draw the examples that got worse (.png or .jpg)", "FILE")
    picture_at: str | None = option("the address of this picture in the comment", "URL")
    junit: Path | None = option("write the rules as tests, in JUnit's XML", "FILE")
    uri: str | None = option("read this MLflow store")
    experiment: str | None = option("read this MLflow experiment", "NAME")

    def run(self) -> None:
        from bakeoff.experiments.compare.load_runs import gather
        from bakeoff.experiments.gate.gate_rules import change_rules, load_rules
        from bakeoff.experiments.gate.gate_text import describe_gate
        from bakeoff.experiments.gate.pass_gate import pass_gate

        if self.picture and self.picture.suffix.lower() not in (".png", ".jpg", ".jpeg"):
            raise WorkspaceError(f"--picture: must end in .png or .jpg, got {self.picture.name!r}")
        rules = change_rules(load_rules(), against=self.against, worse_by=self.worse_by, on=self.on)
        gathered = gather(self.uri, self.experiment)
        for remark in gathered.remarks:
            print(f"warning: {remark}", file=sys.stderr)
        verdict, matched = pass_gate(gathered, self.which, rules, self.samples)
        drawn = 0
        if self.picture:
            from bakeoff.experiments.gate.worse_examples import draw_worse

            drawn = draw_worse(matched, self.picture)
        self._write(verdict, has_picture=bool(drawn))
        if self.json:
            print(json.dumps(verdict.tree, indent=1, ensure_ascii=False))
        else:
            for line in describe_gate(verdict):
                print_line(line)
        _end(verdict, blocks=rules.undecided == "block")

    def _write(self, verdict: "GateVerdict", *, has_picture: bool) -> None:
        from bakeoff.experiments.gate.gate_text import format_comment, format_junit

        if self.md:
            address = (self.picture_at or self.picture.name) if has_picture and self.picture else None
            write_whole(self.md, "\n".join(format_comment(verdict, address)) + "\n")
        if self.junit:
            write_whole(self.junit, format_junit(verdict))


def _end(verdict: "GateVerdict", *, blocks: bool) -> None:
    from bakeoff.experiments.gate.gate_verdict import Outcome

    if verdict.outcome is Outcome.WORSE:
        sys.exit(WORSE)
    if verdict.outcome is Outcome.UNDECIDED and blocks:
        sys.exit(UNDECIDED)
