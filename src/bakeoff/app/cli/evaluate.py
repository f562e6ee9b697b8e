"""`bakeoff evaluate`: runs and files of models, judged on any split of any data."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation.errors import WorkspaceError, choices
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.tf_loading import load_tensorflow

if TYPE_CHECKING:
    from bakeoff.inference.evaluate.model_evaluation import EvaluationResult

SPLITS = ("train", "validation", "test")  # as the records have them, whose file takes long to load
TEST = SPLITS[-1]


@dataclass(frozen=True)
class EvaluateCommand(Command):
    which: tuple[str, ...] = argument(
        f"{RUN}; or weights, a SavedModel, a .tflite or .onnx; default: what this workspace trained", "RUN"
    )
    split: str = option(f"split: one of {', '.join(SPLITS)} ({TEST})", "SPLIT", default=TEST)
    data: str | None = option(
        "an option of conf/data/ instead of data/records; its records are kept separately", "OPTION"
    )
    allow_overlap: bool = flag("also evaluate on examples that the model has seen in training")

    def run(self) -> None:
        if self.split not in SPLITS:
            raise WorkspaceError(f"--split: must be a split, got {self.split!r}; {choices(self.split, SPLITS)}")
        from bakeoff.inference.evaluate.models import find_candidates

        candidates = find_candidates(list(self.which))
        load_tensorflow()
        from bakeoff.inference.evaluate.model_evaluation import judge_candidate

        for candidate in candidates:
            show_verdict(judge_candidate(candidate, self.data, self.split, allow_overlap=self.allow_overlap))


def show_verdict(verdict: "EvaluationResult") -> None:
    from bakeoff.evaluation.evaluation_report import summarize_metrics
    from bakeoff.inference.evaluate.split_usage import describe_uses

    material, name = verdict.material, verdict.candidate.name
    count = f"{material.split.examples:,} {material.name} examples of {material.where}"
    print_line(f"evaluate: {name}, {count}: {summarize_metrics(verdict.metrics)}")
    if not material.is_seen:
        print_line(f"  this split was {describe_uses(verdict.uses)}")
        if not verdict.is_known:
            unknown = (
                "the records that it, or a run that it started from, was trained on are not here, so nobody knows "
                "whether it saw these examples"
            )
            print(f"warning: {name}: {unknown}", file=sys.stderr)
        if verdict.overlap and verdict.overlap.examples:
            print(f"warning: {verdict.overlap.examples:,} of the examples were seen in training", file=sys.stderr)
    where = (
        f"evaluation_{material.title}/ of the run in MLflow"
        if verdict.is_tracked
        else "not in MLflow, which has no such run"
    )
    print_line(f"  report.html, metrics.json and examples.parquet: {verdict.folder.as_posix()}/ ({where})")
