"""Workspaces whose data have three splits, trained while nobody could read the test."""

import functools
import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from support.imports import ROOT
from support.three_splits import Enter, draw_dataset, run_stages


@pytest.fixture(scope="session")
def train_once(tmp_path_factory: pytest.TempPathFactory) -> Enter:
    @functools.cache
    def trained(task: str) -> Path:
        folder = tmp_path_factory.mktemp(task)
        with pytest.MonkeyPatch.context() as patch, chdir(folder):
            patch.delenv("DVC_ROOT", raising=False)
            shutil.copytree(ROOT / "conf", "conf")
            (folder / "dvc.yaml").touch()
            draw_dataset(task, Path("data/raw/set"))
            run_stages(task)
        return folder

    return trained


@pytest.fixture
def enter(train_once: Enter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Makes a copy of a trained workspace the current folder."""

    def entered(task: str) -> Path:
        folder = tmp_path / "copy"
        shutil.copytree(train_once(task), folder)
        monkeypatch.chdir(folder)
        monkeypatch.delenv("DVC_ROOT", raising=False)
        return folder

    return entered
