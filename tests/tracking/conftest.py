"""An empty workspace, and a store that is there already: making one takes seconds."""

import warnings
from pathlib import Path

import pytest

from bakeoff.tracking.store.target import Target


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the test runs, and whose variables name no experiment and no store."""
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_EXP_NAME", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(scope="session")
def new_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied."""
    from support.mlflow_store import open_store

    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):  # of MLflow's libraries
        patch.chdir(folder)
        open_store(Target(f"sqlite:///{folder}/store.db", "of the template"))
    return folder / "store.db"
