"""The parts of `make gpu-proof`, tried on the CPU: they run, and find what must be so there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import ROOT

pytestmark = pytest.mark.slow


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks/gpu.py"), *arguments, "--keep", str(folder)]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    done = run(folder=tmp_path)
    assert done.returncode != 0 and done.stdout == ""
    assert "no GPU" in done.stderr and len(done.stderr.splitlines()) == 1


def test_parts_run_one_at_a_time_and_find_equal_bits_on_the_cpu(tmp_path: Path) -> None:
    done = run("bits", "export", "moved", "--on", "cpu", "--steps", "160", "--minutes", "60", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    found = {(part, what.split(" at ")[0].split(" 1")[0]): result for part, what, result in cells}
    assert found["bits", "one seed twice"].startswith("equal to the bit")
    assert found["bits", "killed"].startswith("equal to the bit") and "resumed at []" not in done.stdout
    assert "equal to the bit" in found["export", "export"]
    assert {part for part, _ in found} >= {"bits", "export", "moved"}
    assert not (tmp_path / "gpu-proof.json").exists()  # which only a GPU's numbers enter


def test_what_was_measured_stays_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "gpu-proof.json").write_text(json.dumps({"bits": [["one seed twice", "equal to the bit (abc…)"]]}))
    done = run("doctor", "--on", "cpu", "--steps", "2", folder=tmp_path)
    assert "| bits | one seed twice | equal to the bit (abc…) |" in done.stdout
