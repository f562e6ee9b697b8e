"""A run with changes that nobody committed, made again for real: DVC, the stages, MLflow."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.workspace_copy import Workspace, tiny_workspace

BAKEOFF = ("python", "-m", "bakeoff")


def look(workspace: Workspace) -> list[str]:
    """At all that must stay as it is."""
    commands = (("for-each-ref",), ("status", "--porcelain"), ("worktree", "list"), ("diff", "HEAD"))
    return [workspace.run("git", *command).stdout for command in commands]


def tags(store: Path) -> dict[str, str]:
    with closing(sqlite3.connect(store)) as database:
        return dict(database.execute("SELECT key, value FROM tags").fetchall())


@pytest.mark.slow
def test_a_run_with_uncommitted_changes_comes_out_identical(tmp_path: Path) -> None:
    workspace = tiny_workspace(tmp_path, {"lr": "lr: {use: mine}"})
    (tmp_path / "conf/lr/mine.yaml").write_text("kind: constant\npeak: 0.002\n", encoding="utf-8")
    workspace.edit("src/bakeoff/learning/lr/decays.py", "peak: float", "peak: float  # edited")
    assert "evaluate" in workspace.repro("evaluate")
    workspace.run(*BAKEOFF, "track", "sync")
    state = workspace.state()
    (tmp_path / "conf/lr/mine.yaml").unlink()
    workspace.run("git", "checkout", "--", "src")
    (tmp_path / ".bakeoff/journal" / state["run_id"]).rename(tmp_path / "journal")  # MLflow alone knows it
    before = look(workspace)

    report = json.loads(workspace.run(*BAKEOFF, "reproduce", state["run_id"][:9], "--json").stdout)

    assert (report["verdict"], report["missing"]) == ("identical", [])
    assert [stage["same"] for stage in report["stages"]] == [True] * 4
    assert state["weights_sha256"][:12] in report["because"]
    assert look(workspace) == before
    assert not (tmp_path / ".bakeoff/reproduce").exists()
    workspace.run(*BAKEOFF, "track", "sync")
    assert tags(tmp_path / "mlflow.db")["bakeoff.reproduced"] == "identical"
