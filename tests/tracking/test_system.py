"""What a run says of its machine, so that another one can be told from it."""

import platform
from importlib.metadata import version
from pathlib import Path

import pytest

from bakeoff import machine
from bakeoff.tracking import system

CPUINFO = """processor	: 0
model name	: Quick CPU @ 3 GHz
flags		: fpu sse4_2 avx fma avx2 rdseed

processor	: 1
model name	: Other
"""


def test_a_processor_is_said_with_the_instructions_that_decide_how_is_multiplied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "CPUINFO", tmp_path / "cpuinfo")
    system.CPUINFO.write_text(CPUINFO, encoding="utf-8")
    monkeypatch.setattr(system.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert system.processor() == "x86_64; Quick CPU @ 3 GHz; 1 core; sse4_2 avx avx2 fma"


def test_a_system_that_tells_nothing_of_its_processor_is_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(system.platform, "processor", lambda: "")
    assert system.processor().split("; ")[1::2] == ["unknown", "unknown"]


def test_versions_are_those_that_are_installed() -> None:
    assert system.versions() == (
        f"python {platform.python_version()}, tensorflow {version('tensorflow')}, keras {version('keras')}, "
        f"numpy {version('numpy')}"
    )
