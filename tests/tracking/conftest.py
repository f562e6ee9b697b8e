"""An empty workspace, and a store that is there already: making one takes seconds."""

import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bakeoff.foundation.workspace import facts
from bakeoff.tracking.store.target import Target

if TYPE_CHECKING:
    from support.stored_networks import NetworkTraining


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


@pytest.fixture(scope="session")
def files_of_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all checkpoints of a small classifier share, which takes seconds to make."""
    from support.stored_networks import CLASSES, SMALL, make_files, recipe_of

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
        patch.delenv("DVC_ROOT", raising=False)
        patch.chdir(tmp_path_factory.mktemp("network"))
        make_files(recipe_of(SMALL, CLASSES))
        return facts()


@pytest.fixture
def store_of_small(workspace: Path, new_store: Path, files_of_small: Path) -> Target:
    """A store for checkpoints of that classifier."""
    from support.mlflow_store import copy_store

    shutil.copytree(files_of_small, facts())
    return copy_store(new_store)


@pytest.fixture
def small() -> "NetworkTraining":
    from support.stored_networks import CLASSES, SMALL, NetworkTraining, recipe_of

    return NetworkTraining(SMALL, recipe_of(SMALL, CLASSES))
