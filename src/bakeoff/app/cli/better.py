"""`bakeoff better A B`: whether B is better than A, or whether their examples do not show it."""

import json
import sys
from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class BetterCommand(Command):
    a: str = argument(RUN, "A")
    b: str = argument(RUN, "B")
    on: str | None = option("use the numbers of `bakeoff evaluate`: test, or OPTION_test for other data", "NAME")
    metric: str | None = option("judge by this metric (default: the metric of the task)", "NAME")
    group: str | None = option(
        "sample examples together whose names match in (brackets); default: evaluate.group", "PATTERN"
    )
    samples: int | None = option("number of bootstrap samples (2,000)", "N", least=100, most=100_000)
    json: bool = flag("print JSON, for scripts")
    uri: str | None = option("read this MLflow store")
    experiment: str | None = option("read this MLflow experiment", "NAME")

    def run(self) -> None:
        from bakeoff.experiments.compare.load_runs import gather
        from bakeoff.experiments.compare.verdict_text import describe_verdict, judge_named

        gathered = gather(self.uri, self.experiment)
        for remark in gathered.remarks:
            print(f"warning: {remark}", file=sys.stderr)
        verdict = judge_named(
            gathered, (self.a, self.b), self.on, metric=self.metric, group=self.group, samples=self.samples
        )
        if self.json:
            print(json.dumps(verdict.tree, indent=1, ensure_ascii=False))
            return
        for line in describe_verdict(verdict, self.on):
            print_line(line)
