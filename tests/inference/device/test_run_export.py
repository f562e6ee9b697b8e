"""A finished run is exported again, for another device, by the stage in a folder of its own."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import BakeoffError
from bakeoff.inference.device import run_export
from bakeoff.inference.device.run_export import export_run, find_export, name_file
from bakeoff.learning.run_file.read_write import is_whole
from support.exported_run import write_export
from support.imports import ROOT
from support.made_runs import made
from support.messages import missing_in

NAME, ID = "b" * 16, "4f2a91c0" + "0" * 24
STAGE = """
import json, os, sys, yaml
from pathlib import Path
tree = yaml.safe_load(Path("models/config/run.yaml").read_text())
there = sorted(path.as_posix() for path in Path().rglob("*") if path.is_file())
out = Path("models/export")
out.mkdir()
(out / "seen.json").write_text(json.dumps({"tree": tree, "there": there, "environment": dict(os.environ)}))
(out / "export.json").write_text(json.dumps({"device": None}))
sys.exit(tree["seed"])
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownRun:
    """The run behind the workspace's results, without its data, and a stage that writes down what it sees."""
    monkeypatch.setenv("DVC_ROOT", "elsewhere")
    monkeypatch.delenv("DVC_ROOT")
    monkeypatch.chdir(tmp_path)
    made(tmp_path / ".bakeoff/runs", NAME, State.SUCCEEDED, run_id=ID)
    write_export(tmp_path, NAME, ID, "ball\n")
    for name in ("conf/data", "data/records/train", "models/config"):
        Path(name).mkdir(parents=True)
    Path("data/records/train/00.tfrecord").write_bytes(b"records")
    Path("models/train/best.weights.h5").write_bytes(b"weights")
    shutil.copy(ROOT / "models/config/run.yaml", "models/config")
    Path("stage.py").write_text(STAGE, encoding="utf-8")
    monkeypatch.setattr(run_export, "STAGE", [sys.executable, str(tmp_path / "stage.py")])
    [known] = known_runs()
    return known


def digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def read_seen(run: KnownRun, option: str) -> dict:
    return json.loads(find_export(run, option)["seen.json"].read_text(encoding="utf-8"))


def test_the_stage_gets_the_runs_files_and_the_option_and_the_workspace_stays_as_it_is(
    run: KnownRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "sweep-20260102-030405-0")
    before = {name: digests(Path(name)) for name in ("data", "models")}
    folder = export_run(run, "limelight_coral")
    assert {name: digests(Path(name)) for name in ("data", "models")} == before
    seen = read_seen(run, "limelight_coral")
    assert folder == run.folder / "exports/limelight_coral" and "DVC_EXP_NAME" not in seen["environment"]
    assert {"data/records/train/00.tfrecord", "models/train/best.weights.h5", "models/train/state.json"} <= {
        *seen["there"]
    }
    tree, own = seen["tree"], yaml.safe_load(Path("models/config/run.yaml").read_text(encoding="utf-8"))
    assert is_whole(tree) and tree["model"] == own["model"] and tree["track"] == {"kind": "none"}
    assert (tree["export"]["device"], tree["export"]["formats"]) == ("limelight_coral", ["saved_model", "int8"])
    assert tree["export"]["max_drop"] == own["export"]["max_drop"] and tree["variant"]["export"] == "limelight_coral"


def test_files_are_made_once_and_another_option_has_its_own(run: KnownRun) -> None:
    first = export_run(run, "limelight_coral") / "seen.json"
    changed = first.stat().st_mtime_ns
    assert export_run(run, "limelight_coral") / "seen.json" == first and first.stat().st_mtime_ns == changed
    export_run(run, "onnx")
    assert read_seen(run, "onnx")["tree"]["export"]["device"] is None
    assert sorted(path.name for path in (run.folder / "exports").iterdir() if path.is_dir()) == [
        "limelight_coral",
        "onnx",
    ]


def test_a_stage_that_fails_leaves_nothing_and_can_be_tried_again(run: KnownRun) -> None:
    script = Path("stage.py").read_text(encoding="utf-8")
    Path("stage.py").write_text(script.replace('tree["seed"]', "3"), encoding="utf-8")
    with pytest.raises(BakeoffError, match="exit code 3"):
        export_run(run, "onnx")
    assert find_export(run, "onnx") == {} and [path.name for path in (run.folder / "exports").iterdir()] == [
        "onnx.lock"
    ]
    Path("stage.py").write_text(script, encoding="utf-8")
    assert export_run(run, "onnx").is_dir()


def test_what_cannot_be_exported_is_refused_with_its_reason(run: KnownRun) -> None:
    for option, words in (("photonvision_rubik", ("export.device", "640")), ("nonsense", ("--as", "nonsense"))):
        with pytest.raises(BakeoffError) as error:
            export_run(run, option)
        assert not missing_in(str(error.value), *words)
    shutil.rmtree("models/train")
    with pytest.raises(BakeoffError, match="run.yaml"):
        export_run(run, "onnx")


def test_the_file_that_a_device_takes_is_named_by_its_report() -> None:
    files = {
        "saved_model": {"file": "saved_model"},
        "dynamic": {"file": "model.tflite"},
        "onnx": {"file": "model.onnx"},
    }
    assert name_file({"device": "raspberry_pi", "files": files}) == "model.tflite"
    assert name_file({"device": "oak", "files": files}) == "model.onnx"
    assert name_file({"device": "photonvision_rubik", "files": files}) == "photonvision.zip"
