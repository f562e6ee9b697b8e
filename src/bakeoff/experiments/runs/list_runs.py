"""The runs that left something in `.bakeoff/runs/`, and how each is doing now."""

import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.runs.run_status import Failure, State, Status, Unreadable, read_status
from bakeoff.experiments.runs.status_writer import ERROR, OUT_OF_MEMORY, SECONDS_OF_SILENCE
from bakeoff.foundation import workspace
from bakeoff.foundation.files import read_text
from bakeoff.foundation.machine import oom_kills
from bakeoff.foundation.workspace import STOP_FILE, journals
from bakeoff.tracking.results.run_id import Names
from bakeoff.tracking.store.target import place_in, target_in

NAME = re.compile(r"\w[\w.-]*")  # of a folder, whatever a damaged file holds
SILENT_TOO_LONG = 12 * SECONDS_OF_SILENCE  # for a process that cannot be looked at


@dataclass(frozen=True)
class KnownRun:
    folder: Path
    state: State  # as it is now; a process that was killed could not write it
    status: Status | None  # the last that its process wrote; None where it cannot be read
    failure: Failure | None = None
    unreadable: str = ""
    place: Path | None = None  # the folder of its place in the queue, of a run that waits to resume

    @property
    def fingerprint(self) -> str:
        return self.folder.name

    @property
    def short(self) -> str:
        """Return the run's short name for a table. A job that waits has no id yet, and is listed by its experiment."""
        return "" if self.waits else self.names.short

    @property
    def waits(self) -> bool:
        """Return whether the run waits for its first turn in a sweep or in the queue."""
        return self.status is not None and self.status.state == State.QUEUED and self.state.is_live

    @property
    def stop_file(self) -> Path:
        """Return the file that asks it to stop, or not to begin again."""
        return (self.place or self.folder) / STOP_FILE

    @property
    def label(self) -> str:
        """Return the run's name for a sentence."""
        name = f" ({self.status.name})" if self.status else ""
        return f"{self.short or self.fingerprint}{name}"

    @property
    def run_id(self) -> str:
        """Return our id of the run, which is known before the run's process writes its status."""
        stated = self.status.run_id if self.status else None
        named = stated or (read_text(self.folder / "run") or "").strip()
        return named if NAME.fullmatch(named) else ""

    @cached_property
    def names(self) -> Names:
        status, run_id = self.status, self.run_id
        target = target_in(journals() / run_id) if run_id else None
        in_mlflow = place_in(journals() / run_id, target).run if target else None
        return Names(
            run_id, "" if self.waits else self.fingerprint, in_mlflow or "",
            (status.experiment if status else None) or "", status.name if status else "",
            state=self.state.value, began=status.began if status else 0.0,
        )  # fmt: skip

    @property
    def updated(self) -> float:
        return self.status.updated if self.status else self.folder.stat().st_mtime

    def as_tree(self) -> dict[str, Any]:
        """Return the last status for scripts, with the state as it is now; null for what is not known."""
        tree = self.status.as_tree() if self.status else dict.fromkeys(field.name for field in fields(Status))
        tree.pop("version", None)
        return tree | {
            "fingerprint": self.fingerprint,
            "state": self.state.value,
            "failure": asdict(self.failure) if self.failure else None,
            "unreadable": self.unreadable or None,
            "folder": self.folder.as_posix(),
            "can_go_on": self.can_resume(),
        }

    def can_resume(self) -> bool:
        """Return whether there is a checkpoint, so that the run can resume."""
        return any(path.name.isdecimal() for path in self.folder.glob("*/*"))


def known_runs() -> list[KnownRun]:
    """Return the runs under way, those that wait in their order, and those that ended, the last updated first.

    A job that has begun stays listed as waiting until its launcher notices that; it is one run, and under way. One that
    waits to resume is one run, too.
    """
    waiting = [run for run in map(read_run, _folders(workspace.queued())) if run.waits]
    runs = sorted(map(read_run, _folders(workspace.runs())), key=lambda run: -run.updated)
    live = [run for run in runs if run.state.is_live]
    begun = {run.status.experiment for run in live if run.status and run.status.experiment}
    waiting = [run for run in waiting if run.status and run.status.experiment not in begun]
    ended = [run for run in runs if not run.state.is_live]
    unfinished = [run for run in reversed(ended) if run.status and run.state != State.SUCCEEDED]
    before = {run.status.experiment: run for run in unfinished if run.status and run.status.experiment}
    resumed = {run.folder: before[run.fingerprint] for run in waiting if run.fingerprint in before}
    waiting = [
        replace(resumed[run.folder], state=run.state, failure=None, place=run.folder) if run.folder in resumed else run
        for run in sorted(waiting, key=lambda run: run.updated)
    ]
    going_on = {run.folder for run in resumed.values()}
    return [*live, *waiting, *(run for run in ended if run.folder not in going_on)]


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []


def read_run(folder: Path) -> KnownRun:
    """Return the run whose folder this is, as it is now."""
    try:
        status = read_status(folder)
    except Unreadable as error:
        return KnownRun(folder, State.STATE_UNSPECIFIED, None, unreadable=str(error))
    if not status.state.is_live:
        return KnownRun(folder, status.state, status, status.failure)
    if (lost := _why_lost(status)) is not None:
        with suppress(Unreadable):  # it may have ended in between and written its last status
            if read_status(folder) != status:
                return read_run(folder)
        return KnownRun(folder, State.FAILED, status, lost)
    asked = status.state in (State.QUEUED, State.PREPARING, State.RUNNING) and (folder / STOP_FILE).exists()
    return KnownRun(folder, State.STOP_REQUESTED if asked else status.state, status)


def _why_lost(status: Status) -> Failure | None:
    """Return what became of a run that was under way at its last update, if it can't be under way any more."""
    process, silent = status.process, time.time() - status.updated
    if status.state == State.QUEUED and process == Process.nobody():
        return None
    alive = process.is_alive()
    if alive or (alive is None and silent < SILENT_TOO_LONG):
        return None
    if alive is None:
        return Failure(ERROR, f"no word from {process.host} for {silent / 60:.0f} minutes")
    if not process.is_of_this_boot:
        return Failure(ERROR, f"the machine was restarted while process {process.pid} trained")
    before, now, taken = status.machine.oom_kills, oom_kills(), status.machine.resident_bytes or 0
    if before is not None and now is not None and now > before:
        message = f"process {process.pid} was killed, and the kernel has ended processes for want of memory since"
        return Failure(OUT_OF_MEMORY, f"{message}; it took {taken / 1e9:.1f} GB")
    return Failure(ERROR, f"process {process.pid} was killed: it ended without a word")
