"""DVC's cache is where its settings say, and what DVC refuses is said in its own words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff import dvc
from bakeoff.errors import WorkspaceError
from workspace_copy import environment

DIGEST = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / ".dvc").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("shared", "own", "expected"),
    [
        ("", "", ".dvc/cache"),
        ("[cache]\n    dir = /store/cache\n", "", "/store/cache"),
        ("[cache]\n    dir = ../../cache\n", "", ".dvc/../../cache"),
        ("[cache]\n    dir = /store/cache\n", "[cache]\n    dir = '/mine'\n", "/mine"),
        ("[core]\n    remote = r\n['remote \"r\"']\n    url = s3://b/%20\n", "no settings", ".dvc/cache"),
    ],
)
def test_the_cache_is_where_the_settings_say(place: Path, shared: str, own: str, expected: str) -> None:
    (place / ".dvc/config").write_text(shared)
    (place / ".dvc/config.local").write_text(own)
    assert dvc.cache() == place / expected


def test_a_folder_in_the_cache_is_its_listing(place: Path) -> None:
    listing = place / f".dvc/cache/files/md5/01/{DIGEST[2:]}.dir"
    listing.parent.mkdir(parents=True)
    listing.write_text('[{"md5": "aa", "relpath": "state.json"}, {"md5": "bb", "relpath": "deep/one"}]')
    assert dvc.cached_folder(f"{DIGEST}.dir") == {"state.json": "aa", "deep/one": "bb"}
    listing.write_text('[{"md5": "aa", "rel')
    assert dvc.cached_folder(f"{DIGEST}.dir") is None
    assert dvc.cached_folder(DIGEST) is None and dvc.cached_file(DIGEST) is None


def test_what_dvc_refuses_is_said_in_its_words(place: Path) -> None:
    (place / ".dvc").rmdir()
    with pytest.raises(WorkspaceError, match=r"^dvc exp list: ERROR: you are not inside of a DVC repository"):
        dvc.answer("exp", "list")


def write_pipeline(place: Path) -> None:
    (place / "given").write_text("1")
    (place / "dvc.yaml").write_text("stages: {copy: {cmd: cp given made, deps: [given], outs: [made]}}")
    for command in (["git", "init", "--quiet"], [sys.executable, "-m", "dvc", "init", "--quiet", "--force"]):
        subprocess.run(command, check=True, env=environment())


def repro(module: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", module, "repro"], env=environment(), capture_output=True, text=True)


def test_what_a_kill_left_half_written_in_the_run_cache_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.dvc.SECONDS_TO_WRITE", 0.3)
    entry = tmp_path / "runs/70/70eb"
    entry.mkdir(parents=True)
    for name in ("whole", ".old.tmp", ".young.tmp"):
        (entry / name).write_text("deps:")
    (tmp_path / "runs/70/empty").mkdir()
    for old in (entry / ".old.tmp", tmp_path / "runs/70/empty"):
        os.utime(old, (1.0, 1.0))
    dvc.clear_half_written(tmp_path)
    assert [file.name for file in tmp_path.glob("runs/70/*/*")] == ["whole"] and not (entry.parent / "empty").exists()
    dvc.clear_half_written(tmp_path / "nowhere")


@pytest.mark.parametrize("left", [".half.tmp", None])
def test_plain_repro_goes_on_after_a_kill_in_the_run_cache(place: Path, left: str | None) -> None:
    """DVC by itself fails on what is left there."""
    write_pipeline(place)
    assert repro("dvc").returncode == 0
    [entry] = Path(".dvc/cache/runs").glob("*/*/*")
    text = entry.read_text()
    entry.unlink()
    if left:
        (entry.parent / left).write_text(text[: text.index("outs:")])
    for path in (entry.parent / (left or "."), entry.parent):
        os.utime(path, (1e9, 1e9))
    for path in ("dvc.lock", "made"):
        Path(path).unlink()
    assert repro("dvc").returncode != 0
    assert repro("bakeoff.dvc").returncode == 0 and Path("made").read_text() == "1"


LOCK = "schema: '2.0'\nstages:\n  copy:\n    cmd: cp given made\n    deps:\n    - path: given\n      md5: '12'\n"


@pytest.mark.parametrize("length", range(0, len(LOCK), 7))
@pytest.mark.parametrize("kept", [LOCK, LOCK[:-9], None], ids=["kept", "kept in part", "never kept"])
def test_a_lock_that_a_kill_left_half_written_is_as_before(
    place: Path, length: int, kept: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    dvc.LOCK.write_text(LOCK[:length])
    os.utime(dvc.LOCK, (1e9, 1e9))
    if kept:
        dvc.KEPT_LOCK.parent.mkdir()
        dvc.KEPT_LOCK.write_text(kept)
        os.utime(dvc.KEPT_LOCK, (1e9, 1e9))
    dvc.mend_lock()
    left = dvc.LOCK.read_text() if dvc.LOCK.is_file() else None
    whole = LOCK[:length].endswith("\n") and not LOCK[:length].endswith(":\n")
    assert left == (LOCK[:length] if whole else LOCK if kept == LOCK else None)
    assert (
        "dvc.lock was left half written; it is again as before the last command" in capsys.readouterr().err
    ) != whole


def test_a_whole_lock_is_kept_and_one_that_is_being_written_is_waited_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dvc.mend_lock()
    assert not dvc.LOCK.exists() and not dvc.KEPT_LOCK.exists()
    dvc.LOCK.write_text("")
    monkeypatch.setattr("time.sleep", lambda _: dvc.LOCK.write_text(LOCK))
    dvc.mend_lock()
    assert dvc.LOCK.read_text() == dvc.KEPT_LOCK.read_text() == LOCK
    conflict = f"{LOCK}<<<<<<< ours\n"
    dvc.LOCK.write_text(conflict)
    os.utime(dvc.LOCK, (1e9, 1e9))
    dvc.mend_lock()
    assert dvc.LOCK.read_text() == conflict


@pytest.mark.parametrize("half", ["", "schema: '2.0'\nstages:\n  copy:\n"])
def test_plain_repro_goes_on_after_a_kill_in_the_lock(place: Path, half: str) -> None:
    """DVC by itself fails on it."""
    write_pipeline(place)
    assert repro("bakeoff.dvc").returncode == 0
    lock = dvc.LOCK.read_text()
    dvc.LOCK.write_text(half)
    os.utime(dvc.LOCK, (1e9, 1e9))
    failed = repro("dvc")
    assert failed.returncode != 0 and "dvc.lock' validation failed" in failed.stderr
    assert repro("bakeoff.dvc").returncode == 0 and dvc.LOCK.read_text() == lock


def test_a_mistake_in_params_that_dvc_meets_first_is_told_with_its_file(place: Path) -> None:
    write_pipeline(place)
    text = "lr: {use: cosine}\ntrack: {use: mlflow, uri: http://localhost:5000}\n"
    (place / "params.yaml").write_text(text)
    (place / "dvc.yaml").write_text("stages: {copy: {cmd: cp given made, deps: [given], outs: [made], params: [lr]}}")
    done = repro("bakeoff.dvc")
    assert done.returncode == 255
    assert (
        done.stderr == "params.yaml:2: not valid YAML: found unexpected ':'; put a text that holds a colon in quotes\n"
    )
    (place / "params.yaml").write_text(text.replace("http://localhost:5000", "'http://localhost:5000'"))
    assert repro("bakeoff.dvc").returncode == 0
