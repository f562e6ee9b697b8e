"""What a machine computes on, and why a GPU is not used. NVIDIA's tool is imitated; TensorFlow runs in one test."""

import json
import os
import sys
from pathlib import Path

import pytest

from bakeoff.experiments.runs import diagnosis
from bakeoff.experiments.runs.diagnosis import TensorFlowProbe, examine
from support.messages import missing_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="puts a shell script into the path")
ON_CPU = {"devices": ["CPU"], "steps": {"CPU:0": 0.0125}, "cuda": "12.5.1", "cudnn": "9"}
ON_GPU = ON_CPU | {"devices": ["CPU", "GPU 0: NVIDIA A10"], "steps": {"CPU:0": 0.0125, "GPU:0": 0.001}}
PACKAGES = ["cublas 12.9.3.13", "cudnn 9.28.0.42"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without GPUs, whatever this one has."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    return tmp_path


def add_gpu(place: Path, driver: str = "550.54.15") -> None:
    tool = place / "nvidia-smi"
    tool.write_text(
        '#!/bin/sh\n[ "$1" = "--query-gpu=uuid,name,driver_version,memory.total,memory.free" ] || exit 9\n'
        f'echo "GPU-5a, NVIDIA A10, {driver}, 23028, 22500"\n',
        encoding="ascii",
    )
    tool.chmod(0o755)


def set_trial(monkeypatch: pytest.MonkeyPatch, trial: TensorFlowProbe, packages: list[str]) -> None:
    monkeypatch.setattr(diagnosis, "_try_steps", lambda: trial)
    monkeypatch.setattr(diagnosis, "_cuda_packages", lambda: packages)


def test_a_gpu_that_is_used_is_named_with_driver_memory_and_its_step(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_gpu(place)
    set_trial(monkeypatch, TensorFlowProbe(ON_GPU), PACKAGES)
    findings = examine(place)
    rows = dict(findings.rows)
    assert rows["GPU 0"] == "NVIDIA A10, 24.1 GB, 23.6 GB free, driver 550.54.15"
    assert rows["tensorflow"].endswith(", made for CUDA 12.5.1 and cuDNN 9")
    assert rows["CUDA libraries"] == "cublas 12.9.3.13, cudnn 9.28.0.42"
    assert rows["tensorflow sees"] == "CPU, GPU 0: NVIDIA A10"
    assert (rows["a step on CPU:0"], rows["a step on GPU:0"]) == ("12.5 ms", "1.0 ms")
    assert rows["free disk"].endswith(" GB") and rows["python"].endswith(f"({sys.executable})")
    assert (findings.problem, findings.remark) == (None, None)


@pytest.mark.parametrize(
    ("system", "driver", "packages", "error", "problem"),
    [
        ("linux", "550.54.15", [], "", r"^nvidia-smi .*\b1 GPU: NVIDIA A10, .*\bnone\b.*`make GPU=1 "),
        ("win32", "550.54.15", [], "", r"no GPUs\b.*\bWindows\b.*\bWSL2\b"),
        ("linux", "470.82.01", PACKAGES, "",
         r"\bdriver 470\.82\.01\b.*\bCUDA 12\b.*\b525\b"),
        ("linux", "550.54.15", PACKAGES, "x\nW0 gpu_device.cc:1] Cannot dlopen some GPU libraries. Please make sure\n",
         r"no GPU: Cannot dlopen .*\. Please make sure$"),
        ("linux", "550.54.15", PACKAGES, "nothing", r"no GPU: .*not say why"),
    ],
)  # fmt: skip
def test_a_gpu_that_is_not_used_is_explained(
    system: str, driver: str, packages: list[str], error: str, problem: str, place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    add_gpu(place, driver)
    set_trial(monkeypatch, TensorFlowProbe(ON_CPU, error), packages)
    with pytest.raises(ValueError, match=problem):
        raise ValueError(examine(place, system).problem)


@pytest.mark.parametrize(
    ("system", "visible", "parts"),
    [
        ("linux", None, ("`nvidia-smi`", "no GPU", "driver", "CPU")),
        ("linux", "-1", ("CUDA_VISIBLE_DEVICES=-1", "unset")),
        ("darwin", None, ("CPU", "macOS", "docs/gpu.md")),
        ("win32", None, ("CPU", "Windows", "WSL2", "docs/gpu.md")),
    ],
)  # fmt: skip
def test_a_machine_without_gpus_has_no_problem(
    system: str, visible: str | None, parts: tuple[str, ...], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if visible:
        add_gpu(place)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    set_trial(monkeypatch, TensorFlowProbe(ON_CPU), [])
    findings = examine(place, system)
    assert (findings.problem, missing_in(str(findings.remark), *parts)) == (None, [])
    assert ("GPU", "none that nvidia-smi lists") in findings.rows


def test_a_tensorflow_that_does_not_load_is_a_problem(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_trial(monkeypatch, TensorFlowProbe(error="ImportError: libcudart"), [])
    findings = examine(place)
    assert missing_in(str(findings.problem), "TensorFlow", "ImportError: libcudart", "`make repro`") == []
    assert dict(findings.rows)["tensorflow sees"].startswith("nothing")


def test_a_few_steps_are_timed_on_every_device(capsys: pytest.CaptureFixture[str]) -> None:
    from bakeoff.experiments.runs.benchmark_step import main

    main()
    facts = json.loads(capsys.readouterr().out)
    assert facts["devices"][0] == "CPU" and facts["steps"]["CPU:0"] > 0


def test_the_process_that_times_steps_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis.sys, "executable", "/bin/false")
    assert diagnosis._try_steps() == TensorFlowProbe(error="ended with code 1")
