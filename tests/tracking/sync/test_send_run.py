"""A journal arrives in MLflow once, whatever fails on the way. The store here is a list in memory."""

import os
import re
import time
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.config.track_settings import Mlflow
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking import tracker
from bakeoff.tracking.journal.artifacts import kept_weights
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target, is_sent, place_in, target_in
from support.messages import missing_in

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of MLflow's libraries, while they are loaded
    from mlflow.entities import Metric
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import ENDPOINT_NOT_FOUND

    from bakeoff.tracking.sync import send_all
    from bakeoff.tracking.sync.send_run import Deleted, Delivery

TARGET = Target("http://somewhere", "bakeoff")


class Store:
    """What a client of MLflow writes to. `fail` is called with each request's name, before and after it is done."""

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.points: list[tuple[str, int, float]] = []
        self.run_of_points: list[str] = []
        self.params: dict[str, str] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.files: dict[str, bytes] = {}
        self.states: list[str] = []
        self.datasets: list[Any] = []
        self.requests: list[str] = []
        self.fail = lambda name, when: None

    def __getattr__(self, name: str) -> Any:
        def request(*given: Any, **more: Any) -> Any:
            self.requests.append(name)
            self.fail(name, "before")
            answer = getattr(self, f"do_{name}")(*given, **more)
            self.fail(name, "after")
            return answer

        if name.startswith("do_"):
            raise AttributeError(name)
        return request

    def do_search_runs(self, experiments: list[str], wanted: str, run_view_type: int = 1, max_results: int = 1) -> Any:
        pairs = re.findall(r"tags\.`([\w.]+)` = '([^']*)'", wanted)
        return [
            run for run in self.runs
            if all(self.tags[run.info.run_id].get(key) == value for key, value in pairs)
        ]  # fmt: skip

    def do_create_run(self, experiment: str, start_time: int = 0, run_name: str = "", tags: Any = ()) -> Any:
        info = SimpleNamespace(
            run_id=f"mlflow-{len(self.runs)}",
            lifecycle_stage="active",
            start_time=len(self.runs),
            run_name=run_name,
            artifact_uri=f"s3://runs/{len(self.runs)}",
        )
        self.runs.append(SimpleNamespace(info=info))
        self.tags[info.run_id] = dict(tags)
        return self.runs[-1]

    def do_get_run(self, run: str) -> Any:
        return next(one for one in self.runs if one.info.run_id == run)

    def do_log_batch(self, run: str, metrics: Any = (), params: Any = (), tags: Any = ()) -> None:
        if any(metric.key == "forbidden" for metric in metrics):
            raise MlflowException("Invalid metric name: 'forbidden'", error_code=1000)  # INVALID_PARAMETER_VALUE
        self.points += [(metric.key, metric.step, metric.value) for metric in metrics]
        self.run_of_points += [run for _ in metrics]
        self.params |= {param.key: param.value for param in params}
        self.tags[run] |= {tag.key: tag.value for tag in tags}

    def do_get_metric_history(self, run: str, key: str) -> list[Any]:
        own = [point for point, of in zip(self.points, self.run_of_points, strict=True) if of == run]
        return [SimpleNamespace(step=step, value=value) for name, step, value in own if name == key]

    def do_log_artifact(self, run: str, path: str, folder: str | None) -> None:
        self.files[f"{folder}/{Path(path).name}"] = Path(path).read_bytes()

    def do_set_terminated(self, run: str, state: str = "FINISHED", end_time: int = 0) -> None:
        self.states.append(state)

    def do_update_run(self, run: str, status: str) -> None:
        self.states.append(status)

    def do_log_inputs(self, run: str, datasets: list[Any]) -> None:
        self.datasets += datasets

    def do_set_tag(self, run: str, key: str, value: str) -> None:
        self.tags[run][key] = value

    def do_delete_run(self, run: str) -> None:
        next(one for one in self.runs if one.info.run_id == run).info.lifecycle_stage = "deleted"


@pytest.fixture
def journal(workspace: Path) -> Journal:
    """Return the journal of a run of six steps, with entries of every kind."""
    journal = Journal("0f")
    TARGET.write(journal.folder)
    journal.run("ssd · cosine · low")
    journal.tags({"host": "here"})
    journal.params({"lr.peak": "0.5"})
    journal.dataset("digits", "9f" * 32, "data/records", {"train": 600})
    for step in range(1, 7):
        journal.metrics(step, {"train/loss": step / 4, "learning_rate": step / 8})
    Path("weights").write_bytes(b"weights")
    journal.file(Path("weights"), "train/weights")
    journal.state("FINISHED")
    journal.close()
    return journal


POINTS = [(key, step, step / part) for step in range(1, 7) for key, part in (("train/loss", 4), ("learning_rate", 8))]


def deliver(journal: Journal, store: Store, target: Target = TARGET) -> None:
    Delivery(store, "1", journal.folder, target).send()  # type: ignore[arg-type]


@pytest.fixture
def sent(journal: Journal) -> Store:
    """Return a store that has the journal."""
    store = Store()
    deliver(journal, store)
    return store


def holds_everything(store: Store) -> bool:
    [run] = [run.info for run in store.runs if run.info.lifecycle_stage == "active"]
    assert sorted(store.points) == sorted(POINTS)
    assert run.run_name == "ssd · cosine · low" and store.params == {"lr.peak": "0.5"}
    assert store.tags[run.run_id] == {"bakeoff.run": "0f", "host": "here"}
    assert store.files == {"train/weights": b"weights"} and store.states[-1] == "FINISHED"
    [dataset] = {(one.dataset.name, one.dataset.digest, one.dataset.profile) for one in store.datasets}
    return dataset == ("digits", "9f" * 18, '{"train": 600}')  # MLflow takes 36 characters


def test_a_run_arrives_with_all_entries_of_its_journal(journal: Journal, sent: Store) -> None:
    assert holds_everything(sent)
    assert sent.requests == [
        "search_runs", "create_run",
        "log_batch", "log_inputs", "log_batch", "log_artifact", "get_run",  # lines go together where they can
        "set_terminated", "search_runs",
    ]  # fmt: skip
    assert not list((journal.folder / "files").iterdir())  # what was kept is not needed any more


def test_nothing_is_sent_twice(journal: Journal, sent: Store) -> None:
    sent.requests.clear()
    deliver(journal, sent)
    assert set(sent.requests) == {"search_runs"} and holds_everything(sent)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("place", range(8))
def test_a_request_that_fails_before_or_after_the_store_did_it_is_made_good(
    when: str, place: int, journal: Journal
) -> None:
    """At each request of the delivery once: what the store has done and what not, the sender does not know."""
    store, count = Store(), [0]

    def fail(name: str, moment: str) -> None:
        if moment == when:
            count[0] += 1
            if count[0] == place + 1:
                raise ConnectionError("the connection was cut")

    store.fail = fail
    for _ in range(2):
        try:
            deliver(journal, store)
        except ConnectionError:
            continue
    store.fail = lambda name, moment: None
    deliver(journal, store)
    assert holds_everything(store) and count[0] > place


@pytest.mark.parametrize("lost", [1, 3, 6, 9])
@pytest.mark.parametrize("left", [b"", bytes(700)])
def test_a_journal_that_lost_lines_that_were_sent_is_made_good(
    lost: int, left: bytes, journal: Journal, sent: Store
) -> None:
    """After a loss of power, repeated and new entries of the resumed training arrive once, short ones too."""
    file, before = journal.folder / "journal.jsonl", place_in(journal.folder, TARGET)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-lost]) + left)
    assert before.offset > 0 == place_in(journal.folder, TARGET).offset and TARGET in [target_in(journal.folder)]
    again = Journal("0f")
    again.state("RUNNING")
    for step in range(1, 7):
        again.metrics(step, {"train/loss": step / 4, "learning_rate": step / 8})
        deliver(journal, sent)  # the sender does not wait for the rest
    again.metrics(7, {"train/loss": 0.125})
    again.state("FINISHED")
    again.close()
    deliver(journal, sent)
    assert sent.points.count(("train/loss", 7, 0.125)) == 1
    sent.points.remove(("train/loss", 7, 0.125))
    assert sorted(sent.points) == sorted(POINTS) and sent.states[-1] == "FINISHED" and len(sent.runs) == 1


def test_a_journal_that_grew_past_a_place_that_it_lost_is_read_from_its_beginning(journal: Journal) -> None:
    """By its length nothing is missing."""
    store, file = Store(), journal.folder / "journal.jsonl"
    deliver(journal, store)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-4]))
    again = Journal("0f")
    again.tags({"long": "x" * 1000})
    again.close()
    assert file.stat().st_size > sum(map(len, lines)) and not is_sent(journal.folder, TARGET)
    deliver(journal, store)
    assert store.tags["mlflow-0"]["long"] == "x" * 1000 and sorted(store.points) == sorted(POINTS)


def test_nothing_is_sent_that_a_loss_of_power_could_take_from_the_journal(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is on the disk before a request, the place after it; the next request waits for both."""
    store, done, real = Store(), [""], os.fsync

    def sync(file: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{file}")).name
        done.append(name.partition(".")[0] if "journal" in name or "sent" in name else "")
        real(file)

    def note(name: str, when: str) -> None:
        if when == "before" and name not in ("search_runs", "get_run"):
            done.append(name)

    store.fail = note
    monkeypatch.setattr(os, "fsync", sync)
    deliver(journal, store)
    order = [name for name in done if name]
    place = f"sent-{TARGET.key}"
    assert order == [
        place, "create_run", place, "journal", place,  # the first line is the run itself
        *(name for request in ("log_batch", "log_inputs", "log_batch", "log_artifact", "set_terminated")
          for name in (request, place)),
    ]  # fmt: skip


@pytest.mark.parametrize("left", [None, "", "\0" * 200, "[]", '{"offset": "1", "refused": []}', '{"later": 1}'])
def test_a_place_that_is_gone_or_cannot_be_read_is_the_beginning(
    left: str | None, journal: Journal, sent: Store
) -> None:
    for name in (f"sent-{TARGET.key}.json", "target.json"):
        (journal.folder / name).unlink() if left is None else (journal.folder / name).write_text(left)
    deliver(journal, sent)
    assert holds_everything(sent)
    assert target_in(journal.folder) is None


def test_a_run_that_resumes_on_another_machine_has_each_point_once(
    journal: Journal, sent: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal begins there anew, with the history so far, and grows while it is sent."""
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    tracker.expect_earlier_points("0f", Mlflow(uri=TARGET.uri, experiment=TARGET.experiment))
    other = Journal("0f")
    TARGET.write(other.folder)
    delivery = Delivery(sent, "1", other.folder, TARGET)  # type: ignore[arg-type]
    for step in range(1, 10):
        other.metrics(step, {"train/loss": step / 4, "learning_rate": step / 8})
        other.settle()
        delivery.send()
    assert len(sent.runs) == 1
    assert sorted(sent.points) == sorted({*sent.points}) and len(sent.points) == 2 * 9


def test_entries_that_another_machine_sent_after_an_outage_are_not_sent_twice(
    journal: Journal, sent: Store, tmp_path: Path
) -> None:
    behind = Journal("0f")
    for step in (7, 8):
        behind.metrics(step, {"train/loss": step / 4})
        behind.file(tmp_path / "weights", f"train/weights of {step}")
    behind.close()
    replace(place_in(journal.folder, TARGET), trouble="no server answers", tries=1).write(journal.folder, TARGET)
    sent.do_log_batch("mlflow-0", [Metric("train/loss", step / 4, 0, step) for step in (7, 8)])
    deliver(journal, sent)
    assert sorted(sent.points) == sorted({*sent.points})


def test_trouble_that_is_over_is_not_reported_any_more(journal: Journal, sent: Store) -> None:
    replace(place_in(journal.folder, TARGET), trouble="no server answers", tries=3).write(journal.folder, TARGET)
    deliver(journal, sent)
    assert (place_in(journal.folder, TARGET).trouble, place_in(journal.folder, TARGET).tries) == (None, 0)


def test_files_that_a_killed_sender_put_together_are_removed_once_unused(journal: Journal) -> None:
    files = journal.folder / "files"
    for name, age in (("sending-old", 7200), ("sending-new", 60)):
        (files / name).mkdir()
        os.utime(files / name, (time.time() - age,) * 2)
    deliver(journal, Store())
    assert [path.name for path in files.iterdir()] == ["sending-new"]


def test_a_store_that_is_gone_gets_all_of_it_again(journal: Journal, tmp_path: Path) -> None:
    deliver(journal, Store())
    empty = Store()
    deliver(journal, empty)
    assert holds_everything(empty)
    (tmp_path / "weights").write_bytes(b"another")
    empty = Store()
    deliver(journal, empty)
    assert empty.points and not empty.files
    [refused] = place_in(journal.folder, TARGET).refused
    assert missing_in(refused, "train/weights", "replaced") == []


def test_a_run_that_a_hanging_server_made_late_is_deleted(journal: Journal, sent: Store) -> None:
    """The request seemed lost and was repeated; then the server did both."""
    late = sent.do_create_run("1", 0, "ssd · cosine · low", {"bakeoff.run": "0f"})
    deliver(journal, sent)
    assert late.info.lifecycle_stage == "deleted" and holds_everything(sent)


def test_a_run_that_was_deleted_in_mlflow_is_left_alone(journal: Journal, sent: Store) -> None:
    sent.do_delete_run("mlflow-0")
    with pytest.raises(Deleted, match=r"deleted.*`mlflow runs restore --run-id mlflow-0`"):
        deliver(journal, sent)
    assert len(sent.runs) == 1


def test_what_a_store_refuses_is_named_and_the_others_go_on(journal: Journal) -> None:
    again = Journal("0f")
    again.metrics(7, {"forbidden": 1.0, "train/loss": 0.1})
    again.close()
    store = Store()
    deliver(journal, store)
    assert ("train/loss", 7, 0.1) in store.points and store.states == ["FINISHED"]
    assert place_in(journal.folder, TARGET).refused == ("forbidden: Invalid metric name: 'forbidden'",)


def test_a_server_without_logged_models_gets_all_else(journal: Journal, tmp_path: Path) -> None:
    """As one of MLflow 2."""
    answer = "API request failed with error code 404 != 200"

    def no_such_place(*given: object, **more: object) -> None:
        raise MlflowException(answer, error_code=ENDPOINT_NOT_FOUND)

    again = Journal("0f")
    (tmp_path / "best.weights.h5").write_bytes(b"best")
    for model in kept_weights(tmp_path, TrainedState(step=6), Mlflow()):
        again.model(model)
    again.metrics(6, {"evaluation/accuracy": 0.5}, weights="best")
    again.close()
    store = Store()
    store.do_search_logged_models = no_such_place  # type: ignore[attr-defined]
    deliver(journal, store)
    assert ("evaluation/accuracy", 6, 0.5) in store.points and store.states == ["FINISHED"]
    assert place_in(journal.folder, TARGET).refused == (f"best: {answer}", f"metrics: {answer}")


def test_a_restored_run_tells_a_store_nothing_that_has_it(journal: Journal, sent: Store) -> None:
    restored = Journal("0f")
    restored.restoring = True
    restored.tags({"bakeoff.restored": "true"})
    restored.restoring = False
    restored.metrics(6, {"evaluation/accuracy": 0.5})
    restored.close()
    (journal.folder / f"sent-{TARGET.key}.json").unlink()  # as in another clone, where the run is known by its files
    deliver(journal, sent)
    assert ("evaluation/accuracy", 6, 0.5) in sent.points
    assert "bakeoff.restored" not in sent.tags["mlflow-0"]
    empty = Store()
    deliver(journal, empty, Target("http://elsewhere", "bakeoff"))
    assert empty.tags["mlflow-0"]["bakeoff.restored"] == "true"


@pytest.mark.parametrize(("weights", "runs"), [("5d", 1), ("6e", 2)])
def test_a_result_of_another_clone_is_added_to_the_run_that_made_it(journal: Journal, weights: str, runs: int) -> None:
    """It has an id of its own here; the run is known by its fingerprint and its weights."""
    Journal("0f").tags({"bakeoff.fingerprint": "ab12", "bakeoff.weights_sha256": "5d"})
    store = Store()
    deliver(journal, store)
    pulled = Journal("9c")
    pulled.restoring = True
    pulled.run("pulled")
    pulled.tags({"bakeoff.restored": "true", "bakeoff.fingerprint": "ab12", "bakeoff.weights_sha256": weights})
    pulled.restoring = False
    pulled.metrics(6, {"evaluation/accuracy": 0.5})
    pulled.close()
    deliver(pulled, store)
    assert len(store.runs) == runs and store.run_of_points[-1] == f"mlflow-{runs - 1}"
    assert ("bakeoff.restored" in store.tags["mlflow-0"]) is False


def test_a_revised_result_is_added_once(journal: Journal) -> None:
    again = Journal("0f")
    for value in (0.5, 0.75):
        again.metrics(6, {"evaluation/accuracy": value}, revised=True)
    again.close()
    store = Store()
    deliver(journal, store)
    (journal.folder / f"sent-{TARGET.key}.json").unlink()  # nothing is known of what arrived
    deliver(journal, store)
    assert [value for key, _, value in store.points if key == "evaluation/accuracy"] == [0.5, 0.75]


def test_many_points_are_sent_in_as_few_requests_as_mlflow_allows(journal: Journal) -> None:
    again = Journal("0f")
    for step in range(7, 1007):
        again.metrics(step, {"train/loss": 0.5, "learning_rate": 0.5})
    again.close()
    store = Store()
    deliver(journal, store)
    assert len(store.points) == 2012
    assert store.requests.count("log_batch") == 2 + 3  # 900 points in each


def test_a_run_that_may_go_on_is_killed_without_an_end(journal: Journal) -> None:
    again = Journal("0f")
    again.state("RUNNING")
    again.state("KILLED", ended=False)
    again.close()
    store = Store()
    deliver(journal, store)
    assert store.states == ["FINISHED", "RUNNING", "KILLED"]
    assert store.requests.count("set_terminated") == 1 and store.requests.count("update_run") == 2


def test_the_id_of_the_run_that_made_a_result_is_found_in_the_store(journal: Journal, sent: Store) -> None:
    other = Journal("1f")
    TARGET.write(other.folder)
    other.link("bakeoff.made_by_mlflow_run", "0f")
    other.close()
    deliver(other, sent)
    assert sent.tags["mlflow-1"]["bakeoff.made_by_mlflow_run"] == "mlflow-0"


def test_the_jobs_of_a_sweep_stand_under_one_run(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    for number in (1, 2):
        monkeypatch.setenv("DVC_EXP_NAME", f"sweep-20260731-120000-{number}")
        monkeypatch.setattr(tracker, "Watch", lambda *given: SimpleNamespace(end=lambda wait_s: None))
        job = tracker.start(Mlflow(uri="http://somewhere"), "ssd", {}, run_id=f"{number}f")
        job.close()
        deliver(SimpleNamespace(folder=workspace / ".bakeoff/journal" / f"{number}f"), store)  # type: ignore[arg-type]
    assert [run.info.run_name for run in store.runs] == [
        "ssd (sweep-20260731-120000-1)", "sweep-20260731-120000", "ssd (sweep-20260731-120000-2)",
    ]  # fmt: skip
    parents = [store.tags[run].get("mlflow.parentRunId") for run in ("mlflow-0", "mlflow-1", "mlflow-2")]
    assert parents == ["mlflow-1", None, "mlflow-1"]


def test_why_nothing_was_sent_is_noted_beside_each_journal_until_it_is_sent(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Journal("1f")
    TARGET.write(other.folder)
    other.close()
    store = Store()

    def open_store(target: Target) -> tuple[Store, str]:
        if len(store.requests) < 2:
            store.requests.append("open")
            raise ConnectionError("https://me:secret@somewhere refused the connection\nas it does")
        return store, "1"

    monkeypatch.setattr(send_all, "open_store", open_store)
    sending = send_all.Courier(TARGET)
    assert not sending.send([journal.folder, other.folder]) and not sending.send([journal.folder, other.folder])
    for folder in (journal.folder, other.folder):
        place = place_in(folder, TARGET)
        assert (place.trouble, place.tries) == ("https://somewhere refused the connection", 2)
    assert sending.send([journal.folder, other.folder])
    assert place_in(journal.folder, TARGET).trouble is None


def test_a_deleted_run_does_not_hold_up_the_others(
    journal: Journal, sent: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent.do_delete_run("mlflow-0")
    other = Journal("1f")
    TARGET.write(other.folder)
    other.metrics(1, {"train/loss": 0.125})
    other.close()
    monkeypatch.setattr(send_all, "open_store", lambda target: (sent, "1"))
    sending = send_all.Courier(TARGET)
    assert sending.send([journal.folder, other.folder]) and sending.deleted == {journal.folder}
    assert ("train/loss", 1, 0.125) in sent.points
    assert "mlflow runs restore" in str(place_in(journal.folder, TARGET).trouble)


def test_the_name_of_a_store_says_no_password(tmp_path: Path) -> None:
    target = Target("https://me:secret@server/path", "bakeoff")
    assert target.shown == "https://server/path"
    target.write(tmp_path)
    assert target_in(tmp_path) == target and "secret" not in target.key
