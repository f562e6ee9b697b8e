"""`dvc repro` after an edit of the third phase: the first two are not trained again, also with `kill -9` in between."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.workspace_copy import Workspace, environment, tiny_workspace

pytestmark = pytest.mark.slow
SLOWER = "{name: slow, steps: 40, lr: {kind: constant, peak: 0.00001}}"
LINES = {
    "data": "data: {use: digits_motion, train_examples: 24, validation_examples: 8, frames: 4, side: 32}",
    "model": "model: {use: clip_small, width: 0.25, input_size: 32, frames: 4}",
    "train": (
        "train: {use: demo, batch_size: 4, steps: null, log_every_steps: 2, validate_every_steps: 8, samples: 2, "
        "checkpoint_every_steps: 5, phases: [{name: head, steps: 21, trainable: [head], lr: {kind: constant, "
        "peak: 0.1}}, {name: whole, steps: 30, start: best, batch_size: 2, lr: {kind: constant, peak: 0.001}}, "
        "{name: slow, steps: 20, lr: {kind: cosine, peak: 0.0001}}]}"
    ),
    "track": "track: {use: none}",
}


def edit_third_phase(workspace: Workspace) -> None:
    workspace.edit("params.yaml", "{name: slow, steps: 20, lr: {kind: cosine, peak: 0.0001}}", SLOWER)


def kill_training_in_its_third_phase(workspace: Workspace) -> None:
    shutil.rmtree(workspace.folder / "models/train")
    process = subprocess.Popen(
        [sys.executable, "-m", "bakeoff.stages.train"], cwd=workspace.folder, env=environment(),
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    history = workspace.folder / "models/train.partial/history.jsonl"
    while process.poll() is None and not (history.is_file() and '"step": 62,' in history.read_text(encoding="utf-8")):
        time.sleep(0.002)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def history_of(workspace: Workspace) -> str:
    return (workspace.folder / "models/train/history.jsonl").read_text(encoding="utf-8")


def test_dvc_repro_after_an_edit_of_the_third_phase_keeps_the_first_two_to_the_bit(tmp_path: Path) -> None:
    edited, whole = (tiny_workspace(tmp_path / name, LINES) for name in ("edited", "whole"))
    edit_third_phase(whole)
    whole.repro("train")
    edited.repro("train")
    before = edited.state()
    assert before["phases_from"] == [] and before["step"] == 71
    edit_third_phase(edited)
    assert edited.repro("render_config") == {"render_config"}
    kill_training_in_its_third_phase(edited)
    assert edited.repro("train") == {"train"}
    state, expected = edited.state(), whole.state()
    assert state["weights_sha256"] == expected["weights_sha256"] != before["weights_sha256"]
    assert history_of(edited) == history_of(whole)
    first_resumption, second_resumption = state["resumed_at_steps"]
    assert first_resumption == 51 and 51 <= second_resumption < 91 and expected["resumed_at_steps"] == []
    assert state["phases_from"] == [{"fingerprint": before["lineage"]["fingerprint"], "step": 51}]
    plain = [json.loads((one.folder / "models/train/state.json").read_text("utf-8")) for one in (edited, whole)]
    assert plain[0] == plain[1]
