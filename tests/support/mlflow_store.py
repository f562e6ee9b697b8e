"""MLflow and what sends to it, loaded without the warnings of its libraries, and a store that is there already."""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bakeoff.tracking.store.target import Target
from support.imports import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from bakeoff.tracking.store.mlflow_client import connect, load_mlflow, open_store

    load_mlflow()
    from mlflow import MlflowClient

    from bakeoff.tracking.fetch_checkpoints import StoredWork, find_work
    from bakeoff.tracking.sync.send_all import Courier
    from bakeoff.tracking.sync.send_run import Delivery
    from bakeoff.tracking.sync.sync_status import sync

__all__ = ["Courier", "Delivery", "MlflowClient", "StoredWork", "connect", "find_work", "open_store", "sync"]


def copy_store(store: Path, name: str = "store.db") -> Target:
    """Return a copy, in this folder, of a store."""
    return Target(f"sqlite:///{Path(shutil.copy(store, name)).resolve()}", "bakeoff")


def write_workspace(target: Target) -> None:
    """Make this folder a workspace whose runs are in a store."""
    shutil.copytree(ROOT / "conf", "conf")
    Path("dvc.yaml").touch()
    Path("params.yaml").write_text(
        f"experiment: demo\ndata: {{use: digits}}\ntrack: {{use: mlflow, uri: '{target.uri}'}}\n"
    )


def deliver(journal: Path, target: Target, through: Callable[[MlflowClient], Any] = lambda client: client) -> None:
    client, experiment = open_store(target)
    Delivery(through(client), experiment, journal, target).send()
