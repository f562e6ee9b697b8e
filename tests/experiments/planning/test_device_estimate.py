"""What a plan says of the chosen device: found on random weights once, and kept."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.variant import ResolvedVariant, parse_variant
from bakeoff.experiments.planning import device_estimate as planning
from bakeoff.experiments.planning.device_estimate import Outlook, look_ahead
from bakeoff.experiments.planning.device_trial import try_device
from bakeoff.experiments.planning.plan import check_devices
from bakeoff.export.settings import Export
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from support.imports import ROOT
from support.lite_files import CLASSES, MODELS
from support.messages import missing_in

MANIFEST: Any = SimpleNamespace(classes=CLASSES, multi_label=False)


def a_run(export: Export) -> Any:
    return SimpleNamespace(model=MODELS["detection"], export=export, derived=SimpleNamespace(num_classes=3), name="ssd")


def test_a_plan_without_a_device_says_nothing(tmp_path: Path) -> None:
    assert look_ahead(a_run(Export()), MANIFEST, tmp_path) is None


@pytest.mark.long
def test_the_file_is_made_with_random_weights() -> None:
    run = a_run(Export(formats=("saved_model", "int8"), device="limelight_coral", threads=2))
    outlook = try_device(run, MANIFEST)
    assert (outlook.device, outlook.form, outlook.threads) == ("limelight_coral", "int8", 2)
    assert 20_000 < outlook.bytes < 400_000 and outlook.latency_ms > 0 and outlook.calls > 0
    assert missing_in(outlook.operations, "Edge TPU", "38 of 44") == []


def test_the_operations_are_compared_with_those_of_the_chip() -> None:
    run = a_run(Export(formats=("saved_model", "onnx"), device="hailo8", layout="heads"))
    outlook = try_device(run, MANIFEST)
    assert (outlook.device, outlook.form) == ("hailo8", "onnx") and outlook.latency_ms > 0
    assert missing_in(outlook.operations, "Hailo", "operations", "Conv") == []


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Programs in the place of the process that converts; the last one is run."""
    programs: list[list[str]] = []
    real = subprocess.Popen
    monkeypatch.setattr(planning, "write", lambda run, path: path.touch())
    monkeypatch.setattr(subprocess, "Popen", lambda command, **how: real(programs.pop(), **how))
    return programs


def test_a_process_of_its_own_finds_it_once(tmp_path: Path, child: list[list[str]]) -> None:
    run = a_run(Export(formats=("saved_model", "int8"), device="limelight_coral"))
    outlook = Outlook("limelight_coral", "int8", 7, 0.5, 1, 20, "")
    child.append(
        [sys.executable, "-c", f"import sys; print('noise', file=sys.stderr); print({json.dumps(asdict(outlook))!r})"]
    )
    assert look_ahead(run, MANIFEST, tmp_path) == outlook
    [kept] = tmp_path.iterdir()
    assert json.loads(kept.read_text())["bytes"] == 7
    assert look_ahead(run, MANIFEST, tmp_path) == outlook and not child


@pytest.mark.parametrize(
    ("program", "parts"),
    [
        ("import sys; sys.exit('export.formats: int8 cannot be made')", ("export.formats: int8 cannot be made",)),
        ("import os; os.abort()", ("export.device", "SIGABRT")),
    ],
)
def test_what_the_process_says_last_is_the_message(
    program: str, parts: tuple[str, ...], tmp_path: Path, child: list[list[str]]
) -> None:
    child.append([sys.executable, "-c", program])
    with pytest.raises((ConfigError, WorkspaceError)) as refused:
        look_ahead(a_run(Export(formats=("int8",), device="limelight_coral")), MANIFEST, tmp_path)
    assert missing_in(str(refused.value), *parts) == [] and not any(tmp_path.iterdir())


@pytest.mark.parametrize(("devices", "there"), [(1, True), ("all", True), ("cpu", True), (2, False), (3, False)])
def test_more_devices_than_there_are_are_refused_by_the_plan(
    devices: int | str, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    composed = compose(ROOT / "params.yaml", ROOT / "conf", overrides=[f"+train.devices={devices}"])
    draft = parse_variant(composed.tree, composed.problems)
    check_devices(ResolvedVariant(None, draft, composed, composed.problems))
    lines = composed.problems.lines
    assert (not lines) if there else not missing_in(lines[0], "command line: train.devices: ", "1", f"{devices}", "all")
