"""Which run a training is, and what it starts from."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.foundation import workspace
from bakeoff.foundation.progress import print_line
from bakeoff.learning.checkpoints.continue_from import Parent, parent_of, taken_up, write_identity
from bakeoff.learning.checkpoints.fingerprint import identity, name_of
from bakeoff.learning.checkpoints.run_folder import RunFolder, SavedState, find_threads
from bakeoff.learning.plan.phases import plan_phases
from bakeoff.learning.pretrained.weight_source import WeightSource, origin_of
from bakeoff.learning.run_file.settings import LearningRun, learning_tree


@dataclass(frozen=True)
class RunStart:
    identity: dict[str, Any]  # what the fingerprint is a hash of
    fingerprint: str
    origin: WeightSource  # of the first weights
    parent: Parent | None  # the run that this one continues

    @classmethod
    def of(
        cls, run: LearningRun, manifest: Manifest, devices: int, fetch: Callable[[str], Path],
        own_id: Callable[[str], str | None], teacher: str | None = None,
    ) -> "RunStart":  # fmt: skip
        """`fetch` gives the weights of an MLflow run as a file, `own_id` our id of it; `teacher` is a digest."""
        origin = origin_of(run.train.init, fetch)
        parent = parent_of(run.train, workspace.runs(), own_id)
        others = {"records": manifest.digest, "first_weights": origin.digest, "devices": str(devices)}
        others |= {"teacher": teacher} if teacher else {}
        itself = identity(learning_tree(run), **others, parent=parent.digest if parent else "none")
        return cls(itself, name_of(itself), origin, parent)

    @property
    def folder(self) -> Path:
        return workspace.in_flight(self.fingerprint)

    def open_folder(self, run: LearningRun) -> RunFolder:
        phases = [phase.span.name for phase in plan_phases(run)]
        is_experiment = workspace.DVC_EXPERIMENT in os.environ  # nobody could wait for it
        return RunFolder(
            self.folder, phases, fresh=run.train.fresh, keep_every=run.train.keep_every_steps, waits=is_experiment
        )

    @property
    def parent_fingerprint(self) -> str | None:
        return self.parent.fingerprint if self.parent else None

    def find_threads(self, run: LearningRun) -> int | None:
        """Return with how many threads in one operation it began, or the run that it continues; None if nobody knows,
        or if the variant says it.
        """
        before = [self.folder, *([self.parent.folder] if self.parent else [])]
        return next(filter(None, map(find_threads, before)), None) if run.train.threads == "auto" else None

    def take_up(self, run: LearningRun, work: RunFolder, remarks: Sequence[str]) -> SavedState:
        """Find where the run resumes, and print it after the remarks."""
        write_identity(self.identity, self.folder)
        ends = [phase.span.end_step for phase in plan_phases(run)]
        saved, more = taken_up(self.parent, work, run.train, self.identity, ends)
        for line in [*remarks, *more, *saved.describe(run.derived.steps, work.folder)]:
            print_line(f"train: {line}")
        return saved
