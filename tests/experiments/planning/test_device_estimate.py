"""What a plan says of the chosen device: found on random weights once, and kept."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.variant import ResolvedVariant, parse_variant
from bakeoff.experiments.planning import device_estimate as planning
from bakeoff.experiments.planning.device_estimate import look_ahead
from bakeoff.experiments.planning.plan import check_devices
from bakeoff.export.settings import Export
from support.imports import ROOT
from support.lite_files import CLASSES, MODELS
from support.messages import missing_in

MANIFEST: Any = SimpleNamespace(classes=CLASSES, multi_label=False)


def a_run(export: Export) -> Any:
    return SimpleNamespace(model=MODELS["detection"], export=export, derived=SimpleNamespace(num_classes=3), name="ssd")


def test_a_plan_without_a_device_says_nothing(tmp_path: Path) -> None:
    assert look_ahead(a_run(Export()), MANIFEST, tmp_path) is None


def test_the_file_is_made_once_with_random_weights_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run(Export(formats=("saved_model", "int8"), device="limelight_coral", threads=2))
    outlook = look_ahead(run, MANIFEST, tmp_path)
    assert outlook is not None
    assert (outlook.device, outlook.form, outlook.threads) == ("limelight_coral", "int8", 2)
    assert 20_000 < outlook.bytes < 400_000 and outlook.latency_ms > 0 and outlook.calls > 0
    assert missing_in(outlook.edge_tpu, "Edge TPU", "38 of 44") == []
    [kept] = tmp_path.iterdir()
    assert json.loads(kept.read_text())["bytes"] == outlook.bytes
    monkeypatch.setattr(planning, "load_tensorflow", lambda: pytest.fail("is kept already"))
    assert look_ahead(run, MANIFEST, tmp_path) == outlook


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
