"""What a run records of its machine, which distinguishes it from others, and how busy the machine is."""

import platform
import sys
import time
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

from bakeoff.foundation import machine
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.sync import system_metrics, watch

CPUINFO = """processor	: 0
model name	: Quick CPU @ 3 GHz
flags		: fpu sse4_2 avx fma avx2 rdseed

processor	: 1
model name	: Other
"""


def test_a_processor_is_named_with_the_instructions_that_decide_how_it_multiplies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_metrics, "CPUINFO", tmp_path / "cpuinfo")
    system_metrics.CPUINFO.write_text(CPUINFO, encoding="utf-8")
    monkeypatch.setattr(system_metrics.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert system_metrics.processor() == "x86_64; Quick CPU @ 3 GHz; 1 core; sse4_2 avx avx2 fma"


def test_an_unknown_processor_is_reported_as_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_metrics, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(system_metrics.platform, "processor", lambda: "")
    assert system_metrics.processor().split("; ")[1::2] == ["unknown", "unknown"]


def test_versions_are_those_that_are_installed() -> None:
    (package,) = {*packages_distributions()["tensorflow"]}  # tensorflow, or tensorflow-cpu
    assert system_metrics.versions() == (
        f"python {platform.python_version()}, tensorflow {version(package)}, keras {version('keras')}, "
        f"numpy {version('numpy')}"
    )


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "nvidia-smi"


def answers(tool: Path, text: str, code: int) -> None:
    tool.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
    tool.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="stands in for a program by a shell script")
@pytest.mark.parametrize("text", ["0, 93, 1000, 4000\n1, 0, 0, 4000", "0, [N/A], [N/A], 4000", "broken"])
def test_each_gpu_is_reported_unless_a_figure_is_not_available(text: str, tool: Path) -> None:
    assert system_metrics.measure_gpus() == {}  # there is no tool
    answers(tool, text, code=1 if text == "broken" else 0)
    figures = {
        "system/gpu_0_utilization_percentage": 93.0,
        "system/gpu_0_memory_usage_megabytes": 1048.576,
        "system/gpu_0_memory_usage_percentage": 25.0,
        "system/gpu_1_utilization_percentage": 0.0,
        "system/gpu_1_memory_usage_megabytes": 0.0,
        "system/gpu_1_memory_usage_percentage": 0.0,
    }
    assert system_metrics.measure_gpus() == (figures if text[0:5] == "0, 93" else {})
    assert system_metrics.measure_load().items() >= system_metrics.measure_gpus().items()


def test_a_machine_is_measured_after_the_first_metric_of_the_training(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow's comparison of runs begins with the metric that came first."""
    monkeypatch.setattr(watch, "start_sender", lambda key: None)
    monkeypatch.setattr(watch, "MEASURE_EVERY_S", 0.01)
    journal = Journal("0f")
    stage = watch.Watch(journal, Target("sqlite:///store.db", "bakeoff"), 0.01)
    time.sleep(0.1)
    assert not journal.has_metrics
    journal.metrics(1, {"train/loss": 0.5})
    end = time.monotonic() + 10
    while not journal.next_step(system_metrics.FIRST) and time.monotonic() < end:
        time.sleep(0.01)
    assert journal.next_step(system_metrics.FIRST)
    stage.end(0)
    journal.close()
