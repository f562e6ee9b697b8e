"""Where things are."""

from pathlib import Path

import pytest

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import WorkspaceError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_main_workspace_is_the_one_that_dvc_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert workspace.main_workspace() == folder.resolve()
    monkeypatch.setenv("DVC_ROOT", str(folder / "main"))
    assert workspace.main_workspace() == (folder / "main").resolve()


def test_a_command_works_from_any_folder_below_the_workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "dvc.yaml").touch()
    (folder / "conf/lr").mkdir(parents=True)
    monkeypatch.chdir(folder / "conf/lr")
    workspace.enter()
    assert Path.cwd() == folder


def test_a_folder_outside_of_any_workspace_is_refused(folder: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"bakeoff workspace .*dvc\.yaml.*conf/.*\bcd\b"):
        workspace.enter()


def test_a_promise_is_taken_back_without_touching_what_the_file_is_a_link_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DVC may have linked it into its cache."""
    monkeypatch.chdir(tmp_path)
    workspace.PROMISE.parent.mkdir(parents=True)
    workspace.promise(trained_to_its_end=True)
    cached = tmp_path / "cached"
    cached.hardlink_to(workspace.PROMISE)
    workspace.promise(trained_to_its_end=False)
    assert workspace.PROMISE.read_text() == "trained_to_its_end: false\n"
    assert cached.read_text() == "trained_to_its_end: true\n"
    assert [path.name for path in workspace.PROMISE.parent.iterdir()] == ["promise.yaml"]
