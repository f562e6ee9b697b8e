"""A store that is there already: making one takes seconds."""

import warnings
from pathlib import Path

import pytest

from bakeoff.tracking.store.target import Target


@pytest.fixture(scope="session")
def new_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of MLflow's libraries, while they are loaded
        from bakeoff.tracking.store.mlflow_client import open_store

        folder = tmp_path_factory.mktemp("store")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.delenv("DVC_ROOT", raising=False)
            open_store(Target(f"sqlite:///{folder}/store.db", "of the template"))
    return folder / "store.db"
