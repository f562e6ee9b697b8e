"""Weights of another run, fetched by its id. MLflow runs in a process of its own, as in a stage."""

import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.errors import ConfigError
from bakeoff.tracking.artifacts import fetch_weights
from bakeoff.tracking.settings import Untracked
from imports import ROOT
from workspace_copy import environment

FETCH = """
from pathlib import Path
from bakeoff.errors import ConfigError
from bakeoff.tracking import tracker
from bakeoff.tracking.artifacts import fetch_weights
from bakeoff.tracking.settings import Mlflow
copy = tracker.start(Mlflow(wait_s=60), "a run", {})
copy.folder(Path("trained"), "train")
copy.close()
found = fetch_weights(Mlflow(), copy.run_id)
print(found == Path(".bakeoff/fetched").resolve() / copy.run_id / "best.weights.h5")
print(found.read_bytes().decode(), [file.name for file in found.parent.iterdir()])
found.write_bytes(b"as it was fetched")
print(fetch_weights(Mlflow(), copy.run_id).read_bytes().decode())
try:
    fetch_weights(Mlflow(), "0f" * 16)
except ConfigError as error:
    print(error)
"""


def test_the_best_weights_of_a_run_are_fetched_once(tmp_path: Path) -> None:
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained/best.weights.h5").write_bytes(b"weights")
    done = subprocess.run(
        [sys.executable, "-c", FETCH], cwd=tmp_path, env=environment() | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True,
    )  # fmt: skip
    where, content, again, refused = done.stdout.splitlines()
    assert (where, content, again) == ("True", "weights ['best.weights.h5']", "as it was fetched")
    assert refused.startswith(f"train.init.weights: MLflow does not give train/best.weights.h5 of run {'0f' * 16} (")


def test_without_tracking_there_is_no_run_to_fetch_from() -> None:
    with pytest.raises(ConfigError, match=r"looks like the id of an MLflow run, but track is none$"):
        fetch_weights(Untracked(), "0f" * 16)
