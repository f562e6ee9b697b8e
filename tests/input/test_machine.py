from pathlib import Path

import pytest

from bakeoff.input import machine


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def of_groups(folder: Path) -> tuple[list[int], list[int]]:
    return machine._of_control_groups(folder / "cgroup", folder / "own")


def test_tightest_of_nested_groups_counts_without_the_pages_it_would_give_back(tmp_path: Path) -> None:
    """Version 2: a job of 3,000 of which 1,000 are used, 400 of these for files; above it 5,000, of which 4,800."""
    write(tmp_path / "own", "0::/team/job\n")
    write(tmp_path / "cgroup/team/job/memory.max", "3000\n")
    write(tmp_path / "cgroup/team/job/memory.current", "1000\n")
    write(tmp_path / "cgroup/team/job/memory.stat", "anon 600\ninactive_file 400\n")
    write(tmp_path / "cgroup/team/memory.max", "5000\n")
    write(tmp_path / "cgroup/team/memory.current", "4800\n")
    limits, lefts = of_groups(tmp_path)
    assert sorted(limits) == [3000, 5000] and sorted(lefts) == [200, 2400]


def test_group_without_a_limit_says_nothing(tmp_path: Path) -> None:
    write(tmp_path / "own", "0::/\n")
    write(tmp_path / "cgroup/memory.max", "max\n")
    write(tmp_path / "cgroup/memory.current", "1000\n")
    assert of_groups(tmp_path) == ([], [])


def test_groups_of_version_1_are_read_too(tmp_path: Path) -> None:
    write(tmp_path / "own", "5:cpu,cpuacct:/a\n4:memory:/job\n")
    write(tmp_path / "cgroup/memory/job/memory.limit_in_bytes", "3000")
    write(tmp_path / "cgroup/memory/job/memory.usage_in_bytes", "2900")
    write(tmp_path / "cgroup/memory/job/memory.stat", "total_inactive_file 50\n")
    write(tmp_path / "cgroup/memory/memory.limit_in_bytes", "9223372036854771712")  # its word for no limit
    write(tmp_path / "cgroup/memory/memory.usage_in_bytes", "5000")
    assert of_groups(tmp_path) == ([3000], [150])


def test_system_without_groups_has_no_limits(tmp_path: Path) -> None:
    assert of_groups(tmp_path) == ([], [])


def test_free_memory_of_the_fullest_accelerator_is_asked_of_its_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text('#!/bin/sh\n[ "$1" = --query-gpu=memory.free ] && printf "24000\\n8000\\n"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert machine._device_free_bytes() == 8000 * 2**20


def test_machine_without_an_accelerator_has_no_memory_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert machine._device_free_bytes() == 0


def test_this_machine_has_some_memory_and_cores() -> None:
    here = machine.look()
    assert 0 < here.free_bytes <= here.total_bytes and here.cores >= 1
