"""Weights of another run, fetched by its id. MLflow runs in a process of its own, as in a stage."""

import hashlib
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
def run(tell, **settings):
    copy = tracker.start(Mlflow(wait_s=60, **settings), "a run", {})
    tell(copy)
    copy.close()
    return copy

copy = run(lambda copy: copy.weights(Path("trained"), {"step": 3}))
found = fetch_weights(Mlflow(), copy.run_id)
print(found == Path(".bakeoff/fetched").resolve() / copy.run_id / "best.weights.h5")
print(found.read_bytes().decode(), [file.name for file in found.parent.iterdir()])
found.write_bytes(b"as it was fetched")
print(fetch_weights(Mlflow(), copy.run_id).read_bytes().decode())
earlier = run(lambda copy: copy.file(Path("trained/best.weights.h5"), "train"))
print(fetch_weights(Mlflow(), earlier.run_id).read_bytes().decode())
referred = run(lambda copy: copy.weights(Path("trained"), {"step": 3}), largest_model_mb=0.0)
for run_id in (referred.run_id, "0f" * 16):
    try:
        fetch_weights(Mlflow(), run_id)
    except ConfigError as error:
        print(str(error).replace(run_id, "RUN"))
"""


def test_the_best_weights_of_a_run_are_fetched_once(tmp_path: Path) -> None:
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained/best.weights.h5").write_bytes(b"weights")
    done = subprocess.run(
        [sys.executable, "-c", FETCH], cwd=tmp_path, env=environment() | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True,
    )  # fmt: skip
    where, content, again, of_an_earlier_version, *said = done.stdout.splitlines()
    assert (where, content, again) == ("True", "weights ['best.weights.h5']", "as it was fetched")
    assert of_an_earlier_version == "weights"
    assert said == [
        "MLflow gets only the digest of the model best: it has 0 MB",
        "  the files stay in this workspace; track.largest_model_mb=0 is the limit",
        "train.init.weights: MLflow does not give best.weights.h5 of run RUN (its model best is larger than "
        "track.largest_model_mb, so it is only where it was made: trained/best.weights.h5 (7 bytes, sha256 "
        f"{hashlib.sha256(b'weights').hexdigest()}))",
        "train.init.weights: MLflow does not give best.weights.h5 of run RUN (Run with id=RUN not found)",
    ]


def test_without_tracking_there_is_no_run_to_fetch_from() -> None:
    with pytest.raises(ConfigError, match=r"looks like the id of an MLflow run, but track is none$"):
        fetch_weights(Untracked(), "0f" * 16)
