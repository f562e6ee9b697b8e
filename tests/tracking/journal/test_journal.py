"""What is written is whole, once, and survives kills, a full disk and outputs that are replaced."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.tracking.journal.artifacts import COPIED_BYTES, kept_file
from bakeoff.tracking.journal.entries import ParamsEntry, parse_line
from bakeoff.tracking.journal.journal import Journal, entries
from bakeoff.tracking.journal.journal_folder import FILE, is_being_written

pytestmark = pytest.mark.usefixtures("workspace")


def read_entries(journal: Journal, *kinds: str) -> list[Any]:
    """Without the time."""
    chosen = [entry for entry, _ in entries(journal.folder) if entry and (not kinds or entry.kind in kinds)]
    return [replace(entry, at=0) for entry in chosen]


@pytest.mark.parametrize("damage", [b"", b"\n", b"00000000 {}\n", b"no checksum\n", b"zz {}\n"])
def test_a_damaged_line_is_passed_over(damage: bytes) -> None:
    assert parse_line(damage) is None


def test_a_line_that_a_kill_cut_off_is_passed_over_and_the_next_is_whole() -> None:
    journal = Journal("run")
    journal.metrics(1, {"loss": 0.5})
    journal.metrics(2, {"loss": 0.25})
    journal.close()
    file = journal.folder / FILE
    file.write_bytes(file.read_bytes()[:-9])
    assert [entry.step for entry in read_entries(journal)] == [1]
    again = Journal("run")
    again.metrics(2, {"loss": 0.25})
    again.close()
    assert [entry.step for entry in read_entries(journal)] == [1, 2]


def test_steps_that_are_taken_again_after_an_interruption_are_written_once() -> None:
    for steps in ((1, 2, 3), (2, 3, 4)):
        journal = Journal("run")
        for step in steps:
            journal.metrics(step, {"loss": 1 / step, "examples_per_second": 100.0 + len(read_entries(journal))})
            if step == 3:
                journal.metrics(step, {"validation/accuracy": 0.5})
        journal.close()
    assert [entry.step for entry in read_entries(journal)] == [1, 2, 3, 3, 4]
    assert read_entries(journal)[3].values == {"validation/accuracy": 0.5}


def test_nothing_is_written_of_a_run_that_another_machine_reports() -> None:
    journal, is_elsewhere = Journal("run"), [False]
    journal.is_silent = lambda: is_elsewhere[0]
    journal.state("RUNNING")
    journal.metrics(1, {"loss": 0.5})
    is_elsewhere[0] = True
    journal.metrics(2, {"loss": 0.25})
    journal.tags({"bakeoff.state": "STOPPED"})
    journal.state("KILLED")
    journal.close()
    assert [entry.kind for entry in read_entries(journal)] == ["state", "metrics"]
    assert not (journal.folder / "running").exists()


def test_a_revised_result_is_written_again_only_if_it_differs() -> None:
    journal = Journal("run")
    for value in (0.5, 0.5, 0.75):
        journal.metrics(10, {"evaluation/accuracy": value}, revised=True)
    journal.close()
    assert [entry.values for entry in read_entries(journal)] == [
        {"evaluation/accuracy": 0.5},
        {"evaluation/accuracy": 0.75},
    ]


def test_params_and_tags_are_written_once_and_a_changed_param_becomes_a_tag() -> None:
    for every in ("10", "20"):
        journal = Journal("run")
        journal.params({"lr.peak": "0.5", "train.log_every_steps": every})
        journal.tags({"host": "here"})
        journal.close()
    assert read_entries(journal, "params") == [ParamsEntry({"lr.peak": "0.5", "train.log_every_steps": "10"})]
    assert [entry.values for entry in read_entries(journal, "tags")] == [
        {"host": "here"},
        {"changed.train.log_every_steps": "20"},
    ]


def test_a_value_over_mlflows_limit_is_cut_with_a_mark_and_kept_whole_in_a_file() -> None:
    journal = Journal("run")
    whole = "0.1, " * 2000
    journal.params({"lr.values": whole})
    journal.close()
    file, params = read_entries(journal)
    mark = " [cut; all 10,000 characters: long/params/lr.values.txt]"
    assert params.values["lr.values"] == whole[: 6000 - len(mark)] + mark
    assert file.name == "long/params/lr.values.txt" and file.bytes == 10_000
    kept = kept_file(file, journal.folder / "files")
    assert kept and kept.read_text() == whole


@pytest.mark.parametrize("size", [10, COPIED_BYTES + 1])
def test_an_artifact_is_kept_as_it_was_when_its_path_holds_another(size: int, workspace: Path) -> None:
    output = workspace / "best.weights.h5"
    output.write_bytes(b"a" * size)
    journal = Journal("run")
    journal.file(output, "train/best.weights.h5")
    journal.file(output, "train/best.weights.h5")  # the same again says nothing new
    output.unlink()
    output.write_bytes(b"b" * size)
    journal.file(output, "train/best.weights.h5")
    journal.close()
    first, second = (kept_file(entry, journal.folder / "files") for entry in read_entries(journal))
    assert first and first.read_bytes() == b"a" * size
    assert second and second.read_bytes() == b"b" * size


def test_what_a_file_held_is_not_taken_from_a_path_that_holds_something_else(workspace: Path) -> None:
    output = workspace / "note"
    output.write_text("one")
    journal = Journal("run")
    journal.file(output, "note")
    journal.close()
    [entry] = read_entries(journal)
    (journal.folder / "files" / entry.sha256).unlink()
    assert kept_file(entry, journal.folder / "files") == output
    output.write_text("two")
    assert kept_file(entry, journal.folder / "files") is None


def test_a_full_disk_loses_no_line_and_writes_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    journal, room, real = Journal("run"), [10_000], os.write

    def write(file: int, content: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = real(file, content[: room[0]])
        room[0] -= written
        return written

    with monkeypatch.context() as full:
        full.setattr(os, "write", write)
        for step in range(1, 200):  # about 100 bytes a line: the disk is full in the middle of one
            journal.metrics(step, {"train/loss": step / 3})
        assert journal.trouble and "No space left" in str(journal.trouble)
        assert 0 < len(read_entries(journal)) < 199
        room[0] = 2_500  # some lines and a half
        journal.metrics(200, {"train/loss": 0.0})
        room[0] = 10_000_000
        journal.metrics(201, {"train/loss": 0.0})
    journal.close()
    assert [entry.step for entry in read_entries(journal)] == list(range(1, 202))


def test_a_journal_that_is_removed_while_it_is_written_is_restored_whole() -> None:
    journal = Journal("run")
    journal.metrics(1, {"loss": 0.5})
    shutil.rmtree(".bakeoff")
    journal.metrics(2, {"loss": 0.25})
    assert [entry.step for entry in read_entries(journal)] == [1, 2] and is_being_written(journal.folder)
    shutil.rmtree(".bakeoff")
    journal.state("FAILED")
    journal.close()
    assert [entry.kind for entry in read_entries(journal)] == ["metrics", "metrics", "state"]
    assert not is_being_written(journal.folder)


def test_whether_a_journal_has_the_end_of_its_run_is_known() -> None:
    for state, is_finished in (("RUNNING", False), ("FINISHED", True), ("RUNNING", False)):
        journal = Journal("run")
        journal.state(state)
        journal.close()
        assert Journal("run").is_finished == is_finished


def test_whether_a_journal_is_being_written_can_be_seen() -> None:
    journal = Journal("run")
    assert is_being_written(journal.folder)
    journal.close()
    assert not is_being_written(journal.folder)
