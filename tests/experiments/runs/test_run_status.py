"""status.json: what is written is read, other files are reported as unreadable, a full disk still holds a status."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.runs.run_status import (
    Failure,
    ResourceUsage,
    State,
    Status,
    Unreadable,
    read_status,
    write_status,
)

WHOLE = Status(
    State.FAILED, "5d1c", "ssd_tiny · cosine · low", Process.current(), "/clone", 1.5, 2.5, 3.5, experiment="sweep-1",
    run_id="0b9f", steps=200, steps_done=50, phase="head", training_seconds=9.5, learning_rate=0.1,
    examples_per_second=80.0, seconds_left=30.0, metrics={"train/loss": 0.5}, machine=ResourceUsage(1, 2, 3, 4),
    memory_estimate_bytes=5, failure=Failure("disk", "no space left"),
)  # fmt: skip


def test_what_is_written_is_read(tmp_path: Path) -> None:
    for status in (WHOLE, replace(WHOLE, failure=None, experiment=None, state=State.RUNNING)):
        write_status(tmp_path, status)
        assert read_status(tmp_path) == status
    assert [file.name for file in tmp_path.iterdir()] == ["status.json"]


def test_the_states_are_those_of_ftc_ml() -> None:
    assert set(State) == {
        "QUEUED", "PREPARING", "RUNNING", "STOP_REQUESTED", "STOPPING", "STOPPED", "SUCCEEDED", "FAILED", "CANCELED",
        "TRY_AGAIN_LATER", "STATE_UNSPECIFIED",
    }  # fmt: skip
    assert {state for state in State if state.is_live} == {
        "QUEUED", "PREPARING", "RUNNING", "STOP_REQUESTED", "STOPPING",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^status\.json cannot be read \(Expecting value"),
        ("[]", r"^status\.json .*\bversion None\b.*\b1\b"),
        ('{"version": 2}', r"^status\.json .*\bversion 2\b.*\b1\b"),
        ('{"version": 1}', r"^status\.json .*\('failure'\)"),
        (json.dumps(WHOLE.as_tree() | {"state": "BORED"}), r"^status\.json .*\('BORED' "),
        (json.dumps(WHOLE.as_tree() | {"colour": 1}), r"^status\.json .*\(.*\bcolour\b"),
    ],
)
def test_what_this_version_cannot_read_says_why(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "status.json").write_text(text, encoding="utf-8")
    with pytest.raises(Unreadable, match=message):
        read_status(tmp_path)


def test_work_without_a_status_is_of_an_earlier_version(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"no status\.json\b.*earlier version"):
        read_status(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_on_a_full_disk_the_last_status_overwrites_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    write_status(tmp_path, replace(WHOLE, state=State.RUNNING))
    before = (tmp_path / "status.json").stat().st_ino

    def full(path: Path, *given: object, **more: object) -> None:
        path.touch()
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_text", full)
    write_status(tmp_path, WHOLE)
    monkeypatch.undo()
    assert read_status(tmp_path) == replace(WHOLE, metrics={})
    assert (tmp_path / "status.json").stat().st_ino == before
    assert [file.name for file in tmp_path.iterdir()] == ["status.json"]


def test_on_a_full_disk_without_one_before_it_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="full"):
        write_status(tmp_path, WHOLE)
