"""Pull requests in a bare repository, each judged by the steps of the workflow in docs/gate.md."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from PIL import Image

from support.imports import ROOT
from support.workspace_copy import Workspace, environment, tiny_workspace

pytestmark = pytest.mark.slow
LINES = {
    "data": "data: {use: digits_single, train_examples: 1000, validation_examples: 200}",
    "model": "model: {use: cnn_small, input_size: 32}",
    "optimizer": "optimizer: {use: adam}",
    "lr": "lr: {use: constant, peak: 0.003}",
    "train": "train: {use: smoke, steps: 400, batch_size: 16}",
    "export": "export: {use: saved_model, formats: [saved_model, float32], latency_calls: 1}",
}
RULES = "worse_by: 0.05\nsize: 0.1\nlatency: 5\n"


def steps() -> dict[str, str]:
    """The shell of the workflow's steps by their names."""
    [block] = [part for part in (ROOT / "docs/gate.md").read_text("utf-8").split("```yml\n") if "name: gate\n" in part]
    workflow = yaml.safe_load(block.partition("```")[0])
    return {step["name"]: step["run"] for step in workflow["jobs"]["gate"]["steps"] if "name" in step}


def open_pull_request(workspace: Workspace, branch: str, old: str, new: str) -> None:
    """What its author does: change, train, commit, push both."""
    workspace.run("git", "switch", "--quiet", "--create", branch, "main")
    workspace.edit("params.yaml", old, new)
    workspace.run("bakeoff", "repro")
    workspace.commit()
    workspace.run("dvc", "push", "--quiet")
    workspace.run("git", "push", "--quiet", "origin", branch)


def judge(bare: Path, branch: str, folder: Path) -> tuple[str, str]:
    """Run the workflow's steps in a fresh clone; return the exit code of the gate and the comment, or the mistake."""
    subprocess.run(["git", "clone", "--quiet", "--branch", branch, bare, folder / "clone"], check=True)
    more = {
        "BASE": "origin/main", "NUMBER": "7", "GITHUB_REPOSITORY": "team/robot",
        "GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }  # fmt: skip
    path = {"PYTHONPATH": str(folder / "clone/src")}
    for name in ("results of both sides", "gate"):
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", steps()[name]], cwd=folder / "clone",
            env=environment() | more | path, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    code = (folder / "output").read_text().strip().removeprefix("code=")
    comment = done.stderr if code == "2" else (folder / "clone/comment.md").read_text("utf-8")
    print(branch, code, comment, sep="\n")
    return code, comment


def test_pull_requests(tmp_path: Path) -> None:
    bare, workspace = tmp_path / "bare.git", tiny_workspace(tmp_path / "author", LINES)
    (workspace.folder / "conf/gate.yaml").write_text(RULES)
    workspace.run("git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    workspace.run("git", "remote", "add", "origin", str(bare))
    workspace.run("dvc", "remote", "add", "--default", "shelf", str(tmp_path / "shelf"))
    workspace.run("bakeoff", "repro")
    workspace.commit()
    workspace.run("dvc", "push", "--quiet")
    workspace.run("git", "push", "--quiet", "origin", "main")
    open_pull_request(workspace, "tidy", "batch_size: 16", "batch_size: 16, samples: 0")
    open_pull_request(workspace, "slower", "peak: 0.003", "peak: 0.00001")
    open_pull_request(workspace, "seed", "seed: 0", "seed: 1")
    code, comment = judge(bare, "tidy", tmp_path / "tidy")
    assert code == "0" and "not worse than the rules allow" in comment and "![" not in comment
    assert "| latency of model.tflite |" in comment and "| size of float32 |" in comment
    code, comment = judge(bare, "slower", tmp_path / "slower")
    assert code == "1" and "worse than the rules allow: accuracy" in comment
    assert "`lr.peak` `0.003` → `1e-05`" in comment
    assert "(https://github.com/team/robot/blob/gate-pictures/7.png?raw=true)" in comment
    with Image.open(tmp_path / "slower/clone/worse.png") as picture:
        assert picture.width > 400 and picture.height > 200
    code, comment = judge(bare, "seed", tmp_path / "seed")
    assert code in ("0", "3") and os.path.exists(tmp_path / "seed/clone/gate.xml")
    workspace.run("git", "switch", "--quiet", "--create", "unrun", "main")
    workspace.edit("params.yaml", "peak: 0.003", "peak: 0.002")
    workspace.commit()
    workspace.run("git", "push", "--quiet", "origin", "unrun")
    code, mistake = judge(bare, "unrun", tmp_path / "unrun")
    assert code == "2" and "the lr of params.yaml" in mistake and len(mistake.splitlines()) == 1
    (tmp_path / "shelf").rename(tmp_path / "shelf.gone")  # as for a fork, which may not read it
    code, mistake = judge(bare, "tidy", tmp_path / "fork")
    assert code == "2" and "`dvc pull evaluate`" in mistake and len(mistake.splitlines()) == 1
