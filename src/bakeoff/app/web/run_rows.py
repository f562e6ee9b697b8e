"""A training -> the row by which the lists show it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bakeoff.app.web.training_progress import Preparation, QueueView, find_source, list_preparations, sweep_of
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.run_status import Status, headline_of
from bakeoff.experiments.sweep.sweep_manifest import FILE as MANIFEST
from bakeoff.foundation import workspace
from bakeoff.foundation.files import read_json
from bakeoff.foundation.formatting import format_duration
from bakeoff.learning.plan.run_length import format_done, is_endless
from bakeoff.tracking.results.run_id import SHOWN_OF_ID

ENDS = {"max_minutes": "ended by its longest time", "early_stopping": "ended early, for it got no better"}


@dataclass(frozen=True)
class Row:
    """A run as the list shows it."""

    id: str  # the name of its folder, or of the errand that prepares it, by which the page addresses it
    name: str  # by which every list and every command knows it
    state: str  # by ftc-ml's names
    doing: str  # what it does, in words
    is_live: bool
    trains: bool  # or will; False: nothing is left to stop
    waits: bool
    variant: str
    note: str
    data: str
    network: str
    experiment: str
    steps: str
    share: float | None  # of the steps, from 0 to 1; None of a run without an end
    left: str
    metric: str
    trained: str
    updated: str
    remark: str
    is_comparable: bool


def make_row(run: KnownRun, queue: QueueView | None = None) -> Row:
    status, step, source = run.status, (queue or QueueView()).find_step(run), find_source(run)
    name, is_live = name_run(run), step.state.is_live
    updated = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.updated))
    if status is None:
        return Row(run.fingerprint, name, step.state.value, step.words, False, False, False, "", "", "", "", "", "", 0,
                   "", "", "", updated, run.unreadable, False)  # fmt: skip
    headline = headline_of(status.metrics)
    is_left = step.trains and status.seconds_left is not None
    return Row(
        id=run.fingerprint, name=name, state=step.state.value, doing=step.words, is_live=is_live,
        trains=run.state.is_live, waits=run.waits or run.place is not None,
        variant=status.name, note=_find_note(run), data=source.data, network=source.network,
        experiment=status.experiment or "",
        steps=format_done(status.steps_done, status.steps),
        share=_share_done(status),
        left=format_duration(status.seconds_left or 0.0) if is_left else "",
        metric=f"{headline[0]} {headline[1]:.3f}" if headline else "",
        trained=format_duration(status.training_seconds) if status.training_seconds else "",
        updated="" if is_live else updated, remark=_describe(run),
        is_comparable=bool(run.run_id) and not is_live and headline is not None,
    )  # fmt: skip


def make_first_row(training: Preparation) -> Row:
    """Return the row of a training that has no run yet."""
    step, errand = training.step, training.errand
    updated = time.strftime("%Y-%m-%d %H:%M", time.localtime(errand.began))
    return Row(
        id=training.id, name="new", state=step.state.value, doing=step.words, is_live=step.state.is_live, trains=False,
        waits=False, variant="", note=training.note, data=training.data, network=training.network, experiment="",
        steps="", share=None, left="", metric="", trained="", updated=updated,
        remark=training.remark, is_comparable=False,
    )  # fmt: skip


def list_rows(runs: Sequence[KnownRun]) -> list[Row]:
    """Return each training once: those that are being prepared, then the runs in their order."""
    queue = QueueView()
    return [*map(make_first_row, list_preparations(runs)), *(make_row(run, queue) for run in runs)]


def name_run(run: KnownRun) -> str:
    return run.fingerprint if run.waits else (run.run_id or run.fingerprint)[:SHOWN_OF_ID]


def _find_note(run: KnownRun) -> str:
    """Return the note with which a run of the queue was asked for."""
    file = workspace.sweeps() / sweep_of(run) / MANIFEST
    return _read_note(file, file.stat().st_mtime_ns) if sweep_of(run) and file.is_file() else ""


@lru_cache(maxsize=1024)
def _read_note(file: Path, changed: int) -> str:
    note = read_json(file).get("note")
    return note if isinstance(note, str) else ""


def _share_done(status: Status) -> float | None:
    """Return the share of the steps that are done; None of a run without an end."""
    if is_endless(status.steps):
        return None
    return status.steps_done / status.steps if status.steps else 0.0


def _describe(run: KnownRun) -> str:
    if run.failure:
        return f"{run.failure.kind}: {run.failure.message}"
    ended = run.status.ended_by if run.status and not run.state.is_live else None
    return ENDS.get(ended or "", "")
