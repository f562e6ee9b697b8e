"""Checkpoints while training: in MLflow as they are here, in parts if they are large, whatever fails on the way."""

import os
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest

from bakeoff.config.track_settings import Mlflow, Track, Untracked
from bakeoff.learning.checkpoints.run_folder import CheckpointList
from bakeoff.tracking.journal.entries import CheckpointEntry
from bakeoff.tracking.journal.journal import Journal, entries_of
from bakeoff.tracking.store.target import Target, place_in, takes_checkpoints_here
from bakeoff.tracking.tracker import Tracker
from support.made_checkpoints import FINGERPRINT, RUN, trained
from support.messages import missing_in
from support.mlflow_store import Delivery, MlflowClient, copy_store, deliver, open_store

REPOSITORY = "mlflow.store.artifact.artifact_repository_registry.get_artifact_repository"

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries


@pytest.fixture
def target(workspace: Path, new_store: Path) -> Target:
    return copy_store(new_store)


@pytest.fixture
def journal(target: Target) -> Path:
    """Return the journal of a run of 20 steps that the store has."""
    journal = trained(target, (10, 20))
    deliver(journal, target)
    return journal


def stored(target: Target) -> dict[str, Any]:
    """The models of checkpoints that the store has, by name; of two with one name nothing."""
    client, experiment = open_store(target)
    models = [model for model in client.search_logged_models([experiment]) if model.model_type == "checkpoint"]
    assert len({model.name for model in models}) == len(models)
    return {model.name: model for model in models}


def files(target: Target) -> dict[str, int]:
    """Sizes of all files that the store has of models, also of those that are deleted."""
    client, experiment = open_store(target)
    folder = Path(client.get_experiment(experiment).artifact_location.removeprefix("file://")) / "models"
    return {path.name: path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}


def kept(journal: Path) -> list[str]:
    return sorted(path.name for path in journal.glob("files/checkpoint-*"))


def test_a_checkpoint_has_its_step_its_companions_and_the_metrics_known_then(target: Target, journal: Path) -> None:
    models = stored(target)
    assert sorted(models) == ["best-so-far-10", "checkpoint-10", "checkpoint-20"]
    newest = models["checkpoint-20"]
    assert newest.params == {"step": "20"} and str(newest.status) == "READY"
    assert (
        newest.tags["bakeoff.checkpoint"] == "1-all/00000020" and newest.tags["bakeoff.needs"] == "1-all/best-00000010"
    )
    assert sorted((point.key, point.step, point.value) for point in newest.metrics or ()) == [
        ("train/loss", 20, 0.05), ("validation/accuracy", 20, 0.2),
    ]  # fmt: skip
    here = Path(".bakeoff/runs", FINGERPRINT, "1-all/00000020")
    there = Path(newest.artifact_location.removeprefix("file://"), "00000020")
    assert there.read_bytes() == here.read_bytes()
    client, experiment = open_store(target)
    [run] = client.search_runs([experiment])
    assert len(client.get_metric_history(run.info.run_id, "train/loss")) == 2  # no point is there twice
    assert kept(journal) == [] and place_in(journal, target).refused == ()


@pytest.mark.parametrize("damage", ["flip", "remove"])
def test_a_sync_sends_a_damaged_checkpoint_again(damage: str, target: Target, journal: Path) -> None:
    place = Path(stored(target)["checkpoint-20"].artifact_location.removeprefix("file://"), "00000020")
    here = Path(".bakeoff/runs", FINGERPRINT, "1-all/00000020").read_bytes()
    place.write_bytes(here[:-1] + bytes([here[-1] ^ 64])) if damage == "flip" else place.unlink()
    client, experiment = open_store(target)
    assert [*Delivery(client, experiment, journal, target).mend()] == [("the checkpoint 1-all/00000020", True)]
    assert place.read_bytes() == here and [*Delivery(client, experiment, journal, target).mend()] == []


def test_what_is_removed_here_is_removed_there_with_its_files(target: Target, journal: Path) -> None:
    trained(target, (30, 40, 50))
    deliver(journal, target)
    assert sorted(stored(target)) == ["best-so-far-40", "checkpoint-40", "checkpoint-50"]
    assert sorted(files(target)) == ["00000040", "00000050", "best-00000040"]


@pytest.mark.parametrize(
    ("which", "names"),
    [
        ("newest", ["best-00000040", "00000040", "00000050"]),
        ("kept", ["best-00000010", "best-00000040", "00000020", "00000040", "00000050"]),
        ("best", ["best-00000040"]),
        ("all", ["best-00000010", "best-00000040", "00000010", "00000020", "00000030", "00000040", "00000050"]),
        ("none", []),
    ],
)
def test_the_store_has_what_track_checkpoints_says(
    which: Literal["newest", "kept", "best", "all", "none"], names: list[str], target: Target
) -> None:
    """Whether each was sent at its time or, as here, all of them much later."""
    journal = trained(target, range(10, 60, 10), Mlflow(checkpoints=which), keep_every=20)
    deliver(journal, target)
    assert sorted(files(target)) == sorted(names) and kept(journal) == []
    assert place_in(journal, target).refused == ()


def test_a_store_that_is_absent_costs_no_more_disk_than_the_checkpoints_that_count(target: Target) -> None:
    journal = trained(target, range(10, 60, 10))
    assert kept(journal) == [
        f"checkpoint-1-all-{name}" for name in ("00000040", "00000050", "best-00000040")
    ]  # fmt: skip
    here = Path(".bakeoff/runs", FINGERPRINT, "1-all/00000050")
    assert (journal / "files/checkpoint-1-all-00000050").samefile(here)  # not a byte was copied


def test_a_checkpoint_is_sent_though_the_work_in_flight_is_gone(target: Target) -> None:
    journal = trained(target, (10, 20))
    shutil.rmtree(".bakeoff/runs")
    deliver(journal, target)
    assert sorted(files(target)) == ["00000010", "00000020", "best-00000010"]


def test_a_disk_without_links_sends_the_file_itself_and_names_one_that_is_gone(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*given: object) -> None:
        raise OSError("not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", no_link)
        journal = trained(target, (10, 20))
    assert kept(journal) == []
    Path(".bakeoff/runs", FINGERPRINT, "1-all/00000010").unlink()
    deliver(journal, target)
    assert sorted(files(target)) == ["00000020", "best-00000010"]
    [refused] = place_in(journal, target).refused
    assert missing_in(refused, "checkpoint 1-all/00000010", "removed here") == []


class Slow:
    """A client that writes down which files it sends, and whose connection is cut at one of them."""

    def __init__(self, client: MlflowClient, sent: list[str], cut_at: int = 0) -> None:
        self._client, self._sent, self._cut_at = client, sent, cut_at

    def log_model_artifact(self, model: str, path: str) -> None:
        self._sent.append(Path(path).name)
        if len(self._sent) == self._cut_at:
            raise ConnectionError("cut")
        self._client.log_model_artifact(model, path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_a_large_checkpoint_is_sent_in_parts_and_after_a_cut_only_the_missing_ones(
    target: Target, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bakeoff.tracking.journal.checkpoint_copies.PART_BYTES", 100_000)
    journal = trained(target, {10: 80_000})  # of four bytes
    [line] = capsys.readouterr().out.splitlines()
    assert missing_in(line, "checkpoints", "0 MB", "parts of 16 MB") == []
    first: list[str] = []
    second: list[str] = []
    with pytest.raises(ConnectionError, match="^cut$"):
        deliver(journal, target, lambda client: Slow(client, first, cut_at=4))
    assert "checkpoint-10" in stored(target) and str(stored(target)["checkpoint-10"].status) == "PENDING"
    deliver(journal, target, lambda client: Slow(client, second))
    assert first == ["best-00000010", *(f"00000010.part-{number:05d}" for number in (1, 2, 3))]
    assert second == [f"00000010.part-{number:05d}" for number in (3, 4)]
    assert str(stored(target)["checkpoint-10"].status) == "READY"
    whole = Path(".bakeoff/runs", FINGERPRINT, "1-all/00000010").read_bytes()
    parts = Path(stored(target)["checkpoint-10"].artifact_location.removeprefix("file://"))
    assert b"".join(part.read_bytes() for part in sorted(parts.iterdir())) == whole


def test_of_one_above_the_limit_mlflow_gets_the_place(target: Target, capsys: pytest.CaptureFixture[str]) -> None:
    journal = trained(target, {10: 80_000}, Mlflow(largest_model_mb=0.1))
    [line] = capsys.readouterr().out.splitlines()
    assert missing_in(line, "only the place", "checkpoints", "0 MB", "track.largest_model_mb=0.1") == []
    deliver(journal, target)
    assert sorted(files(target)) == ["best-00000010"]
    reference = stored(target)["checkpoint-10"].tags["bakeoff.reference"]
    here = Path(".bakeoff/runs", FINGERPRINT, "1-all/00000010").resolve()
    assert missing_in(reference, "track.largest_model_mb", str(here)) == []
    trained(target, {20: 3, 30: 3})  # a reference goes without files to delete
    deliver(journal, target)
    assert place_in(journal, target).refused == () and "checkpoint-10" not in stored(target)


def test_a_step_that_is_taken_again_replaces_the_checkpoint_of_the_first_time(target: Target) -> None:
    journal = trained(target, {10: 6, 20: 6})
    deliver(journal, target)
    trained(target, {20: 7})
    deliver(journal, target)
    assert sorted(stored(target)) == ["best-so-far-10", "checkpoint-10", "checkpoint-20"]
    there = Path(stored(target)["checkpoint-20"].artifact_location.removeprefix("file://"), "00000020")
    assert there.read_bytes() == Path(".bakeoff/runs", FINGERPRINT, "1-all/00000020").read_bytes()


def test_an_attempt_that_resumes_sends_nothing_anew(target: Target, journal: Path) -> None:
    sent: list[str] = []
    trained(target, ())
    deliver(journal, target, lambda client: Slow(client, sent))
    assert sent == [] and len(list(entries_of(journal, CheckpointEntry))) == 3


def test_files_that_are_refused_are_named_and_the_model_is_sent(
    target: Target, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(target, (30,))

    def refuse(*given: object, **more: object) -> None:
        raise PermissionError("the bucket is locked")

    monkeypatch.setattr(REPOSITORY, refuse)
    deliver(journal, target)
    assert "checkpoint-10" not in stored(target) and "00000010" in files(target)
    [refused] = place_in(journal, target).refused
    assert missing_in(refused, "removal", "1-all/00000010", "the bucket is locked") == []


@pytest.mark.parametrize(
    "text",
    [
        "API request to http://127.0.0.1/x failed with exception HTTPConnectionPool: Read timed out. (read timeout=20)",
        "503 Server Error: Service Unavailable for url: http://127.0.0.1:5000/api/2.0/mlflow-artifacts/artifacts/x",
        "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))",
    ],
)
def test_a_removal_that_failed_in_passing_is_tried_again(
    text: str, target: Target, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(target, (30,))

    def fail(*given: object, **more: object) -> None:
        raise OSError(text)

    with monkeypatch.context() as broken:
        broken.setattr(REPOSITORY, fail)
        with pytest.raises(OSError, match="."):
            deliver(journal, target)
    assert "checkpoint-10" in stored(target)
    deliver(journal, target)
    assert "checkpoint-10" not in stored(target) and "00000010" not in files(target)
    assert place_in(journal, target).refused == ()


def test_files_of_a_model_in_no_place_of_its_own_are_not_deleted(target: Target) -> None:
    from bakeoff.tracking.store.mlflow_client import delete_artifacts

    journal = trained(target, (10,))
    deliver(journal, target)
    client, _ = open_store(target)
    model = stored(target)["checkpoint-10"]
    model._artifact_location = Path.cwd().as_uri()
    assert missing_in(str(delete_artifacts(client, model)), "its own", Path.cwd().as_uri()) == []
    assert Path("store.db").is_file()


def test_another_store_gets_the_checkpoints_that_are_still_here(target: Target, journal: Path, new_store: Path) -> None:
    other = copy_store(new_store, "other.db")
    deliver(journal, other)
    assert sorted(stored(other)) == sorted(stored(target))


def test_a_name_that_the_sender_takes_away_meanwhile_ends_no_training(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = trained(target, (10,))

    def gone(path: Path, other: Path) -> bool:
        path.unlink()
        raise FileNotFoundError(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "samefile", gone)
        trained(target, ())
    deliver(journal, target)
    assert sorted(stored(target)) == ["best-so-far-10", "checkpoint-10"]


def test_telling_that_fails_ends_no_training_and_is_the_journals_trouble(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> None:
        raise OSError("no more inodes")

    monkeypatch.setattr("bakeoff.tracking.tracker.report_checkpoints", fail)
    journal = Journal(RUN)
    tracker = Tracker(RUN, Mlflow(), journal)
    tracker.checkpoint(CheckpointList(Path(), 10, (), (), {}))
    assert str(journal.trouble) == "no more inodes"
    journal.close()


def test_best_weights_that_are_reported_again_after_they_were_sent_are_no_loss(target: Target) -> None:
    journal = trained(target, (10,))
    deliver(journal, target)
    trained(target, (20,))
    Path(".bakeoff/runs", FINGERPRINT, "1-all/best-00000010").unlink()
    (journal / "files/checkpoint-1-all-best-00000010").unlink()
    deliver(journal, target)
    assert place_in(journal, target).refused == ()
    assert sorted(stored(target)) == ["best-so-far-10", "checkpoint-10", "checkpoint-20"]


@pytest.mark.parametrize(
    ("settings", "here"),
    [
        (Mlflow(), True), (Mlflow(checkpoints="none"), False), (Mlflow(uri="http://127.0.0.1:9"), False),
        (Untracked(), False),
    ],
)  # fmt: skip
def test_a_store_on_this_disk_needs_room_for_checkpoints(
    settings: Track, here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert takes_checkpoints_here(settings) is here
