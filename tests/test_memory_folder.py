"""Where the tests make their folders."""

import os
from pathlib import Path

import pytest

from support import memory_folder
from support.memory_folder import FAST_TESTS, VARIABLE, choose_root, suits


@pytest.fixture
def everything_suits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_folder, "suits", lambda folder: True)


@pytest.mark.usefixtures("everything_suits")
@pytest.mark.parametrize(
    ("environment", "marks", "expected"),
    [
        *(({}, marks, "/memory") for marks in FAST_TESTS),
        ({}, "slow", None),  # the proofs ask about a disk
        ({}, "slow or not slow", None),
        ({VARIABLE: "/mine"}, FAST_TESTS[0], "/mine"),
    ],
)
def test_fast_tests_are_in_memory_unless_somebody_chose_a_place(
    environment: dict[str, str], marks: str, expected: str | None
) -> None:
    choose_root(environment, marks, Path("/memory"))
    assert environment.get(VARIABLE) == expected


def test_a_folder_without_room_or_that_is_not_there_does_not_suit(tmp_path: Path) -> None:
    assert suits(tmp_path, room=0)
    assert not suits(tmp_path, room=2**60)
    assert not suits(tmp_path / "nowhere", room=0)


@pytest.mark.skipif(os.name != "posix", reason="Windows does not say how a folder is mounted")
def test_a_folder_that_runs_no_programs_does_not_suit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = os.statvfs(tmp_path)
    monkeypatch.setattr(
        os, "statvfs", lambda folder: os.statvfs_result((*flags[:8], flags.f_flag | os.ST_NOEXEC, *flags[9:]))
    )
    assert not suits(tmp_path, room=0)
