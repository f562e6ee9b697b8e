"""What each training does now, in words: from the click on Start, before there is a run, to its files.

checking pictures -> waiting -> loading the network -> step 12 of 400 -> evaluating -> exporting -> done
"""

import os
import re
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import psutil

from bakeoff.app.web import background_commands
from bakeoff.app.web.background_commands import BackgroundCommand
from bakeoff.experiments.runs.cleanup import is_held_file
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.process_group import find_noted_session, list_members
from bakeoff.experiments.sweep.sweep_manifest import FILE as MANIFEST
from bakeoff.experiments.sweep.sweep_manifest import LOCK, JobState, SweepJob, SweepManifest, load_manifest
from bakeoff.experiments.sweep.sweep_queue import list_queued_sweeps, list_resumed_sweeps
from bakeoff.foundation import git, workspace
from bakeoff.foundation.errors import BakeoffError, WorkspaceError
from bakeoff.learning.plan.run_length import format_done
from bakeoff.tracking.journal.entries import ParamsEntry
from bakeoff.tracking.journal.journal import entries
from bakeoff.tracking.journal.journal_folder import FILE as JOURNAL
from bakeoff.tracking.results.results import parse_yaml
from bakeoff.tracking.results.run_id import SWEEP_EXPERIMENT

ADD = ("bakeoff", "queue", "add")
RESUME = (*ADD, "--resume")
QUEUED = re.compile(r"^(sweep-\S+): \d+ in the queue", re.MULTILINE)  # what `bakeoff queue add` prints
STAGE = re.compile(r"Running stage '(\w+)'")  # what DVC prints
LOG_END = 64_000  # bytes, in which the last stage is named
WORDS = {
    State.PREPARING: "loading the network", State.STOP_REQUESTED: "stops after this step",
    State.STOPPING: "saving its state", State.SUCCEEDED: "done", State.CANCELED: "stopped before its first step",
    State.TRY_AGAIN_LATER: "the machine had no room", State.STATE_UNSPECIFIED: "of another version",
}  # fmt: skip
STAGES = {
    "build_records": "checking pictures", "render_config": "checking settings", "evaluate": "evaluating",
    "export": "exporting",
}  # fmt: skip
PREPARATIONS = (  # beginnings of commands, and what they do
    (("dvc", "repro"), "checking pictures"), (("bakeoff", "weights"), "making weights to start from"),
    (ADD, "planning"), (("bakeoff", "queue"), "waiting"),
)  # fmt: skip
SHOWN_S = 86_400.0  # for so long one that did not get a place is listed
AT_FIRST = "taking in the pictures"


@dataclass(frozen=True)
class Activity:
    """What a training does."""

    words: str
    state: State  # by ftc-ml's names
    trains: bool = False  # whether steps are being taken, so that a time is left


@dataclass(frozen=True)
class Preparation:
    """A training that was started on the page, and has no run yet: it has no place in the queue, or was just begun."""

    errand: BackgroundCommand

    @property
    def id(self) -> str:
        return self.errand.id

    @property
    def note(self) -> str:
        return self._option("--note=")

    @property
    def data(self) -> str:
        return self.errand.title.rpartition(" on ")[2]

    @property
    def network(self) -> str:
        return self._option("model=")

    @cached_property
    def sweep(self) -> str | None:
        return find_sweep(self.errand)

    @property
    def job(self) -> SweepJob | None:
        """Return its job once it has a place in the queue."""
        manifest = _find_manifest(self.sweep) if self.sweep else None
        return manifest.jobs[0] if manifest and manifest.jobs else None

    @property
    def is_over(self) -> bool:
        """Return whether it got what it asked for, or was taken out of the queue."""
        if (job := self.job) is None:
            return self.errand.state == "done"
        return job.state.is_final or (job.state == JobState.WAITING and self.sweep not in list_queued_sweeps())

    @property
    def remark(self) -> str:
        """Return why nothing is under way any more."""
        if self.step.state.is_live:
            return ""
        return self.job.why if self.job else self.errand.last_line

    @property
    def step(self) -> Activity:
        if self.sweep and (job := self.job):
            return _describe_begun(self.sweep, job)
        if self.errand.state != "runs":
            return Activity("" if self.errand.state == "failed" else "cut short", State.FAILED)
        lines = (line[2:] for line in self.errand.log.splitlines() if line.startswith("$ "))
        under_way = [line for line in lines if not line.startswith("git ")]  # which takes no time
        command = tuple(under_way[-1].split()) if under_way else ()
        words = next((words for start, words in PREPARATIONS if command[: len(start)] == start), AT_FIRST)
        return Activity(words, State.PREPARING)

    @property
    def overrides(self) -> list[str]:
        """Return the changes that it was asked for with."""
        return [part for part in self._add[len(ADD) :] if not part.startswith("--")]

    @property
    def _add(self) -> tuple[str, ...]:
        [command] = [one for one in self.errand.commands if is_start(one)]
        return command

    def _option(self, start: str) -> str:
        return next((part.removeprefix(start) for part in self._add if part.startswith(start)), "")


def is_start(command: tuple[str, ...]) -> bool:
    """Return whether a command puts a new training into the queue."""
    return command[:3] == ADD and command[:4] != RESUME


def find_sweep(errand: BackgroundCommand) -> str | None:
    """Return the sweep that an errand of Train has put into the queue."""
    found = QUEUED.findall(errand.log) if any(map(is_start, errand.commands)) else []
    return found[-1] if found else None


def list_preparations(runs: Iterable[KnownRun]) -> list[Preparation]:
    """Return the trainings that have no run yet, and those that did not get one, the newest first."""
    known = {sweep_of(run) for run in runs}
    errands = [one for one in background_commands.list_recent() if any(map(is_start, one.commands))]
    last = {one.commands: one for one in reversed(errands)}  # of those that were tried again
    shown = (one for one in errands if one is last[one.commands])
    new = (one for one in shown if one.state == "runs" or abs(time.time() - one.began) < SHOWN_S)
    return [one for one in map(Preparation, new) if one.sweep not in known and not one.is_over]


def _describe_begun(sweep: str, job: SweepJob) -> Activity:
    """Return what a job does whose run has not written its state yet."""
    match job.state:
        case JobState.WAITING:
            return Activity("waiting", State.QUEUED)
        case JobState.RUNNING if (stage := _find_stage(sweep, job)) or is_held_file(workspace.queue() / LOCK):
            return Activity(STAGES.get(stage, WORDS[State.PREPARING] if stage else "about to begin"), State.PREPARING)
        case JobState.STOPPED:
            return Activity("will not begin", State.CANCELED)
    return Activity("" if job.state == JobState.FAILED else "cut short", State.FAILED)


class QueueView:
    """The queue as it is now, read once for all rows of a list."""

    @cached_property
    def waiting(self) -> list[str]:
        return list_queued_sweeps()

    @cached_property
    def is_run(self) -> bool:
        """Return whether somebody runs the queue, or is about to."""
        errands = (one.commands for one in background_commands.list_recent(8) if one.state == "runs")
        return is_held_file(workspace.queue() / LOCK) or any(background_commands.QUEUE in one for one in errands)

    def is_left(self, sweep: str | None) -> bool:
        """Return whether a training stands in the queue, and nobody runs it, such as after a kill."""
        return sweep in self.waiting and not self.is_run

    @cached_property
    def resumed(self) -> set[str]:
        """Return the sweeps that wait to go on, or are being put into the queue for that."""
        errands = (one for one in background_commands.list_recent(8) if one.state == "runs")
        asked = {command[4] for one in errands for command in one.commands if command[:4] == RESUME}
        return {*list_resumed_sweeps(), *asked}

    def find_step(self, run: KnownRun) -> Activity:
        status, state = run.status, run.state
        if status is None:
            return Activity(WORDS.get(state, ""), state)
        sweep = sweep_of(run)
        is_cut_short = state == State.SUCCEEDED and self._is_cut_short(run)
        is_unfinished = not state.is_live and (state != State.SUCCEEDED or is_cut_short)
        if run.place is not None or (sweep in self.resumed and is_unfinished):
            place = "" if state == State.STOP_REQUESTED else self._describe_place(sweep)
            words = f"waits to go on from step {status.steps_done:,}{place}"
            return Activity(words, state if run.place else State.QUEUED)
        if run.waits:
            asked = state == State.STOP_REQUESTED
            return Activity("will not begin" if asked else f"waiting{self._describe_place(sweep)}", state)
        if state == State.RUNNING:
            if 0 < status.steps <= status.steps_done:
                return Activity("evaluating", state)
            return Activity(f"step {format_done(status.steps_done, status.steps)}", state, trains=True)
        if state in (State.SUCCEEDED, State.STOPPED) and (stage := find_later_stage(run)):
            return Activity(STAGES.get(stage, "finishing"), State.RUNNING)
        if is_cut_short:
            return Activity("trained; its evaluation and its files are missing", State.STOPPED)
        if state == State.STOPPED:
            return Activity(f"stopped at step {format_done(status.steps_done, status.steps)}", state)
        return Activity(WORDS.get(state, ""), state)

    def _is_cut_short(self, run: KnownRun) -> bool:
        """Return whether the job of a run failed or was killed after its training."""
        job = find_job(run)
        if job is None or job.state.is_final:
            return False
        return job.state != JobState.RUNNING or not (self.is_run or find_later_stage(run))

    def _describe_place(self, sweep: str) -> str:
        before = self.waiting.index(sweep) if sweep in self.waiting else 0
        return f", {before} before it" if before else ""


def sweep_of(run: KnownRun) -> str:
    """Return the sweep that a run belongs to; "" of one that `bakeoff repro` trains."""
    match = SWEEP_EXPERIMENT.fullmatch(run.status.experiment or "") if run.status else None
    return match[1] if match else ""


def find_manifest_of(run: KnownRun) -> SweepManifest | None:
    return _find_manifest(sweep_of(run)) if sweep_of(run) else None


def _find_manifest(sweep: str) -> SweepManifest | None:
    file = workspace.sweeps() / sweep / MANIFEST
    return _load(sweep, file.stat().st_mtime_ns) if file.is_file() else None


def find_job(run: KnownRun) -> SweepJob | None:
    manifest = find_manifest_of(run)
    experiment = run.status.experiment if run.status else None
    return next((job for job in manifest.jobs if job.experiment == experiment), None) if manifest else None


@lru_cache(maxsize=1024)
def _load(sweep: str, changed: int) -> SweepManifest | None:
    try:
        return load_manifest(workspace.sweeps() / sweep)
    except WorkspaceError:
        return None


def find_later_stage(run: KnownRun) -> str:
    """Return the stage that the job of a run is at after its training; "" once the job is over."""
    job = find_job(run)
    return _find_stage(sweep_of(run), job) if job and job.state == JobState.RUNNING else ""


def _find_stage(sweep: str, job: SweepJob) -> str:
    """Return the last stage that DVC began in a job; "" if it has begun none, or the job's process is gone."""
    files = JobFiles(workspace.sweeps() / sweep, job.number)
    session = find_noted_session(files.process)
    if session is None or not (psutil.pid_exists(session) or list_members(session)):
        return ""
    try:
        with files.log.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - LOG_END))
            stages = STAGE.findall(log.read().decode("utf-8", "replace"))
    except OSError:
        return ""
    return stages[-1] if stages else ""


@dataclass(frozen=True)
class RunSource:
    """What a run is: the data that it learns from, and the network."""

    data: str = ""
    network: str = ""
    examples: int | None = None  # that it learns from
    robot: str = ""  # the device that its files are for


def find_source(run: KnownRun) -> RunSource:
    """Return what is known of a run by its journal, else by the sweep that it belongs to."""
    network = run.status.name.partition(" · ")[0] if run.status else ""
    params = read_params(run.run_id)
    if "variant.data" in params:
        count, device = params.get("derived.train_examples", ""), params.get("export.device", "None")
        examples, robot = int(count) if count.isdecimal() else None, "" if device == "None" else device
        return RunSource(params["variant.data"], params.get("variant.model", network), examples, robot)
    manifest, job = find_manifest_of(run), find_job(run)
    if manifest is None or job is None:
        return RunSource(network=network)
    return RunSource(job.varied.get("data") or _read_snapshot(manifest.snapshot), network)


def read_params(run_id: str) -> dict[str, str]:
    """Return a run's settings as its journal has them; nothing as long as there is none."""
    file = (workspace.journals() / run_id / JOURNAL).absolute()
    if not run_id or not file.is_file():
        return {}
    size = file.stat().st_size
    length, params = _params.get(file, (0, {}))
    if not params and length != size:  # they stay as they are; a journal without them is read again once it has grown
        every: Any = entries(file.parent)
        with closing(every) as read:
            first = next((entry for entry, _ in read if isinstance(entry, ParamsEntry)), None)
        params = dict(first.values) if first else {}
        _params[file] = size, params
    return params


_params: dict[Path, tuple[int, dict[str, str]]] = {}  # by journal, with its length when it was read


@lru_cache(maxsize=256)
def _read_snapshot(commit: str) -> str:
    """Return the data that params.yaml chose in a commit."""
    try:
        choice = parse_yaml(git.file_at(commit, workspace.PARAMS.as_posix())).get("data")
    except (BakeoffError, AttributeError):
        return ""
    return str(choice.get("use", "")) if isinstance(choice, dict) else str(choice or "")
