"""A checkpoint of a training that is under way, opened in an environment with MLflow, Keras and TensorFlow alone.

BAKEOFF_SERVED names the environment's folder. It is made if it is not there yet, which takes minutes and 2 GB.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from bakeoff.foundation.versions import library_version, package_of
from support.imports import ROOT
from support.workspace_copy import Workspace, tiny_workspace

FOLDER = "BAKEOFF_SERVED"
PACKAGES = ("mlflow", "keras", "tensorflow")
SCRIPT = Path(__file__).with_name("opened_there.py")
BAKEOFF = (sys.executable, "-m", "bakeoff")
VARIANT = {
    "data": "data: {use: digits, train_examples: 60, validation_examples: 12}",
    "model": "model: {use: ssd_tiny, input_size: 64}",
    "train": "train: {use: smoke, steps: 90, batch_size: 4, checkpoint_every_steps: 30, keep_every_steps: 30, "
    "validate_every_steps: 30}",
    "track": "track: {use: mlflow, checkpoints: all, register: digits, wait_s: 200}",
}
STARTS_BY_THEN_S = 120.0

pytestmark = pytest.mark.slow


def folder_there() -> Path:
    folder = Path(os.environ.get(FOLDER) or Path.home() / ".cache/bakeoff/served")
    if not (folder / "bin/mlflow").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        wanted = [f"{package_of(name)}=={library_version(name)}" for name in PACKAGES]
        subprocess.run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return folder


def run_there(*arguments: str) -> dict[str, Any]:
    command = [str(folder_there() / "bin/python"), str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment_there(), cwd="/")
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def environment_there() -> dict[str, str]:
    left_out = ("PYTHONPATH", "VIRTUAL_ENV")
    path = f"{folder_there() / 'bin'}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"PATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = tiny_workspace(tmp_path_factory.mktemp("served") / "clone", VARIANT)
    for stage in ("build_records", "render_config", "train"):
        workspace.run(sys.executable, "-m", f"bakeoff.stages.{stage}")
    workspace.run(*BAKEOFF, "track", "sync")
    return workspace


def predicted(workspace: Workspace, out: Path) -> list[dict[str, Any]]:
    """What `bakeoff predict` answers about the scene, best first."""
    workspace.run(*BAKEOFF, "predict", str(ROOT / "docs/images/scene.jpg"), "--run", ".", "--out", str(out))
    return [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def require_same(row: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    from PIL import Image

    with Image.open(ROOT / "docs/images/scene.jpg") as scene:
        width, height = scene.size
    assert len(expected) > 5
    assert row["texts"] == [one["category"] for one in expected]
    assert row["scores"] == pytest.approx([one["score"] for one in expected], abs=1e-5)
    for (top, left, bottom, right), one in zip(row["boxes"], expected, strict=True):
        box = [left * width, top * height, (right - left) * width, (bottom - top) * height]
        assert box == pytest.approx(one["bbox"], abs=0.02)


def test_a_checkpoint_is_loaded_and_served_without_bakeoff(trained: Workspace, tmp_path: Path) -> None:
    workspace, picture = trained, str(ROOT / "docs/images/scene.jpg")
    expected, store = predicted(workspace, tmp_path / "found"), f"sqlite:///{workspace.folder}/mlflow.db"
    printed = workspace.run(*BAKEOFF, "register", workspace.state()["run_id"]).stdout
    assert "version 1 of digits" in printed
    found = run_there(store, "models:/digits/1", picture)
    assert found["layers"] == ["keras"]
    require_same(found["rows"][0], expected)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = ["mlflow", "models", "serve", "-m", "models:/digits/1", "--env-manager", "local", "--port", str(port)]
    with (tmp_path / "served.log").open("wb") as log:
        server = subprocess.Popen(
            [str(folder_there() / "bin" / serve[0]), *serve[1:]], cwd=tmp_path, stdout=log, stderr=log,
            env=environment_there() | {"MLFLOW_TRACKING_URI": store}, start_new_session=True,
        )  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}/ping", server)
        require_same(run_there(f"http://127.0.0.1:{port}", picture)["rows"][0], expected)
    finally:
        os.killpg(server.pid, 15)
        server.wait(30)


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTS_BY_THEN_S
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise AssertionError("the server did not start")
