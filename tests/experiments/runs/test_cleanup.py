"""What of old work may go: by rules, by name, and never what a process holds; and which results came from which run."""

import hashlib
import json
import os
import re
import time
from pathlib import Path

import pytest
from filelock import FileLock

from bakeoff.experiments.runs.cleanup import CleanupRules, named_by, old_runs, other_leftovers, seconds_of, these_runs
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import WorkspaceError
from support.made_runs import NOBODY, made
from support.repository import git

DAY = 86400.0


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a workspace, in which one stands."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".bakeoff/runs"
    made(folder, "going", State.RUNNING)
    made(folder, "newest", State.SUCCEEDED, ago=1 * DAY, checkpoint=True)
    made(folder, "done", State.SUCCEEDED, ago=2 * DAY, checkpoint=True)
    made(folder, "stopped", State.STOPPED, ago=3 * DAY, checkpoint=True)
    made(folder, "killed", State.RUNNING, ago=4 * DAY, checkpoint=True, process=NOBODY)
    made(folder, "canceled", State.CANCELED, ago=5 * DAY)
    made(folder, "older", State.SUCCEEDED, ago=40 * DAY, checkpoint=True)
    return folder


def fates(runs: Path, rules: CleanupRules, names: dict[str, list[str]] | None = None) -> dict[str, str | None]:
    return {left.path.name: left.stays for left in old_runs(known_runs(), rules, names or {})}


def test_by_default_finished_runs_but_the_newest_are_removed(runs: Path) -> None:
    assert fates(runs, CleanupRules(keep=2)) == {
        "going": "is under way", "newest": "of the 2 newest", "done": None, "stopped": "can resume",
        "killed": "can resume", "canceled": None, "older": None,
    }  # fmt: skip


def test_rules_must_all_hold(runs: Path) -> None:
    removed = {name for name, stays in fates(runs, CleanupRules(keep=1, older_than=30 * DAY)).items() if stays is None}
    assert removed == {"older"}
    removed = {
        name
        for name, stays in fates(runs, CleanupRules(keep=0, states=(State.STOPPED, State.FAILED))).items()
        if not stays
    }
    assert removed == {"stopped", "killed"}
    assert fates(runs, CleanupRules(keep=1, older_than=30 * DAY))["done"] == "too young"
    assert fates(runs, CleanupRules(states=(State.STOPPED,)))["done"] == "in another state"


def test_the_run_behind_the_results_stays_and_runs_of_branches_are_named(runs: Path) -> None:
    names = {"done": ["workspace"], "older": ["main", "tall-kite"]}
    assert fates(runs, CleanupRules(), names)["done"] == "models/train is its"
    [older] = [left for left in old_runs(known_runs(), CleanupRules(), names) if left.path.name == "older"]
    assert older.stays is None and older.named_by == ("main", "tall-kite")


def test_named_runs_are_removed_by_any_rules_unless_they_are_under_way(runs: Path) -> None:
    chosen = [run for run in known_runs() if run.fingerprint in ("going", "stopped", "newest")]
    left = these_runs(chosen, known_runs(), {"newest": ["workspace"]})
    reasons = {leftover.path.name: leftover.stays for leftover in left}
    assert reasons == {"going": "is under way", "stopped": None, "newest": None}


def test_a_run_that_an_unfinished_one_continues_stays(runs: Path) -> None:
    made(runs, "child", State.STOPPED, ago=0.5 * DAY, checkpoint=True, parent="done")
    assert fates(runs, CleanupRules())["done"] == "child continues it"
    known = {run.fingerprint: run for run in known_runs()}
    [done] = these_runs([known["done"]], list(known.values()), {})
    assert done.stays == "child continues it"
    both = these_runs([known["done"], known["child"]], list(known.values()), {})
    assert [leftover.stays for leftover in both] == [None, None]
    made(runs, "grown", State.SUCCEEDED, checkpoint=True, parent="older")
    assert fates(runs, CleanupRules())["older"] is None


def test_a_removed_run_is_gone_and_its_size_was_reported(runs: Path) -> None:
    before = sum(file.stat().st_size for file in (runs / "done").rglob("*") if file.is_file())
    [done] = [left for left in old_runs(known_runs(), CleanupRules(), {}) if left.path.name == "done"]
    assert done.bytes == before > 1000
    assert done.remove() and not (runs / "done").exists()


def test_a_run_whose_lock_a_process_holds_is_never_removed(runs: Path) -> None:
    """A run that a process has just resumed stays, whatever its status is."""
    [done] = [left for left in old_runs(known_runs(), CleanupRules(), {}) if left.path.name == "done"]
    with FileLock(runs / "done/lock"):
        assert not done.remove()
    assert (runs / "done/1-run/00000050").exists()


@pytest.mark.parametrize("shelf", ["judged", "choices"])
def test_records_of_other_data_are_found_unless_they_are_being_built(runs: Path, tmp_path: Path, shelf: str) -> None:
    """`bakeoff evaluate --data` and a sweep of `data` build them again when they are asked again."""
    for name in ("0b9f", "3c11.partial"):
        folder = tmp_path / ".bakeoff" / shelf / name
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}", encoding="utf-8")
        folder.with_suffix(".lock").touch()
    with FileLock(tmp_path / ".bakeoff" / shelf / "3c11.lock"):
        leftovers = list(other_leftovers(0))
        states = [(left.path.name, left.stays) for left in leftovers]
        assert states == [("0b9f", None), ("3c11.partial", "is being built")]
        assert all("records of other data" in left.what for left in leftovers)
        assert leftovers[0].remove()
    assert [left.path.name for left in other_leftovers(0)] == ["3c11.partial"]


def test_fetched_weights_and_half_written_files_are_found(runs: Path, tmp_path: Path) -> None:
    weights = tmp_path / ".bakeoff/fetched/0b9f/best.weights.h5"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(bytes(500))
    for name, age in (("00000100.partial", 7200), ("00000200.partial", 5)):
        file = runs / "going" / name
        file.write_bytes(bytes(70))
        os.utime(file, (time.time() - age, time.time() - age))
    leftovers = [(left.path.name, left.bytes, left.stays) for left in other_leftovers(0)]
    assert leftovers == [("0b9f", 500, None), ("00000100.partial", 70, None)]
    assert next(other_leftovers(3600)).stays == "too young"
    for left in other_leftovers(0):
        assert left.remove() and not left.path.exists()


@pytest.mark.parametrize(("age", "seconds"), [("90m", 5400), ("12h", 43200), ("30d", 2592000), ("2w", 1209600)])
def test_an_age_is_a_number_and_a_unit(age: str, seconds: float) -> None:
    assert seconds_of(age) == seconds


@pytest.mark.parametrize("age", ["30", "d", "1.5d", "-3d", "3 days"])
def test_another_age_is_refused(age: str) -> None:
    with pytest.raises(WorkspaceError, match=rf"^--older-than: .*\bm, h, d or w\b.*'{re.escape(age)}'"):
        seconds_of(age)


# Results, from dvc.lock of every branch and experiment, and DVC's cache.


def cached(folder: Path, content: str, ending: str = "") -> str:
    digest = hashlib.md5(content.encode()).hexdigest() + ending
    path = folder / ".dvc/cache/files/md5" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return digest


def trained(folder: Path, fingerprint: str) -> str:
    """A dvc.lock as it is after a training, and what the cache then holds."""
    state = cached(folder, json.dumps({"lineage": {"fingerprint": fingerprint}}))
    listing = [{"md5": "00" * 16, "relpath": "history.jsonl"}, {"md5": state, "relpath": "state.json"}]
    digest = cached(folder, json.dumps(listing), ".dir")
    lock = f"schema: '2.0'\nstages:\n  train:\n    cmd: x\n    outs:\n    - path: models/train\n      md5: {digest}\n"
    (folder / "dvc.lock").write_text(lock, encoding="utf-8")
    return lock


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch=main", folder=tmp_path)
    (tmp_path / ".gitignore").write_text(".dvc\n", encoding="utf-8")
    git("add", "--all", folder=tmp_path)
    git("commit", "--quiet", "--message", "before any training", folder=tmp_path)
    git("tag", "start", folder=tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message", "trained", folder=folder)


def test_branches_and_experiments_name_the_runs_that_they_came_from(clone: Path) -> None:
    trained(clone, "1111")
    commit(clone)
    git("branch", "same", folder=clone)
    git("checkout", "--quiet", "-b", "other", folder=clone)
    trained(clone, "2222")
    commit(clone)
    git("update-ref", "refs/exps/ab/cdef/tall-kite", "other", folder=clone)
    named = {fingerprint: sorted(names) for fingerprint, names in named_by().items()}
    assert named == {"1111": ["main", "same"], "2222": ["other", "tall-kite"]}


def test_the_workspace_names_the_run_that_its_results_came_from(clone: Path) -> None:
    (clone / "models/train").mkdir(parents=True)
    (clone / "models/train/state.json").write_text('{"lineage": {"fingerprint": "3333"}}', encoding="utf-8")
    assert named_by() == {"3333": ["workspace"]}


def test_what_dvc_no_longer_has_or_git_holds_damaged_names_nothing(clone: Path) -> None:
    trained(clone, "1111")
    commit(clone)
    for file in (clone / ".dvc/cache").rglob("*"):
        if file.is_file():
            file.unlink()
    git("checkout", "--quiet", "-b", "odd", folder=clone)
    (clone / "dvc.lock").write_text("stages: [\n", encoding="utf-8")
    commit(clone)
    assert named_by() == {}
