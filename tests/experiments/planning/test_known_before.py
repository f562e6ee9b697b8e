"""What a plan says of a variant's files before it trains, by what runs left and a table of devices."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.experiments.planning import known_before
from bakeoff.experiments.planning.known_before import (
    TABLE,
    describe_known,
    keep_speed,
    lost_by_files,
    read_speeds,
)
from bakeoff.export.settings import Export
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.networks.ssd import Ssd
from support.messages import missing_in

RUBIK = Export(formats=("saved_model", "int8"), device="photonvision_rubik", layout="yolov8_corners")
MANIFEST: Any = SimpleNamespace(task="detection", boxes_sha256=None)
HEAD = "device,network,input_size,format,frames_per_second,measured\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workspace, "results", lambda: tmp_path / "results")
    monkeypatch.setattr(known_before, "price_letterbox", lambda run, manifest: None)
    for name in ("models", "results"):
        (tmp_path / name).mkdir()
    return tmp_path


def known(network: Any = None, export: Export = RUBIK) -> dict[str, str]:
    return describe_known(
        SimpleNamespace(model=network or PointDetector(input_size=640), export=export),  # type: ignore[arg-type]
        MANIFEST,
    )


def leave_run(folder: Path, name: str, network: Any, drop: float | None) -> None:
    report = {"headline": "mAP_50", "files": {"int8": {"drop": drop}, "saved_model": {"drop": 0.0}}}
    (folder / f"results/{name}.json").write_text(json.dumps({"lost": lost_by_files(network, report)}), encoding="utf-8")


def test_where_nothing_is_known_each_line_says_how_to_know_it() -> None:
    lines = known()
    assert missing_in(lines["eight bits"], "point_detector", "int8", "export.json", "`bakeoff plan`") == []
    assert missing_in(lines["speed"], TABLE.as_posix(), "point_detector", "640", "int8", "`bakeoff measure --on") == []


def test_without_a_device_there_is_nothing_to_say() -> None:
    assert known(export=Export(formats=("int8",))) == {}


def test_eight_bits_lose_what_they_lost_in_earlier_runs_of_such_networks(folder: Path) -> None:
    leave_run(folder, "a", PointDetector(), 0.01)
    leave_run(folder, "b", PointDetector(), 0.03)
    leave_run(folder, "c", PointDetector(), 0.08)
    leave_run(folder, "d", Ssd(), 0.5)
    leave_run(folder, "e", PointDetector(), None)
    (folder / "results/f.json").write_text('{"run_id": "1"}', encoding="utf-8")
    assert missing_in(known()["eight bits"], "int8", "0.030 of mAP_50", "0.010 to 0.080", "3 earlier runs") == []
    limelight = Export(formats=("int8",), device="limelight_coral")
    assert missing_in(known(Ssd(), limelight)["eight bits"], "0.500 of mAP_50", "1 earlier run of ssd") == []
    floats = Export(formats=("dynamic",), device="ftc_sdk")
    assert "eight bits" not in known(Ssd(), floats)


def test_a_device_answers_as_fast_as_somebody_measured(folder: Path) -> None:
    TABLE.write_text(HEAD + "rubik on the desk,point_detector,640,int8,45,2026-11-20 by hand\n", encoding="utf-8")
    assert missing_in(known()["speed"], "45 frames a second", "rubik on the desk", "int8", "by hand") == []
    assert "no row" in known(PointDetector(input_size=320))["speed"]


def test_measure_writes_a_row_in_the_place_of_an_earlier_one() -> None:
    keep_speed("pi5", Ssd(input_size=160), "int8", 100.04)
    keep_speed("pi5", Ssd(input_size=160), "dynamic", 50)
    keep_speed("pi5", Ssd(input_size=160), "int8", 412.5)
    speeds = {row.format: (row.device, row.network, row.input_size, row.frames_per_second) for row in read_speeds()}
    assert speeds == {"int8": ("pi5", "ssd", 160, 412.5), "dynamic": ("pi5", "ssd", 160, 50.0)}
    assert TABLE.read_text(encoding="utf-8").startswith(HEAD)


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ("pi5,ssd,160,int8,fast,today", (":3: ", "frames_per_second", "'fast'")),
        ("pi5,ssd,160,int8,nan,today", (":3: ", "frames_per_second", "'nan'")),
        ("pi5,ssd,-1,int8,5,today", (":3: ", "input_size", "'-1'")),
        ("pi5,ssd,160,int8", (":3: ", "frames_per_second", "columns")),
    ],
)
def test_a_row_that_cannot_be_read_is_one_line_with_its_place(row: str, parts: tuple[str, ...]) -> None:
    TABLE.write_text(f"{HEAD}pi4,ssd,160,int8,5,today\n{row}\n", encoding="utf-8")
    with pytest.raises(DataError) as refused:
        known()
    assert missing_in(str(refused.value), "models/devices.csv", *parts) == []


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b'"a', b"other\n1\n"])
def test_a_table_of_another_kind_is_refused(data: bytes) -> None:
    TABLE.write_bytes(data)
    with pytest.raises(DataError, match=r"^models/devices\.csv:"):
        read_speeds()
