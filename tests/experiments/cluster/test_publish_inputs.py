"""Remotes for far nodes are checked before the first job. The error for a missing one names the command to add it."""

from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.cluster.fetch_results import ref_of, unpack_reports
from bakeoff.experiments.cluster.publish_inputs import FarSweep, _read_remote_settings, collect_reports, git_remote
from bakeoff.experiments.cluster.remote_job import commit_reports
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.dvc_experiment import has_needed_files
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.sweep_manifest import load_manifest
from bakeoff.foundation import dvc
from bakeoff.foundation.errors import WorkspaceError
from support.made_runs import made
from support.made_sweeps import ID, sweep, sweep_job
from support.repository import git


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "--quiet")
    return folder


def test_without_a_git_remote_the_command_that_adds_one_is_named() -> None:
    with pytest.raises(WorkspaceError, match=r"git: .*\bnone; `git remote add origin URL`"):
        git_remote()


def test_of_several_git_remotes_origin_is_meant(place: Path) -> None:
    git("remote", "add", "a", "ssh://team/a")
    assert git_remote() == "ssh://team/a"
    git("remote", "add", "b", "ssh://team/b")
    with pytest.raises(WorkspaceError, match=r"git: .*\b2: a, b, .*`git remote add origin URL`"):
        git_remote()
    git("init", "--quiet", "--bare", "../remote.git")
    git("remote", "add", "origin", "../remote.git")
    assert git_remote() == str((place.parent / "remote.git").resolve())


def test_without_a_dvc_remote_the_command_that_adds_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    git("remote", "add", "origin", "ssh://team/a")
    monkeypatch.setattr(dvc, "default_remote", lambda: None)
    with pytest.raises(WorkspaceError, match="dvc: .*`dvc remote add --default NAME"):
        FarSweep.prepare(sweep())


def dvc_remote(place: Path, folder: Path) -> None:
    (place / ".dvc").mkdir()
    (place / ".dvc/config").write_text(f"[core]\n    remote = far\n['remote \"far\"']\n    url = {folder}\n")


def test_a_dvc_remote_that_cannot_be_written_is_reported_before_the_first_job(place: Path) -> None:
    git("remote", "add", "origin", "ssh://team/a")
    (place / "file").touch()
    dvc_remote(place, place / "file/remote")
    with pytest.raises(
        WorkspaceError, match=r"file/remote: .*\bDVC remote\b.*\(Not a directory\).*`dvc remote modify`"
    ):
        FarSweep.prepare(sweep())


def test_a_git_remote_that_cannot_be_written_is_reported_before_the_first_job(place: Path) -> None:
    git("init", "--quiet", "--bare", "../remote.git")
    git("remote", "add", "origin", "../remote.git")
    refusal = place.parent / "remote.git/hooks/pre-receive"
    refusal.parent.mkdir(exist_ok=True)
    refusal.write_text("#!/bin/sh\nexit 1\n")
    refusal.chmod(0o755)
    dvc_remote(place, place.parent / "data")
    git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--allow-empty", "--message=one")
    with pytest.raises(WorkspaceError, match=r"remote\.git: .*\bgit remote\b.*\(git push\b"):
        FarSweep.prepare(replace(sweep(), snapshot="HEAD"))


def test_what_jobs_need_is_pushed_once_before_the_first_job(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "--quiet", "--bare", "../remote.git")
    git("remote", "add", "origin", "../remote.git")
    dvc_remote(place, place.parent / "data")
    git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--allow-empty", "--message=one")
    for name in ("data/weights/zoo.dvc", "data/raw/hall.dvc"):
        (place / name).parent.mkdir(parents=True)
        (place / name).touch()
    pushed: list[tuple[str, ...]] = []
    monkeypatch.setattr(dvc, "answer", lambda *words: pushed.append(words))
    trains = replace(sweep(sweep_job(1)), snapshot="HEAD")
    FarSweep.prepare(trains)
    builds = replace(sweep_job(2), stages=("build_records", *sweep_job(2).stages))
    FarSweep.prepare(replace(trains, jobs=(*trains.jobs, builds)))
    assert [words[2:] for words in pushed] == [
        ("build_records", "data/weights/zoo.dvc"),
        ("build_records", "data/raw/hall.dvc", "data/weights/zoo.dvc"),
    ]


def test_a_node_gets_its_own_job_the_settings_of_remotes_and_earlier_reports(place: Path) -> None:
    (place / ".dvc").mkdir()
    (place / ".dvc/config.local").write_text(
        "['remote \"far\"']\n    secret_access_key = k\n[cache]\n    dir = /mine\n"
    )
    made(place / ".bakeoff/runs", "ab12", State.RUNNING, experiment=f"{ID}-2", run_id="7f")
    journal = place / ".bakeoff/journal/7f/journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"told\n")
    job = sweep_job(2).begin(1.0).begin(2.0)
    far = FarSweep(sweep(sweep_job(1), job), "/remote.git", "refs/bakeoff-far/s/snapshot", "", _read_remote_settings())
    given = {"PYTHONPATH": "/mine", "AWS_ACCESS_KEY_ID": "key", "BAKEOFF_WORK_STORE": "/disk"}
    part = far.make_job(job, JobFiles(place, 2), given)
    assert part.environment == {"BAKEOFF_WORK_STORE": "/disk", "AWS_ACCESS_KEY_ID": "key", "BAKEOFF_FAR": "1"}
    assert part.arguments == ("1", "/remote.git", ref_of(ID, 2, 2)) and part.attempt == f"{ID}-2.2"
    assert part.files[".bakeoff/journal/7f/journal.jsonl"] == b"told\n"
    assert part.files[".bakeoff/runs/ab12/run"] == b"7f"
    settings = part.files[".dvc/config.local"].decode()
    assert "secret_access_key = k" in settings and "cache" not in settings
    manifest = place / f".bakeoff/sweeps/{ID}/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(part.files[f".bakeoff/sweeps/{ID}/manifest.json"])
    assert load_manifest(manifest.parent).job(1) == job
    assert collect_reports(sweep_job(1)) == {}


def test_a_node_that_has_the_records_and_weights_asks_no_remote_for_them(place: Path) -> None:
    def keep(digest: str, content: str) -> Path:
        path = place / "cache/files/md5" / digest[:2] / digest[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    one = keep("ab12", "example")
    listing = keep("cd34.dir", '[{"relpath": "train-0", "md5": "ab12"}]')
    (place / "dvc.lock").write_text("stages: {build_records: {outs: [{path: data/records, md5: cd34.dir}]}}")
    assert has_needed_files(place / "cache")
    (place / "data/weights").mkdir(parents=True)
    (place / "data/weights/a.h5.dvc").write_text("outs: [{path: a.h5, md5: ef56}]")
    assert not has_needed_files(place / "cache")
    keep("ef56", "weights")
    assert has_needed_files(place / "cache")
    for path in (one, listing):
        content = path.read_text()
        path.unlink()
        assert not has_needed_files(place / "cache")
        path.write_text(content)
    (place / "dvc.lock").write_text("stages: {}")
    assert not has_needed_files(place / "cache")


def test_the_last_reports_of_a_job_add_to_earlier_ones(place: Path) -> None:
    node, home = place / "node", place / "home"
    for folder, text in ((node, "one\ntwo\n"), (home, "one\n")):
        (folder / "journal/7f/files").mkdir(parents=True)
        (folder / "journal/7f/journal.jsonl").write_text(text)
    (node / "journal/7f/files/ab").write_bytes(b"\x00\xff")
    (node / "results").mkdir()
    (node / "results/5d.json").write_text("{}")
    (node / "other").touch()
    git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--allow-empty", "--message=one")
    commit = commit_reports(node, "HEAD", "reports")
    unpack_reports(commit, home)
    (home / "journal/7f/journal.jsonl").write_text("one\ntwo\nthree\n")  # told here since
    unpack_reports(commit, home)
    assert (home / "journal/7f/journal.jsonl").read_text() == "one\ntwo\nthree\n"
    assert (home / "journal/7f/files/ab").read_bytes() == b"\x00\xff" and (home / "results/5d.json").read_text() == "{}"
    assert not (home / "other").exists()
