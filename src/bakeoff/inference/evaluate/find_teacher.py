"""`train.teacher` -> the run that it names, and its answers to the training examples.

A process of its own asks the network, so that nothing of it is left in the one that trains. The answers are kept by
what decided them, below `.bakeoff/answers`, and a copy of them is in models/train, which DVC keeps.
"""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from bakeoff.config.compose import whole_run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.foundation import workspace
from bakeoff.foundation.child_process import run_module
from bakeoff.foundation.errors import BakeoffError, ConfigError
from bakeoff.foundation.files import hash_file, link_or_copy, require_whole
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.result_code import deciding_digest
from bakeoff.inference.predict.select_model import Trained, find_run
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.pretrained.weight_source import BEST
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.learning.tasks.teacher import Teacher
from bakeoff.learning.training.ask_teacher import LABELS
from bakeoff.tracking.results.lineage import starts_of
from bakeoff.tracking.results.run_id import SHOWN_OF_ID

if TYPE_CHECKING:
    from bakeoff.learning.tasks.teacher_answers import TeacherAnswers

KEY = "train.teacher.run"
WORKER = "bakeoff.learning.training.ask_teacher"
SHOWN = 16  # characters of a digest that name a folder


@dataclass(frozen=True)
class FoundTeacher:
    called: str
    trained: Trained
    weights: str  # their digest
    settings: Teacher  # how it is listened to

    @classmethod
    def of(cls, run: LearningRun, manifest: Manifest) -> "FoundTeacher":
        """Find the run that a variant names, and refuse one that cannot know the classes."""
        teacher = run.train.teacher
        try:
            trained, called = find_run(teacher.run)
            require_whole(trained.weights, trained.digest)
        except BakeoffError as error:
            raise ConfigError(f"{KEY}: {error}") from None
        if trained.model.task != run.derived.task:
            raise ConfigError(f"{KEY}: must be for {run.derived.task}, got {called}, which is for {trained.model.task}")
        if run.derived.multi_label or trained.multi_label:
            raise ConfigError(f"{KEY}: must be none where an example may have several labels, got {called}")
        if missing := [label for label in manifest.classes if label not in trained.labels]:
            raise ConfigError(f"{KEY}: must know {missing[0]!r}, a class of the records, got {called}, which does not")
        return cls(called, trained, trained.digest or hash_file(trained.weights), teacher)

    def describe(self) -> dict[str, Any]:
        """Return what the lineage of the taught run says of it."""
        lineage = self.trained.lineage
        name = self.called if lineage.fingerprint is None else lineage.fingerprint[:SHOWN_OF_ID]
        starts = starts_of(TrainedState(lineage=lineage))
        own = {key: (lineage.own or {})[key] for key in ("data", "teacher") if key in (lineage.own or {})}
        return asdict(self.settings) | {"run": name, "weights": self.weights, "starts": starts} | own

    def answers(self, manifest: Manifest, records: Path) -> "TeacherAnswers":
        """Return what it answers to all training examples; it is asked once."""
        from bakeoff.learning.tasks.teacher_answers import TeacherAnswers

        code = deciding_digest("train")
        asked = f"{self.weights} {self.trained.model!r} {self.trained.labels} {manifest.digest} {code}"
        folder = workspace.answers() / hashlib.sha256(asked.encode()).hexdigest()[:SHOWN]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                print_line(f"train: the teacher {self.called} answers {manifest.splits['train'].examples:,} examples")
                self._ask(records, folder)
        return TeacherAnswers.read(folder)

    def _ask(self, records: Path, out: Path) -> None:
        assert self.trained.run
        with TemporaryDirectory() as place:
            path = Path(place) / workspace.RUN.name
            whole_run.write(self.trained.run, path)
            path.with_name(LABELS).write_text("\n".join(self.trained.labels), encoding="utf-8")
            link_or_copy(self.trained.weights, path.with_name(BEST))  # in DVC's cache a file has no name
            run_module(KEY, WORKER, place, str(records), str(out))
