"""What a training reports of itself, from its preparation to its end; and which kind a failure has."""

import errno
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.experiments.runs import status_writer as module
from bakeoff.experiments.runs.run_status import FILE, State, Status, read_status
from bakeoff.experiments.runs.status_writer import StatusReport, Stretch, failure_of
from bakeoff.foundation.errors import ConfigError, DataError, TryAgainLater, WorkspaceError
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_state import Position, RunState
from support.made_runs import NOBODY, made


def opened(folder: Path, *, has_checkpoint: bool = True, **more: Any) -> StatusReport:
    folder.mkdir(parents=True, exist_ok=True)
    return StatusReport(folder, "ssd_tiny", 200, memory_estimate_bytes=10**9, can_resume=lambda: has_checkpoint, **more)


def start(report: StatusReport, step: int, seconds: float, *, is_over: bool = False) -> None:
    """As a training begins after so many steps, in which earlier processes trained so long."""
    saved = SimpleNamespace(state=RunState(seconds=seconds))
    report.on_start(SimpleNamespace(position=Position(0, step), saved=saved, is_over=is_over))  # type: ignore[arg-type]


def end(report: StatusReport, by: str, step: int) -> None:
    report.on_end(SimpleNamespace(ended_by=by, position=Position(0, step)))  # type: ignore[arg-type]


def ended(
    folder: Path, error: BaseException | None, *, has_checkpoint: bool = True, stopped_at: int = 0, by: str = "stop"
) -> Status:
    with suppress(BaseException), opened(folder, has_checkpoint=has_checkpoint) as report:
        start(report, 0, 0.0)
        if stopped_at:
            end(report, by, stopped_at)
        if error:
            raise error
    return read_status(folder)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_WRITES", 0.01)


def awaited(folder: Path, state: State) -> Status:
    """Once the thread has written it."""
    deadline = time.monotonic() + 20
    while (status := read_status(folder)).state != state:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return status


def test_a_run_says_that_it_prepares_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "tall-kite")
    with opened(tmp_path / "5d1c"):
        status = read_status(tmp_path / "5d1c")
    assert (status.state, status.fingerprint, status.name, status.steps) == (State.PREPARING, "5d1c", "ssd_tiny", 200)
    assert status.process.is_alive() and status.experiment == "tall-kite" and status.workspace == str(Path.cwd())
    assert status.machine.available_bytes and status.machine.disk_free_bytes and status.memory_estimate_bytes == 10**9


def test_lines_are_written_by_a_thread_without_being_waited_for(tmp_path: Path, quick: None) -> None:
    with opened(tmp_path) as report:
        start(report, 40, 30.0)
        report.on_log(LogLine(50, {"train/loss": 0.5, "learning_rate": 0.1, "examples_per_second": 80.0}, "head"))
        report.on_log(LogLine(50, {"validation/mAP": 0.25, "validation/odd": float("nan")}, "head"))
        status = awaited(tmp_path, State.RUNNING)
    assert (status.steps_done, status.phase) == (50, "head")
    assert (status.learning_rate, status.examples_per_second) == (0.1, 80.0)
    assert status.metrics == {"train/loss": 0.5, "validation/mAP": 0.25}
    assert 30 <= status.training_seconds < 90


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the report believes it to be."""
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], time=time.time))
    return now


def log(report: StatusReport, clock: list[float], *lines: tuple[int, float]) -> None:
    """Log steps, each at its time."""
    for step, clock[0] in lines:
        report.on_log(LogLine(step, {"train/loss": 0.5}, None))


def test_a_time_limit_ends_before_the_steps_do(tmp_path: Path, clock: list[float]) -> None:
    """30 seconds were trained before and 20 now, of 60; 140 steps of 0.4 seconds would take 56."""
    for minutes, left in ((1, 10.0), (None, 56.0)):
        clock[0] = 1000.0
        report = opened(tmp_path, max_minutes=minutes)
        start(report, 0, 30.0)
        log(report, clock, (50, 1016.0), (60, 1020.0))
        assert report._status.seconds_left == pytest.approx(left)


def test_time_that_was_taken_over_is_not_spent_and_time_that_a_kill_took_back_is(
    tmp_path: Path, clock: list[float]
) -> None:
    """A run takes 100 seconds over and trains 30. It is killed, and resumes from the checkpoint at 110 for 5."""
    for at, seconds, spent in ((100.0, 30.0, 30.0), (110.0, 5.0, 35.0)):
        with opened(tmp_path, max_minutes=4) as report:
            start(report, 0, at)
            clock[0] += seconds
        status = read_status(tmp_path)
        assert (status.training_seconds, status.spent, status.longest_seconds) == (at + seconds, spent, 240)


def test_the_seconds_left_shrink_between_two_lines(tmp_path: Path, clock: list[float]) -> None:
    report = opened(tmp_path, stretches=[Stretch(60), Stretch(200, 2.0)])
    assert report.seconds_left() is None
    log(report, clock, (50, 1016.0), (55, 1020.0))
    clock[0] = 1023.0
    assert report.seconds_left() == pytest.approx(5 * 0.8 + 140 * 2.0 - 3)
    clock[0] = 9999.0
    assert report.seconds_left() == 0.0


@pytest.mark.parametrize("earlier", [State.SUCCEEDED, State.RUNNING])
def test_a_process_without_a_step_keeps_the_status_of_a_run_that_succeeded(tmp_path: Path, earlier: State) -> None:
    folder = made(
        tmp_path, "5d1c", earlier, ago=7200, metrics={"train/loss": 0.5}, training_seconds=99.0, process=NOBODY
    )
    before = read_status(folder)
    sent: list[Mapping[str, str]] = []
    with opened(folder) as report, report.tracked("0b9f", sent.append):
        start(report, 200, 99.0, is_over=True)
        end(report, "steps", 200)
    assert (read_status(folder) == before) == (sent == []) == (earlier == State.SUCCEEDED)
    assert read_status(folder).state == State.SUCCEEDED


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), TryAgainLater("memory: too little"), DataError("shard 3")])
def test_a_life_that_ends_before_its_first_step_leaves_it_too(
    tmp_path: Path, error: BaseException, is_known: bool
) -> None:
    folder = made(tmp_path, "5d1c", State.SUCCEEDED, ago=7200, metrics={"train/loss": 0.5}, process=NOBODY)
    before = (folder / FILE).read_bytes()
    with suppress(type(error)), opened(folder) as report:
        if is_known:
            start(report, 200, 99.0, is_over=True)
        assert (folder / FILE).read_bytes() == before  # nor would a kill here leave another state
        raise error
    assert (folder / FILE).read_bytes() == before


def test_a_run_that_succeeded_and_lost_its_checkpoints_reports_its_new_state(tmp_path: Path) -> None:
    folder = made(tmp_path, "5d1c", State.SUCCEEDED, ago=7200, process=NOBODY)
    with suppress(DataError), opened(folder) as report:
        assert report.has_succeeded
        start(report, 0, 0.0)
        raise DataError("shard 3")
    assert read_status(folder).state == State.FAILED


@pytest.mark.parametrize(
    ("error", "has_checkpoint", "stopped_at", "state"),
    [
        (None, True, 0, State.SUCCEEDED),
        (None, True, 120, State.STOPPED),
        (None, True, 200, State.SUCCEEDED),  # asked at the very last step
        (KeyboardInterrupt(), True, 0, State.STOPPED),
        (KeyboardInterrupt(), False, 0, State.CANCELED),
        (TryAgainLater("memory: too little"), False, 0, State.TRY_AGAIN_LATER),
        (DataError("shard 3"), True, 0, State.FAILED),
        (SystemExit(1), True, 0, State.FAILED),
    ],
)
def test_every_way_to_end_has_its_state(
    tmp_path: Path, error: BaseException | None, has_checkpoint: bool, stopped_at: int, state: State
) -> None:
    status = ended(tmp_path, error, has_checkpoint=has_checkpoint, stopped_at=stopped_at)
    assert status.state == state
    assert (status.failure is not None) == (state in (State.FAILED, State.TRY_AGAIN_LATER))
    assert status.steps_done == stopped_at and status.seconds_left is None


@pytest.mark.parametrize("by", ["steps", "max_minutes", "early_stopping"])
def test_a_run_that_ends_by_its_own_settings_succeeded_and_says_by_which(tmp_path: Path, by: str) -> None:
    status = ended(tmp_path, None, stopped_at=120, by=by)
    assert (status.state, status.ended_by, status.steps_done) == (State.SUCCEEDED, by, 120)


def test_a_failure_is_reported_with_its_kind(tmp_path: Path) -> None:
    failure = ended(tmp_path, OSError(errno.ENOSPC, "No space left on device")).failure
    assert failure and (failure.kind, failure.message) == ("disk", "[Errno 28] No space left on device")


def test_the_first_start_stays_when_a_run_resumes(tmp_path: Path) -> None:
    folder = made(tmp_path, "5d1c", ago=7200)
    began = read_status(folder).began
    with opened(folder):
        status = read_status(folder)
    assert status.began == began and time.time() - status.started < 60


def test_mlflow_has_each_state_once_and_the_last_within_the_block(tmp_path: Path) -> None:
    sent: list[Mapping[str, str]] = []
    with pytest.raises(DataError), opened(tmp_path / "5d1c") as report, report.tracked("0b9f", sent.append):
        start(report, 0, 0.0)
        report.on_log(LogLine(50, {"train/loss": 0.5}, None))
        report.on_log(LogLine(60, {"train/loss": 0.4}, None))
        raise DataError("shard 3 is short")
    states = [(tags["bakeoff.state"], tags["bakeoff.steps_done"]) for tags in sent]
    assert states == [("PREPARING", "0"), ("RUNNING", "0"), ("FAILED", "60")]
    assert sent[-1]["bakeoff.failure"] == "bad data: shard 3 is short" and "bakeoff.failure" not in sent[0]
    assert sent[-1]["bakeoff.fingerprint"] == "5d1c" and sent[-1]["bakeoff.host"]
    assert read_status(tmp_path / "5d1c").run_id == "0b9f"


def test_a_run_continues_if_its_status_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(folder: Path, status: Status) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(module, "write_status", broken)
    with opened(tmp_path) as report:
        start(report, 0, 0.0)
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 1 and warnings[0].endswith("status.json: not written ([Errno 5] Input/output error)")


def test_a_silent_run_says_now_and_then_that_it_is_there(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_OF_SILENCE", 0.05)
    with opened(tmp_path):
        first = read_status(tmp_path).updated
        deadline = time.monotonic() + 20
        while read_status(tmp_path).updated == first:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_reader_never_sees_half_a_status(tmp_path: Path, quick: None) -> None:
    with opened(tmp_path) as report:
        for step in range(1, 400):
            report.on_log(LogLine(step, {f"validation/AP_{number}": 0.5 for number in range(200)}, None))
            json.loads((tmp_path / "status.json").read_text(encoding="utf-8"))


# Which kind of failure an exception is.


class InternalError(Exception):
    """Named as one of TensorFlow's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), "out of memory"),
        (MemoryError("Unable to allocate 7.28 TiB for an array"), "out of memory"),
        (InternalError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"), "out of memory"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "out of memory"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk"),
        (RuntimeError("Can't write data (file write failed: errno = 28, 'No space left on device')"), "disk"),
        (DataError("annotations/0042.xml: box 3 has xmax 12 <= xmin 40"), "bad data"),
        (Damaged("1-head/00000100: damaged (it ends too early)"), "bad data"),
        (ConfigError("train.devices: must be at most 1"), "error"),
        (WorkspaceError("nothing"), "error"),
        (TryAgainLater("memory: 1 MB are left"), "no room"),
        (OSError(errno.EACCES, "Permission denied"), "error"),
        (ZeroDivisionError("division by zero"), "error"),
    ],
)
def test_a_failure_has_a_kind(error: BaseException, kind: str) -> None:
    assert failure_of(error).kind == kind


def test_tensorflows_own_errors_are_known_by_name() -> None:
    import tensorflow as tf

    exhausted = tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[9999,9999]")
    assert failure_of(exhausted).kind == "out of memory"
    full = tf.errors.ResourceExhaustedError(None, None, "models/train; No space left on device")
    assert failure_of(full).kind == "disk"
    assert failure_of(tf.errors.DataLossError(None, None, "corrupted record at 12")).kind == "bad data"
    assert failure_of(tf.errors.InvalidArgumentError(None, None, "shapes differ")).kind == "error"


def test_a_run_that_left_the_numbers_diverged() -> None:
    from bakeoff.learning.training.loop import Diverged

    assert failure_of(Diverged("the loss is nan", step=3, rate=0.1)).kind == "diverged"


def test_what_an_error_was_raised_from_counts_if_itself_says_nothing() -> None:
    error = RuntimeError("the batch could not be made")
    error.__cause__ = DataError("shard 3")
    assert failure_of(error).kind == "bad data"


def test_the_message_is_one_line_of_at_most_a_thousand_characters() -> None:
    assert failure_of(ValueError("one\n  two\tthree")).message == "one two three"
    assert len(failure_of(ValueError("x" * 9999)).message) == 1000
    assert failure_of(MemoryError()).message == "MemoryError"


def test_no_room_has_its_own_exit_code() -> None:
    assert TryAgainLater("memory").exit_code == 75 and WorkspaceError("x").exit_code == 2
