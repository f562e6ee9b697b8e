"""The line about the device of a training, and the warning about an idle GPU. NVIDIA's tool is imitated."""

import os
from pathlib import Path

import pytest

from bakeoff.experiments.runs import device
from bakeoff.experiments.runs.device import GpuFault, describe_unused, keep_device, name_gpus, print_device
from bakeoff.experiments.runs.memory_use import MemoryUse
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.machine import gpu_names
from bakeoff.foundation.versions import library_version
from bakeoff.tracking.sync import system_metrics
from support.messages import missing_in

POSIX = pytest.mark.skipif(os.name != "posix", reason="puts a shell script into the path")
VISIBLE = "CUDA_VISIBLE_DEVICES"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with two GPUs, as NVIDIA's tool lists them."""
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    file = tmp_path / "nvidia-smi"
    file.write_text(
        '#!/bin/sh\n[ "$1" = "--query-gpu=name" ] || exit 9\n'
        '[ "$3" = "--id=1" ] && echo "NVIDIA A10" || printf "Tesla T4\\nNVIDIA A10\\n"\n',
        encoding="ascii",
    )
    file.chmod(0o755)
    return file


@POSIX
def test_gpus_are_those_that_a_program_may_see(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu_names() == ["Tesla T4", "NVIDIA A10"]
    monkeypatch.setenv(VISIBLE, "1")
    assert gpu_names() == ["NVIDIA A10"]
    for hidden in ("", "-1"):
        monkeypatch.setenv(VISIBLE, hidden)
        assert gpu_names() == []
    monkeypatch.delenv(VISIBLE)
    tool.write_text("#!/bin/sh\nexit 9\n", encoding="ascii")
    assert gpu_names() == []


@POSIX
def test_a_gpu_that_tensorflow_does_not_see_is_a_warning(
    tool: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has GPUs")
    print_device(1)
    out, err = capsys.readouterr()
    assert out.startswith("train: computes on the CPU, ") and out.count("\n") == 1
    named = ("warning: nvidia-smi", "2 GPUs: Tesla T4, NVIDIA A10", "none", "`make GPU=1 repro`")
    assert missing_in(err, *named, "CUDA_VISIBLE_DEVICES=-1") == [] and err.count("\n") == 1
    monkeypatch.setenv(VISIBLE, "-1")
    print_device(1)
    assert capsys.readouterr() == (out, "")


@pytest.mark.parametrize(
    ("flags", "warned"), [("avx2 avx512f", True), ("avx512f avx512_bf16", False), ("amx_bf16", False)]
)
def test_bfloat16_on_a_processor_that_has_none_is_a_warning(
    flags: str, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VISIBLE, "-1")
    monkeypatch.setattr(device, "_details", lambda replicas: [])  # also where TensorFlow has seen GPUs before
    monkeypatch.setattr(system_metrics, "CPUINFO", tmp_path / "cpuinfo")
    system_metrics.CPUINFO.write_text(f"model name : Quick CPU\nflags : {flags}\n", encoding="ascii")
    print_device(1)
    assert capsys.readouterr().err == ""
    print_device(1, mixed_precision=True)
    err = capsys.readouterr().err
    assert missing_in(err, "warning: train.mixed_precision: ", "bfloat16", "false") == [] if warned else err == ""


def test_gpus_are_counted_by_name() -> None:
    assert name_gpus(["NVIDIA A10"]) == "1 GPU: NVIDIA A10"
    assert name_gpus(["a", "b", "a"]) == "3 GPUs: 2 x a, b"


def test_on_windows_the_remedy_is_another_system() -> None:
    assert missing_in(describe_unused(["a"], "win32"), "no GPUs", "Windows", "WSL2") == []


def test_the_remedy_fits_the_tensorflow_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "package_of", lambda library: library)
    install = f"install 'tensorflow[and-cuda]=={library_version('tensorflow')}'"
    assert install in describe_unused(["Tesla T4"], "linux")
    monkeypatch.setattr(device, "package_of", lambda library: f"{library}-cpu")
    remedy = describe_unused(["Tesla T4"], "linux")
    assert missing_in(remedy, "tensorflow-cpu", "no GPUs", "`make GPU=1 repro`") == []


def test_a_run_that_loses_its_gpu_is_refused_unless_the_cpu_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setattr(device, "_details", lambda replicas: [{"device_name": "Tesla T4"}] * replicas)
    keep_device(tmp_path, 2)
    keep_device(tmp_path, 1)  # another number of GPUs is another run, and none of this check's business
    monkeypatch.setattr(device, "_details", lambda replicas: [])
    with pytest.raises(WorkspaceError) as refused:
        keep_device(tmp_path, 1)
    assert missing_in(str(refused.value), "1 GPU: Tesla T4", "the CPU", "doctor", f"{VISIBLE}=-1") == []
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv(VISIBLE, "-1")
    keep_device(tmp_path, 1)
    assert missing_in(capsys.readouterr().err, "warning: ", "Tesla T4", "the CPU", "to the bit") == []
    keep_device(tmp_path, 1)
    assert capsys.readouterr() == ("", "")  # once for each change


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "could not synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
            "LAUNCH_FAILED",
        ),
        ("Dst tensor: CUDNN_STATUS_EXECUTION_FAILED in external/xla/dnn.cc(12)", "CUDNN_STATUS_EXECUTION_FAILED"),
    ],
)
def test_a_gpu_that_fails_is_named_with_what_to_do(text: str, name: str) -> None:
    with pytest.raises(GpuFault) as fault:
        MemoryUse().on_error(RuntimeError(text), "train.batch_size", 8)
    assert missing_in(str(fault.value), name, "nvidia-smi", "resumes") == []
    MemoryUse().on_error(RuntimeError("another error"), "train.batch_size", 8)
