"""`bakeoff continue`: MLflow's checkpoints of a run become work in flight, from which training resumes."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from bakeoff.app.cli import continue_run
from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.workspace import in_flight, journals
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.fingerprint import name_of
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.checkpoints.run_state import Position
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.tracker import Tracker
from support.commands import run_bakeoff
from support.made_checkpoints import FINGERPRINT, IDENTITY, RUN, Trained, trained
from support.messages import missing_in
from support.mlflow_store import copy_store, deliver, find_work, open_store, write_workspace

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries
HERE = continue_run.here(IDENTITY)  # the run's identity, by the code and libraries of today
NEW_NAME = name_of(HERE)


@pytest.fixture
def target(workspace: Path, new_store: Path) -> Target:
    """A store that alone has a run, killed at step 32, in a workspace without records."""
    target = copy_store(new_store)
    journal = trained(target, (10, 20, 30))
    with_more = Journal(RUN)
    with_more.metrics(32, {"train/loss": 1 / 32})
    with_more.metrics(4, {"system/cpu_utilization_percentage": 50.0})
    with_more.close()
    deliver(journal, target)
    shutil.rmtree(".bakeoff")
    write_workspace(target)
    return target


@pytest.fixture
def bakeoff(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda *arguments: run_bakeoff(monkeypatch, capsys, "continue", *arguments)


def model_of(target: Target, name: str) -> Any:
    client, experiment = open_store(target)
    [model] = [one for one in client.search_logged_models([experiment]) if one.name == name]
    return model


def file_of(target: Target, name: str, file: str) -> Path:
    return Path(model_of(target, name).artifact_location.removeprefix("file://"), file)


def newest_here(folder: Path) -> int:
    with RunFolder(folder, ["all"]) as work:
        return work.newest().position.step


@pytest.mark.parametrize("name", [RUN, RUN[:7], FINGERPRINT, FINGERPRINT[:5], "fine-curd", "mlflow"])
def test_a_run_is_found_by_any_of_its_names_and_its_newest_checkpoint_brought(
    name: str, target: Target, bakeoff: Any
) -> None:
    client, experiment = open_store(target)
    [run] = client.search_runs([experiment])
    name = run.info.run_id if name == "mlflow" else name
    code, out, err = bakeoff(name, "--fetch", "--anyway")
    assert (code, err) == (0, "")
    assert missing_in(out, "cnn · cosine · low", "run 01234567", "step 30", "60", "sqlite:////") == []
    assert missing_in(out.splitlines()[-1], "`bakeoff repro`", "same run") == []
    folder = in_flight(NEW_NAME)
    with RunFolder(folder, ["all"]) as work:
        checkpoint = work.newest()
        assert checkpoint.position == Position(0, 30)
        assert checkpoint.arrays is not None and checkpoint.arrays["weight"][0] == 30
        assert work.best(Position(0, 10))["weight"][0] == 10 and work.run_id == RUN
    assert json.loads((folder / "identity.json").read_text()) == HERE
    assert not any(Path(".bakeoff/fetched").iterdir())


def test_the_run_continues_in_mlflow_and_has_nothing_twice(target: Target, bakeoff: Any) -> None:
    assert bakeoff(RUN, "--fetch", "--anyway")[0] == 0
    journal = Journal(RUN)
    assert journal.next_step("system/cpu_utilization_percentage") == 5  # after those of the other machine
    with Trained(in_flight(NEW_NAME), Tracker(RUN, Mlflow(), journal)) as training:
        for step in (10, 20, 30, 32, 40, 50):  # training tells its whole history again
            training.tracker.metrics(step, {"train/loss": 1 / step, "validation/accuracy": step / 100})
        training.best = 10
        training.take(60)
    journal.close()
    deliver(journal.folder, target)
    client, experiment = open_store(target)
    [run] = client.search_runs([experiment])
    history = [point.step for point in client.get_metric_history(run.info.run_id, "train/loss")]
    assert sorted(history) == [10, 20, 30, 32, 40, 50, 60]
    names = sorted(one.name for one in client.search_logged_models([experiment]))
    assert names == ["best-so-far-10", "checkpoint-30", "checkpoint-60"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda content: content[:-5], ("damaged", " {size} bytes", " {whole}")),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), ("damaged", "SHA-256")),
        (lambda content: content.replace(checkpoint.FORMAT, b"bakeoff checkpoint 9\n"), ("this version",)),
    ],
    ids=["truncated", "other bytes", "another format"],
)
def test_a_damaged_checkpoint_is_reported_and_the_one_before_is_taken(
    change: Callable[[bytes], bytes], named: tuple[str, ...], target: Target, bakeoff: Any
) -> None:
    file = file_of(target, "checkpoint-30", "00000030")
    whole, changed = file.read_bytes(), change(file.read_bytes())
    file.write_bytes(changed)
    if named == ("this version",):
        tags = {"bakeoff.sha256": hashlib.sha256(changed).hexdigest()}
        open_store(target)[0].set_logged_model_tags(model_of(target, "checkpoint-30").model_id, tags)
    code, _, err = bakeoff(RUN, "--fetch", "--anyway")
    facts = (part.format(size=len(changed), whole=len(whole)) for part in named)
    assert (code, err.count("\n"), missing_in(err, "warning: 1-all/00000030", *facts, "step 20")) == (0, 1, [])
    assert newest_here(in_flight(NEW_NAME)) == 20


def test_a_store_in_which_none_is_whole_leaves_nothing_half_written(target: Target, bakeoff: Any) -> None:
    file_of(target, "best-so-far-10", "best-00000010").unlink()
    code, _, err = bakeoff(RUN, "--fetch", "--anyway")
    assert (code, len(err.splitlines())) == (2, 2)
    assert missing_in(err.splitlines()[1], "run 01234567", "no checkpoint", "1-all/best-00000010", "damaged") == []
    assert not in_flight(NEW_NAME).exists() and not journals().exists()


def test_a_checkpoint_whose_best_weights_are_gone_is_no_way_to_go_on(target: Target, bakeoff: Any) -> None:
    client, _ = open_store(target)
    client.delete_logged_model(model_of(target, "best-so-far-10").model_id)
    err = bakeoff(RUN, "--fetch", "--anyway")[2]
    assert missing_in(err, "run 01234567", "no checkpoint", "lacks 1-all/best-00000010") == []


def test_the_place_of_a_checkpoint_above_the_limit_is_reported(target: Target, bakeoff: Any) -> None:
    journal = trained(target, (40, 50), Mlflow(largest_model_mb=0.0001))
    deliver(journal, target)
    shutil.rmtree(".bakeoff")
    _, _, err = bakeoff(RUN, "--fetch", "--anyway")
    assert missing_in(err, "warning: ", "only the place", "1-all/best-00000040", "track.largest_model_mb") == []


def test_a_run_that_cannot_be_continued_is_reported_in_one_line(target: Target, bakeoff: Any) -> None:
    for name, parts in (
        ("77aa", ("no run", "short name", " id ", "fingerprint")),
        ("it's", ("no run",)),
        (RUN, ("other code", "c0c0c0c0c0c0", HERE["code"][:12])),
    ):
        done = bakeoff(name)
        assert (done[0], done[1], done[2].count("\n")) == (2, "", 1)
        assert done[2].startswith(f"{name}: ") and missing_in(done[2], *parts) == []
    assert not Path(".bakeoff/runs").exists()


def test_a_run_without_a_checkpoint_is_named(target: Target, bakeoff: Any) -> None:
    client, experiment = open_store(target)
    for model in client.search_logged_models([experiment]):
        client.delete_logged_model(model.model_id)
    code, _, err = bakeoff(RUN)
    assert code == 2 and missing_in(err, "no checkpoint", "run 01234567", "track.checkpoints") == []


def test_two_runs_of_one_name_are_named_and_each_is_found_by_its_id(target: Target, bakeoff: Any) -> None:
    journal = Journal("77" * 16)
    target.write(journal.folder)
    journal.run("the same again")
    journal.tags({"bakeoff.fingerprint": FINGERPRINT})
    with Trained(in_flight(FINGERPRINT), Tracker(journal.run_id, Mlflow(), journal)) as training:
        training.take(10)
    journal.close()
    deliver(journal.folder, target)
    code, _, err = bakeoff(FINGERPRINT)
    assert code == 2 and err.startswith(f"{FINGERPRINT}: must name one run, got 2: ")
    assert "short names" in err and "01234567 at step 30" in err and "77777777 at step 10" in err
    assert [find_work(target, name).copies[0].step for name in ("77777777", RUN[:8], RUN)] == [10, 30, 30]


def test_a_store_that_is_not_there_is_not_made(target: Target, bakeoff: Any) -> None:
    Path("store.db").unlink()
    code, _, err = bakeoff(RUN)
    assert (code, err.count("\n"), missing_in(err, RUN, target.shown, "not here", "track.uri")) == (2, 1, [])
    assert not Path("store.db").exists()


def test_a_server_that_does_not_answer_is_reported(target: Target, bakeoff: Any) -> None:
    Path("params.yaml").write_text(
        "experiment: demo\ndata: {use: digits}\ntrack: {use: mlflow, uri: 'http://127.0.0.1:9'}\n"
    )
    code, _, err = bakeoff(RUN)
    assert code == 2 and err.startswith(f"{RUN}: MLflow (http://127.0.0.1:9) says: no server answers")


def test_where_mlflow_is_not_installed_the_extra_is_named_and_no_store_blamed(
    target: Target, bakeoff: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(address: str) -> None:
        raise ModuleNotFoundError("No module named 'mlflow'", name="mlflow")

    monkeypatch.setattr("bakeoff.tracking.store.mlflow_client.connect", connect)
    code, _, err = bakeoff(RUN)
    assert (code, err.count("\n"), missing_in(err, "mlflow", "the extra train")) == (2, 1, [])


def test_a_run_whose_identity_is_gone_is_reported(target: Target, bakeoff: Any) -> None:
    [file] = Path.cwd().rglob("identity.json")
    file.write_text("{")
    assert missing_in(bakeoff(RUN)[2], "run 01234567", "train/identity.json", "cannot be read") == []
    file.unlink()
    assert missing_in(bakeoff(RUN)[2], "run 01234567", "does not give", "train/identity.json") == []


def test_a_variant_that_is_tracked_nowhere_names_no_store(target: Target, bakeoff: Any) -> None:
    Path("params.yaml").write_text("experiment: demo\ndata: {use: digits}\ntrack: {use: none}\n")
    code, out, err = bakeoff(RUN)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert missing_in(err, "params.yaml", "track", "none", "track: {use: mlflow}") == []


def test_another_training_is_named_by_what_differs() -> None:
    continue_run.refuse_other_training(HERE, json.loads(json.dumps(HERE)), RUN)
    other = HERE | {"model": {"kind": "cnn", "width": 0.5}, "records": "bb"}
    with pytest.raises(ConfigError) as caught:
        continue_run.refuse_other_training(HERE, other, "fine-curd")
    named = ("fine-curd", "params.yaml", "data/records", "model.width 0.25 there", "0.5 here", "records 'aa'", "'bb'")
    assert missing_in(str(caught.value), *named) == []


def test_other_code_is_allowed_on_request_and_reported() -> None:
    old: Mapping[str, Any] = HERE | {"code": "c0" * 32}
    assert continue_run.refuse_other_code(HERE, HERE, RUN, anyway=False) == []
    [line] = continue_run.refuse_other_code(old, HERE, RUN, anyway=True)
    assert missing_in(line, "c0c0c0c0c0c0", f"{HERE['code'][:12]} here", "weights") == []


def test_a_checkpoint_that_is_as_new_stays(target: Target, bakeoff: Any) -> None:
    assert bakeoff(RUN, "--fetch", "--anyway")[0] == 0
    line = bakeoff(RUN, "--fetch", "--anyway")[1].splitlines()[-1]
    assert missing_in(line, "continue: ", "as new", "`bakeoff repro`") == []


def test_a_run_that_trains_here_is_left_alone(target: Target, bakeoff: Any) -> None:
    folder = in_flight(NEW_NAME)
    folder.mkdir(parents=True)
    with FileLock(folder / "lock"):
        code, _, err = bakeoff(RUN, "--fetch", "--anyway")
    assert (code, err.count("\n"), missing_in(err, NEW_NAME, "being trained")) == (2, 1, [])


def test_a_variant_that_cannot_be_rendered_ends_it(target: Target, bakeoff: Any) -> None:
    code, _, err = bakeoff(RUN, "--anyway")  # a workspace without stages
    assert code == 2 and missing_in(err.splitlines()[-1], "params.yaml", "cannot be rendered") == []
    assert not Path(".bakeoff/runs").exists()


def test_a_hostile_name_in_the_store_is_no_path(target: Target, bakeoff: Any) -> None:
    client, _ = open_store(target)
    client.set_logged_model_tags(model_of(target, "checkpoint-30").model_id, {"bakeoff.checkpoint": "../../00000099"})
    assert [one.step for one in find_work(target, RUN).copies] == [20]
