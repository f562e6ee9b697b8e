"""What a run records of its machine, which distinguishes it from others, and how busy the machine is."""

import platform
import shutil
import sys
import time
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation import machine
from bakeoff.foundation.workspace import journals
from bakeoff.tracking import tracker
from bakeoff.tracking.journal.entries import TagsEntry
from bakeoff.tracking.journal.journal import Journal, entries_of
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
@pytest.mark.parametrize(
    "text", ["0, 93, 1000, 4000, 71.5\n1, 0, 0, 4000, [N/A]", "0, [N/A], [N/A], 4000, 70", "broken"]
)
def test_each_gpu_is_reported_unless_a_figure_is_not_available(text: str, tool: Path) -> None:
    assert system_metrics.measure_gpus() == {}  # there is no tool
    answers(tool, text, code=1 if text == "broken" else 0)
    figures = {
        "system/gpu_0_utilization_percentage": 93.0,
        "system/gpu_0_memory_usage_megabytes": 1048.576,
        "system/gpu_0_memory_usage_percentage": 25.0,
        "system/gpu_0_power_usage_watts": 71.5,
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


@pytest.fixture
def powercap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as Linux has it: a package with its cores and its memory, and psys, which has all of them."""
    folder = tmp_path / "powercap"
    monkeypatch.setattr(system_metrics, "POWERCAP", folder)
    zones = {
        "intel-rapl": None, "intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram",
        "intel-rapl:1": "psys", "intel-rapl-mmio:0": "package-0",
    }  # fmt: skip
    for zone, name in zones.items():
        (folder / zone).mkdir(parents=True)
        if name:
            (folder / zone / "name").write_text(f"{name}\n")
            count(folder, zone, 7_000_000)
    return folder


def count(powercap: Path, zone: str, microjoules: int) -> None:
    """Whoever reads meanwhile gets whole numbers, as from the kernel."""
    for name, value in (("energy_uj", microjoules), ("max_energy_range_uj", 262143328850)):
        new = powercap / zone / f"{name}.new"
        new.write_text(f"{value}\n")
        new.replace(powercap / zone / name)


def test_energy_is_that_of_packages_and_memory_also_after_a_counter_began_anew(powercap: Path) -> None:
    count(powercap, "intel-rapl:0", 262_143_000_000)
    meter = system_metrics.EnergyMeter(dict.fromkeys(system_metrics.ENERGY, 0.0))
    count(powercap, "intel-rapl:0:0", 9_000_000)  # within the package
    count(powercap, "intel-rapl:1", 99_000_000)
    count(powercap, "intel-rapl:0:1", 8_500_000)
    assert meter.add({}) == {system_metrics.PROCESSORS: 1.5}  # no GPU is known
    count(powercap, "intel-rapl:0", 2_000_000)
    assert meter.add({})[system_metrics.PROCESSORS] == pytest.approx(1.5 + 0.328850 + 2)
    assert system_metrics.EnergyMeter({}).add({}) == {}


@pytest.mark.parametrize("damage", ["unreadable", "gone", "text"])
def test_no_energy_is_known_once_a_counter_cannot_be_read(damage: str, powercap: Path) -> None:
    meter = system_metrics.EnergyMeter({system_metrics.PROCESSORS: 10.0})
    assert meter.add({}) == {system_metrics.PROCESSORS: 10.0}
    file = powercap / "intel-rapl:0/energy_uj"
    if damage == "text":
        file.write_text("<not supported>")
    elif damage == "gone":
        shutil.rmtree(file.parent)
    else:
        file.unlink()
        file.mkdir()  # root, too, gets an OSError here
    assert meter.add({}) == {}
    if damage != "gone":  # else what is left is all that this machine has
        assert system_metrics.EnergyMeter({system_metrics.PROCESSORS: 10.0}).add({}) == {}


def test_gpus_use_their_power_times_the_seconds(powercap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(powercap)
    clock = iter([100.0, 110.0, 114.0])
    monkeypatch.setattr(system_metrics.time, "monotonic", lambda: next(clock))
    meter = system_metrics.EnergyMeter({system_metrics.GPUS: 5.0})
    meter.add({"system/gpu_0_power_usage_watts": 70.0, "system/gpu_1_power_usage_watts": 30.0})
    assert meter.add({"system/gpu_0_power_usage_watts": 50.0}) == {system_metrics.GPUS: 5 + 1000 + 200}


def test_a_run_that_resumes_adds_to_the_energy_in_its_journal(
    workspace: Path, powercap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "start_sender", lambda key: None)

    def run_process(run_id: str, microjoules: int, *, has_begun: bool) -> dict[str, str]:
        """Return the tags of energy after a process that used so much."""
        count(powercap, "intel-rapl:0", 0)
        with tracker.start(Mlflow(uri="sqlite:///store.db", wait_s=0), "a run", {}, run_id=run_id) as copy:
            copy.begin_energy(has_begun=has_begun)
            copy.metrics(1, {"train/loss": 0.5})
            count(powercap, "intel-rapl:0", microjoules)
            copy.end_energy()
        found = {
            name: value for entry in entries_of(journals() / run_id, TagsEntry) for name, value in entry.values.items()
        }
        return {name: value for name, value in found.items() if "energy" in name}

    assert run_process("0f", 3_000_000, has_begun=False) == {"bakeoff.processor_energy_joules": "3.0"}
    assert run_process("0f", 2_500_000, has_begun=True) == {"bakeoff.processor_energy_joules": "5.5"}
    assert run_process("1f", 2_500_000, has_begun=True) == {}  # the steps before were taken elsewhere
    shutil.rmtree(powercap / "intel-rapl:0:1")
    (powercap / "intel-rapl:0:0/name").unlink()  # unreadable
    assert run_process("0f", 1_000_000, has_begun=True) == {"bakeoff.processor_energy_joules": "unknown"}
