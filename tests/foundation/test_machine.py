"""Memory that is left, from files as the kernel writes them."""

import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from bakeoff.foundation import machine
from bakeoff.foundation.machine import Gpu, available_memory, list_gpus, oom_kills, total_memory

GB = 10**9


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which 8 GiB are available."""
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8 * 2**30, total=16 * 2**30))
    return tmp_path


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="ascii")


def test_without_a_limit_the_system_says_it(kernel: Path) -> None:
    write(kernel / "proc/self/cgroup", "0::/user.slice\n")
    write(kernel / "cgroup/user.slice/memory.max", "max\n")
    write(kernel / "cgroup/user.slice/memory.current", "5000\n")
    assert available_memory() == 8 * 2**30


def test_the_tightest_limit_of_a_container_and_those_around_it_counts(kernel: Path) -> None:
    write(kernel / "proc/self/cgroup", "0::/pod/box\n")
    for folder, limit, used, cache in (("pod", 6 * GB, 5 * GB, GB // 2), ("pod/box", 4 * GB, 1 * GB, 0)):
        write(kernel / f"cgroup/{folder}/memory.max", f"{limit}\n")
        write(kernel / f"cgroup/{folder}/memory.current", f"{used}\n")
        write(kernel / f"cgroup/{folder}/memory.stat", f"anon 1\ninactive_file {cache}\n")
    assert available_memory() == 1.5 * GB  # of the pod: 6 - 5, and half a GB of files that can be dropped


def test_a_limit_at_the_root_as_a_container_sees_its_own_counts(kernel: Path) -> None:
    write(kernel / "proc/self/cgroup", "0::/\n")
    write(kernel / "cgroup/memory.max", f"{3 * GB}\n")
    write(kernel / "cgroup/memory.current", f"{GB}\n")
    assert available_memory() == 2 * GB


def test_limits_of_version_1_count(kernel: Path) -> None:
    write(kernel / "proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/batch/job\n0::/\n")
    folder = kernel / "cgroup/memory/batch/job"
    write(folder / "memory.limit_in_bytes", f"{2 * GB}\n")
    write(folder / "memory.usage_in_bytes", f"{3 * GB // 2}\n")
    write(folder / "memory.stat", f"cache 1\ntotal_inactive_file {GB // 4}\n")
    write(kernel / "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    write(kernel / "cgroup/memory/memory.usage_in_bytes", "1\n")
    assert available_memory() == 0.75 * GB


def test_more_taken_than_allowed_is_nothing_left(kernel: Path) -> None:
    write(kernel / "proc/self/cgroup", "0::/\n")
    write(kernel / "cgroup/memory.max", "1000\n")
    write(kernel / "cgroup/memory.current", "2000\n")
    assert available_memory() == 0


def test_processes_ended_for_want_of_memory_are_counted(kernel: Path) -> None:
    assert oom_kills() is None
    write(kernel / "proc/vmstat", "nr_free_pages 77\noom_kill 3\n")
    assert oom_kills() == 3


def test_a_limit_is_all_that_a_container_has(kernel: Path) -> None:
    write(kernel / "proc/self/cgroup", "0::/\n")
    write(kernel / "cgroup/memory.max", "1000\n")
    write(kernel / "cgroup/memory.current", "400\n")
    assert total_memory() == 1000


def test_figures_of_this_machine_are_sensible(tmp_path: Path) -> None:
    assert 10**6 < machine.resident_memory() < machine.total_memory() < 10**14
    assert 10**7 < machine.available_memory() <= machine.total_memory()
    assert machine.cores() >= 1
    assert machine.disk_free(tmp_path) is not None and machine.disk_free(tmp_path / "nowhere") is None


@pytest.mark.skipif(os.name != "posix", reason="puts a shell script into the path")
def test_gpus_are_listed_with_driver_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    tool = tmp_path / "nvidia-smi"
    tool.write_text('#!/bin/sh\necho "GPU-5a, Tesla T4, 550.54.15, 15360, 15000"\n', encoding="ascii")
    tool.chmod(0o755)
    assert list_gpus() == [Gpu("GPU-5a", "Tesla T4", "550.54.15", 15360 * 2**20, 15000 * 2**20)]
    tool.write_text('#!/bin/sh\necho "GPU-5a, Tesla T4, 550.54.15, [N/A], [N/A]"\n', encoding="ascii")
    assert list_gpus() == []
    tool.write_text("#!/bin/sh\nexit 9\n", encoding="ascii")
    assert list_gpus() == []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    tool.write_text(
        '#!/bin/sh\n[ "$3" = "--id=1,2" ] && echo "GPU-5b, A10, 550.54.15, 23028, 1024"\n', encoding="ascii"
    )
    assert [(gpu.name, gpu.free_bytes) for gpu in list_gpus()] == [("A10", 2**30)]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert list_gpus() == []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert list_gpus() == []
