"""Weights of another run, fetched by its id."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.config.track_settings import Mlflow, Untracked
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.journal.artifacts import kept_weights
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.results.lineage import lineage_of
from bakeoff.tracking.store.fetch_artifacts import fetch_weights
from bakeoff.tracking.store.target import Target, place_in
from support.messages import missing_in
from support.mlflow_store import Courier, copy_store

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries
NOTHING = ("train.init.weights", "best.weights.h5", "of run")


@pytest.fixture
def settings(new_store: Path, workspace: Path) -> Mlflow:
    Path("best.weights.h5").write_bytes(b"weights")
    return Mlflow(uri=copy_store(new_store).uri)


@pytest.fixture
def sent(settings: Mlflow) -> Callable[..., str]:
    """Return a function that writes and sends a run, and returns MLflow's id of it."""

    def sent(run_id: str, write: Callable[[Journal], None]) -> str:
        journal, target = Journal(run_id), Target.from_settings(settings)
        target.write(journal.folder)
        journal.run("a run")
        write(journal)
        journal.close()
        assert Courier(target).send([journal.folder])
        return str(place_in(journal.folder, target).run)

    return sent


def weights(journal: Journal, largest_model_mb: float = 1.0) -> None:
    for model in kept_weights(Path(), TrainedState(step=3), Mlflow(largest_model_mb=largest_model_mb)):
        journal.model(model)


def test_the_best_weights_of_a_run_are_fetched_once_by_either_of_its_ids(
    settings: Mlflow, sent: Callable[..., str]
) -> None:
    for run_id in ("0f" * 16, sent("0f" * 16, weights)):
        path = fetch_weights(settings, run_id)
        assert path == Path(".bakeoff/fetched").resolve() / run_id / "best.weights.h5"
        assert path.read_bytes() == b"weights" and list(path.parent.iterdir()) == [path]
    path.write_bytes(b"as it was fetched")
    assert fetch_weights(settings, run_id).read_bytes() == b"as it was fetched"


def flip(path: Path) -> None:
    path.write_bytes(bytes([path.read_bytes()[0] ^ 64]) + path.read_bytes()[1:])


def test_damaged_weights_are_not_fetched(settings: Mlflow, sent: Callable[..., str]) -> None:
    """MLflow's tag of the model has their SHA-256."""
    run = sent("0f" * 16, weights)
    [stored] = Path().rglob("mlartifacts/**/best.weights.h5")
    flip(stored)
    with pytest.raises(ConfigError) as caught:
        fetch_weights(settings, run)
    assert missing_in(str(caught.value), "best.weights.h5", "SHA-256", "bakeoff track sync") == []
    assert not list(Path(".bakeoff/fetched").rglob("best.weights.h5"))


def test_weights_that_were_damaged_since_they_were_fetched_are_fetched_again(
    settings: Mlflow, sent: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    def write(journal: Journal) -> None:
        weights(journal)
        state = TrainedState(step=3, files={"best.weights.h5": hashlib.sha256(b"weights").hexdigest()})
        Path("state.json").write_text(state.as_text())
        journal.file(Path("state.json"), "train/state.json")

    run = sent("0f" * 16, write)
    flip(fetch_weights(settings, run))
    assert fetch_weights(settings, run).read_bytes() == b"weights"
    assert missing_in(capsys.readouterr().err, "warning: ", "best.weights.h5", "damaged") == []


def test_a_run_of_an_earlier_version_has_them_among_its_artifacts(settings: Mlflow, sent: Callable[..., str]) -> None:
    sent("1f" * 16, lambda journal: journal.file(Path("best.weights.h5"), "train/best.weights.h5"))
    assert fetch_weights(settings, "1f" * 16).read_bytes() == b"weights"


def test_weights_that_were_too_large_for_the_store_are_where_they_were_made(
    settings: Mlflow, sent: Callable[..., str]
) -> None:
    sent("2f" * 16, lambda journal: weights(journal, largest_model_mb=0.0))
    with pytest.raises(ConfigError) as refused:
        fetch_weights(settings, "2f" * 16)
    digest = hashlib.sha256(b"weights").hexdigest()
    model = ("model best", "track.largest_model_mb", "best.weights.h5", "7 bytes", digest)
    assert missing_in(str(refused.value), *NOTHING, "2f" * 16, *model) == []


def test_a_run_that_is_not_there_or_of_another_project_is_named(settings: Mlflow, sent: Callable[..., str]) -> None:
    for run_id in ("0f" * 16, sent("3f" * 16, lambda journal: None)):
        with pytest.raises(ConfigError) as refused:
            fetch_weights(settings, run_id)
        assert missing_in(str(refused.value), *NOTHING, run_id) == []


def test_without_tracking_there_is_no_run_to_fetch_from() -> None:
    with pytest.raises(ConfigError, match=rf"^train\.init\.weights: '{'0f' * 16}'.*\btrack is none"):
        fetch_weights(Untracked(), "0f" * 16)


def test_what_a_run_started_from_comes_along_with_its_weights(settings: Mlflow, sent: Callable[..., str]) -> None:
    starts = [{"name": "net", "licence": "MIT", "data": "COCO 2017"}]
    own = {"run": "2f", "data": "6 examples of 2 classes"}
    Path("state.json").write_text(json.dumps({"step": 3, "lineage": {"starts": starts, "own": own}}), encoding="utf-8")

    def write(journal: Journal) -> None:
        weights(journal)
        journal.file(Path("state.json"), "train/state.json")

    sent("2f" * 16, write)
    path = fetch_weights(settings, "2f" * 16)
    assert lineage_of("2f" * 16, path, "77") == [*starts, own | {"steps": 3}]
