"""What a tool that answers as NVIDIA's does makes of the system's metrics."""

import sys
from pathlib import Path

import pytest

from bakeoff.tracking import gpus, system


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "nvidia-smi"


def answers(tool: Path, text: str, code: int) -> None:
    tool.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
    tool.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="stands in for a program by a shell script")
@pytest.mark.parametrize("text", ["0, 93, 1000, 4000\n1, 0, 0, 4000", "0, [N/A], [N/A], 4000", "broken"])
def test_each_gpu_is_told_of_unless_a_figure_is_not_available(text: str, tool: Path) -> None:
    assert gpus.look() == {}  # there is no tool
    answers(tool, text, code=1 if text == "broken" else 0)
    found = {
        "system/gpu_0_utilization_percentage": 93.0,
        "system/gpu_0_memory_usage_megabytes": 1048.576,
        "system/gpu_0_memory_usage_percentage": 25.0,
        "system/gpu_1_utilization_percentage": 0.0,
        "system/gpu_1_memory_usage_megabytes": 0.0,
        "system/gpu_1_memory_usage_percentage": 0.0,
    }
    assert gpus.look() == (found if text[0:5] == "0, 93" else {})
    assert system.look().items() >= gpus.look().items()
