"""How long stages took: told by them, and by the command that runs them."""

import os
import time
from pathlib import Path

import pytest

from bakeoff.foundation import workspace
from bakeoff.foundation.timings import COMMAND, begin_command, end_command, keep_duration, read_durations, seconds_here


@pytest.fixture(autouse=True)
def place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(COMMAND, raising=False)
    return place


@pytest.mark.skipif(not Path("/proc/uptime").is_file(), reason="reads Linux's own numbers")
def test_a_process_is_as_old_as_the_system_says() -> None:
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    up = float(Path("/proc/uptime").read_text().split()[0])
    assert seconds_here() == pytest.approx(up - ticks / os.sysconf("SC_CLK_TCK"), abs=2.0)


def test_a_command_counts_what_it_took_besides_its_own_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_duration("train", "a", 1000.0)  # by itself
    begin_command()
    keep_duration("train", "a", 6.0)
    keep_duration("evaluate", "b", 3.0)
    monkeypatch.setattr("bakeoff.foundation.timings.seconds_here", lambda: 11.5)
    end_command("dvc")
    assert COMMAND not in os.environ
    last = read_durations()[-1]
    assert (last.what, last.key, last.seconds) == ("dvc", "2", 2.5)


def test_lines_that_hold_no_time_are_passed_over() -> None:
    keep_duration("train", "a", 6.0, rest=2.0, look=0.5, steps=9)
    with workspace.durations().open("ab") as file:
        file.write(b'\xff\xfe\n[1]\n"a"\n{"what": "train"}\n' + bytes(99) + b"\n" + b"[" * 100_000 + b"\n")
        for seconds in (b'"x"', b"-1", b"NaN", b'"NaN"', b"1e999", b"1" + b"0" * 4000, b"null", b"{}"):
            file.write(b'{"what": "train", "key": "a", "command": "", "cores": 2, "seconds": ' + seconds + b"}\n")
        file.write(b'{"what": "train", "key": "a", "command": "", "cores": 0, "seconds": 1}\n')
        file.write(b'{"what": "train", "key": "a", "command": "", "cores": 2, "seconds": 1, "rest": "x"}\n')
    [row] = read_durations()
    assert (row.seconds, row.rest, row.validation, row.steps) == (6.0, 2.0, 0.5, 9.0)


def test_a_result_is_no_failure_for_want_of_a_place_to_note_its_time(place: Path) -> None:
    (place / ".bakeoff").write_text("a file where the folder should be")
    keep_duration("train", "a", time.monotonic())
    assert read_durations() == []
