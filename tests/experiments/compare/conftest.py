"""The bakeoff command in a workspace of its own, which holds no results yet."""

from pathlib import Path

import pytest

from support.commands import run_bakeoff
from support.run_journals import Bakeoff, CommandOutput


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "MLFLOW_TRACKING_URI", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def bakeoff(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bakeoff:
    def run(*arguments: str) -> CommandOutput:
        return CommandOutput(*run_bakeoff(monkeypatch, capsys, *arguments))

    return run
