"""Work in flight of one machine, resumed on another; a store that fails; a trainer that has lost its lease."""

import json
import os
from pathlib import Path

import pytest

from bakeoff.config.track_settings import Untracked
from bakeoff.experiments.checkpoint_store import upload
from bakeoff.experiments.checkpoint_store.copies import copies, manifest_of
from bakeoff.experiments.checkpoint_store.lease import EXPIRES, take_lease
from bakeoff.experiments.checkpoint_store.store import VARIABLE, FolderStore
from bakeoff.experiments.checkpoint_store.training_hook import NoCheckpointStore, keep_in_store
from bakeoff.foundation.errors import Canceled, ConfigError, TryAgainLater
from bakeoff.learning.checkpoints.run_state import Position
from bakeoff.learning.training.stopping import Stop
from support.messages import missing_in
from support.stored_training import RUN, save, steps, training, wait_until


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    (tmp_path / "store").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "store"))
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setattr(upload, "RETRY_S", 0.05)
    return FolderStore(tmp_path / "store")


def test_work_resumes_on_another_machine(store: FolderStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with training(tmp_path / "one") as (work, _):
        run_id = work.run_id
        for step in (10, 20, 30):
            save(work, step, best=20 if step >= 20 else 0)
            wait_until(lambda step=step: step in steps(store))
    assert steps(store) == [30, 20]
    manifest = json.loads(store.read(manifest_of(copies(store, RUN)[0])))
    assert (manifest["run"], manifest["identity"], manifest["step"]) == (run_id, {"seed": 1}, 30)
    with training(tmp_path / "other") as (work, _):
        newest = work.newest()
        assert newest.position == Position(0, 30) and newest.arrays is not None and newest.arrays["kernel"][0] == 30
        assert work.best(Position(0, 20))["kernel"].tolist() == [20, 20, 20] and work.run_id == run_id
        save(work, 40, best=20)
    assert missing_in(capfd.readouterr().out, "train: ", "step 30 ", store.shown) == []
    for name in ("1-head/00000030", "1-head/best-00000020"):
        assert (tmp_path / "one" / RUN / name).read_bytes() == (tmp_path / "other" / RUN / name).read_bytes()
    assert steps(store) == [40]
    names = [name.removeprefix(f"{RUN}/") for name in store.names("")]
    assert [name for name in names if not name.startswith("00000002-")] == ["leases/00000002"]
    assert sorted(name.partition("/")[2] for name in names if name.startswith("00000002-")) == [
        "1-head/00000040.json", "1-head/00000040.part-00001", "1-head/best-00000020.part-00001",
    ]  # fmt: skip
    assert {path.name for path in (tmp_path / "one" / RUN).iterdir()} == {"1-head", "lease", "lock", "run"}


def test_the_copy_before_is_taken_for_one_that_is_damaged(
    store: FolderStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with training(tmp_path / "one") as (work, _):
        for step in (10, 20):
            save(work, step)
            wait_until(lambda step=step: step in steps(store))
    store.write(f"{copies(store, RUN)[0].prefix}/1-head/00000020.part-00001", b"something else")
    with training(tmp_path / "other") as (work, _):
        assert work.newest().position.step == 10
    assert missing_in(capfd.readouterr().err, "copy of 1-head/00000020", "not whole") == []


def test_a_checkpoint_that_is_as_new_here_stays(store: FolderStore, tmp_path: Path) -> None:
    with training(tmp_path / "one") as (work, _):
        save(work, 10)
    with training(tmp_path / "one") as (work, _):
        assert work.newest().position.step == 10
        save(work, 20)
    with training(tmp_path / "one") as (work, _):
        assert work.newest().position.step == 20
    assert steps(store)[0] == 20


def test_what_is_here_and_not_there_is_copied_at_the_start(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    with training(tmp_path / "one") as (work, _):
        save(work, 10)
    monkeypatch.setenv(VARIABLE, store.shown)
    with training(tmp_path / "one"):
        pass
    assert steps(store) == [10]


def test_a_run_that_begins_anew_takes_nothing_and_leaves_nothing(store: FolderStore, tmp_path: Path) -> None:
    with training(tmp_path / "one") as (work, _):
        save(work, 10)
    with training(tmp_path / "other", fresh=True) as (work, _):
        assert work.newest().arrays is None and steps(store) == []


def test_without_a_store_nothing_is_done(store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)

    with keep_in_store(tmp_path / RUN, Stop(), {}, Untracked(), fresh=False) as kept:
        assert isinstance(kept, NoCheckpointStore) and not kept.has_lost()
    assert store.names("") == [] and not (tmp_path / RUN).exists()


def test_a_second_trainer_is_refused_and_the_first_continues(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXPIRES, "1")
    with training(tmp_path / "one") as (work, kept):
        with pytest.raises(TryAgainLater, match="trains this variant right now"), training(tmp_path / "other"):
            pass
        save(work, 10)
        assert not kept.has_lost()
    assert steps(store) == [10]


def test_a_trainer_whose_lease_is_another_s_stops_and_damages_nothing(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(EXPIRES, "1")
    stop = Stop()
    with pytest.raises(Canceled, match=r"step 20: process \d+ on .* this variant") as caught:
        with training(tmp_path / "one", stop) as (work, kept):
            save(work, 10)
            wait_until(lambda: steps(store) == [10])
            os.utime(store._root / RUN / "leases/00000001", (1, 1))
            lease = take_lease(store, RUN, tmp_path / "lease", print)
            store.write(f"{lease.prefix}/1-head/00000020.json", b"{}")
            before = {name: store.read(name) for name in store.names("") if "00000001" not in name}
            wait_until(lambda: stop.asked)
            save(work, 20)
            kept.leave_if_taken_away(20)
    assert caught.value.exit_code == 75
    assert {name: store.read(name) for name in store.names("")} == before
    assert capfd.readouterr().err.count("trains this variant now") == 1
    lease.renew()


def test_a_trainer_that_loses_its_lease_before_the_first_step_says_the_same(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXPIRES, "1")
    stop = Stop()
    with pytest.raises(Canceled, match="before the first .*process .* this variant") as caught:
        with training(tmp_path / "one", stop):
            os.utime(store._root / RUN / "leases/00000001", (1, 1))
            take_lease(store, RUN, tmp_path / "lease", print)
            wait_until(lambda: stop.asked)
            stop.leave_if_asked()
    assert caught.value.exit_code == 75


def test_what_the_new_holder_may_need_stays(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXPIRES, "1")
    stop = Stop()
    with training(tmp_path / "one", stop) as (work, _):
        save(work, 10)
        wait_until(lambda: steps(store) == [10])
        os.utime(store._root / RUN / "leases/00000001", (1, 1))
        take_lease(store, RUN, tmp_path / "lease", print)
        wait_until(lambda: stop.asked)
    assert steps(store) == [10]


def test_a_store_that_went_away_costs_no_checkpoint_and_is_used_again(
    store: FolderStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with training(tmp_path / "one") as (work, _):
        store._root.rename(tmp_path / "away")
        for step in (10, 20, 30):
            save(work, step)
        wait_until(lambda: (tmp_path / "one" / RUN / "leaving").is_dir())
        errors = ""
        while "takes no copies now" not in errors:
            errors += capfd.readouterr().err
        (tmp_path / "away").rename(store._root)
        wait_until(lambda: 30 in steps(store))
        wait_until(lambda: "takes copies again" in capfd.readouterr().out)
        assert work.newest().position.step == 30
    assert errors.count("takes no copies now") == 1 and "(No such file or directory)" in errors
    assert steps(store) == [30]


def test_a_store_that_is_gone_at_the_end_is_reported_and_not_waited_for(
    store: FolderStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with training(tmp_path / "one") as (work, _):
        store._root.rename(tmp_path / "away")
        save(work, 10)
    err = capfd.readouterr().err
    assert missing_in(err, "no copy", "last checkpoint", f"{tmp_path.as_posix()}/one/{RUN}") == []
    (tmp_path / "away").rename(store._root)
    with training(tmp_path / "one"):
        pass
    assert steps(store) == [10]


def test_a_store_that_is_not_there_begins_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "nowhere")
    with pytest.raises(ConfigError, match="/nowhere must be a folder"), training(tmp_path / "one"):
        pass
