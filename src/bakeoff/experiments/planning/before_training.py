"""What a training is set up with on this machine: its status, its workers, its devices, its first weights."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.config.track_settings import Track
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.experiments.planning.require_resources import require_gpu_room_for
from bakeoff.experiments.planning.time_estimate import step_seconds
from bakeoff.experiments.runs.device import count_devices, keep_device, print_device
from bakeoff.experiments.runs.memory_use import BUILT, MemoryUse, explain_shortage
from bakeoff.experiments.runs.status_writer import StatusReport, Stretch
from bakeoff.experiments.runs.worker_processes import crew_of
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.learning.training.start import RunStart
from bakeoff.learning.training.workers import WorkerAddress, WorkerGroup
from bakeoff.tracking.store.fetch_artifacts import fetch_weights
from bakeoff.tracking.store.target import own_id

if TYPE_CHECKING:
    from bakeoff.learning.tasks.teacher_answers import TeacherAnswers
    from bakeoff.learning.training.setup import Setup


def find_start(run: LearningRun, manifest: Manifest, track: Track, teacher: str | None) -> RunStart:
    """Return which run a training of this variant is here; `teacher` is the digest of its teacher, if it has one."""
    return RunStart.of(run, manifest, count_devices(run), lambda run_id: fetch_weights(track, run_id), own_id, teacher)


def open_status(run: LearningRun, start: RunStart, work: RunFolder) -> StatusReport:
    """Return the report of a run whose folder this process holds."""
    seconds = step_seconds(run)
    status = StatusReport(
        start.folder, run.name, run.derived.steps, memory_estimate_bytes=run.derived.memory_estimate_bytes,
        can_resume=work.can_resume, parent=start.parent_fingerprint, max_minutes=run.train.max_minutes,
        stretches=[Stretch(span.end_step, seconds[span.name]) for span in run.derived.phases],
    )  # fmt: skip
    status.known_as(work.run_id)
    return status


def build_setup(
    run: LearningRun, manifest: Manifest, records: Path, start: RunStart, place: WorkerAddress | None,
    answers: "TeacherAnswers | None" = None,
) -> tuple["Setup", WorkerGroup, MemoryUse, dict[str, Any]]:  # fmt: skip
    """Build the network with its first weights, and find the other workers. Return what became of the weights, too."""
    from bakeoff.learning.pretrained.load_report import load_first_weights
    from bakeoff.learning.training.setup import Setup

    setup = Setup.of(run, manifest, records, place, answers)
    workers = crew_of(setup, run, manifest)
    require_gpu_room_for(run, setup.replicas)
    print_device(setup.replicas, mixed_precision=run.train.mixed_precision)
    keep_device(start.folder, setup.replicas)
    first_weights = load_first_weights(setup.learner.network, run.model, run.train.init, start.origin)
    memory = MemoryUse(explain_shortage(run.derived, setup.replicas))
    memory.mark(BUILT)
    setup.bad.keep_in(start.folder)
    return setup, workers, memory, first_weights
