"""After a kill or a loss of power at any moment of DVC's writing, the next command works."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from dvc import cli as dvc_by_itself

from bakeoff.app import cli
from bakeoff.foundation import dvc, dvc_repair
from support.messages import missing_in
from support.workspace_copy import environment, run_dvc


@pytest.fixture(autouse=True)
def place(place: Path) -> Path:
    (place / ".dvc").mkdir()
    return place


def write_pipeline(place: Path) -> None:
    (place / "given").write_text("1")
    (place / "dvc.yaml").write_text("stages: {copy: {cmd: cp given made, deps: [given], outs: [made]}}")
    subprocess.run(["git", "init", "--quiet"], check=True, env=environment())
    assert run_plain_dvc("init", "--quiet", "--force").returncode == 0


def write_old(path: Path, content: str | bytes) -> None:
    """Write a file that no process writes any more."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (1e9, 1e9))


def run_plain_dvc(*arguments: str) -> subprocess.CompletedProcess[str]:
    """DVC by itself, run in this process."""
    return subprocess.CompletedProcess(arguments, *run_dvc(*arguments, folder=Path.cwd(), program=dvc_by_itself.main))


def run_dvc_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command `dvc` of this project, run in this process."""
    return subprocess.CompletedProcess(arguments, *run_dvc(*arguments, folder=Path.cwd()))


def test_what_a_kill_left_half_written_in_the_run_cache_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.foundation.dvc_repair.SECONDS_TO_WRITE", 0.3)
    entry = tmp_path / "runs/70/70eb"
    entry.mkdir(parents=True)
    for name in ("whole", ".old.tmp", ".young.tmp"):
        (entry / name).write_text("deps:")
    (tmp_path / "runs/70/empty").mkdir()
    for old in (entry / ".old.tmp", tmp_path / "runs/70/empty"):
        os.utime(old, (1.0, 1.0))
    dvc_repair.clear_half_written(tmp_path)
    assert [file.name for file in tmp_path.glob("runs/70/*/*")] == ["whole"] and not (entry.parent / "empty").exists()
    dvc_repair.clear_half_written(tmp_path / "nowhere")


@pytest.mark.parametrize("left", [".half.tmp", None])
def test_plain_repro_works_after_a_kill_in_the_run_cache(place: Path, left: str | None) -> None:
    """DVC by itself fails on what is left there."""
    write_pipeline(place)
    assert run_plain_dvc("repro").returncode == 0
    [entry] = Path(".dvc/cache/runs").glob("*/*/*")
    text = entry.read_text()
    entry.unlink()
    if left:
        (entry.parent / left).write_text(text[: text.index("outs:")])
    for path in (entry.parent / (left or "."), entry.parent):
        os.utime(path, (1e9, 1e9))
    for path in ("dvc.lock", "made"):
        Path(path).unlink()
    assert run_plain_dvc("repro").returncode != 0
    assert run_dvc_command("repro").returncode == 0 and Path("made").read_text() == "1"


LOCK = "schema: '2.0'\nstages:\n  copy:\n    cmd: cp given made\n    deps:\n    - path: given\n      md5: '12'\n"


@pytest.mark.parametrize("length", range(0, len(LOCK), 7))
@pytest.mark.parametrize("kept", [LOCK, LOCK[:-9], None], ids=["kept", "kept in part", "never kept"])
def test_a_lock_that_a_kill_left_half_written_is_as_before(
    place: Path, length: int, kept: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    write_old(dvc_repair.LOCK, LOCK[:length])
    if kept:
        dvc_repair.KEPT_LOCK.parent.mkdir()
        write_old(dvc_repair.KEPT_LOCK, kept)
    dvc_repair.repair_lock()
    left = dvc_repair.LOCK.read_text() if dvc_repair.LOCK.is_file() else None
    whole = LOCK[:length].endswith("\n") and not LOCK[:length].endswith(":\n")
    assert left == (LOCK[:length] if whole else LOCK if kept == LOCK else None)
    lacking = missing_in(capsys.readouterr().err, "dvc.lock", "half written", "last command")
    assert lacking == (["dvc.lock", "half written", "last command"] if whole else [])


def test_a_whole_lock_is_kept_and_one_that_is_being_written_is_waited_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dvc_repair.repair_lock()
    assert not dvc_repair.LOCK.exists() and not dvc_repair.KEPT_LOCK.exists()
    dvc_repair.LOCK.write_text("")
    monkeypatch.setattr("time.sleep", lambda _: dvc_repair.LOCK.write_text(LOCK))
    dvc_repair.repair_lock()
    assert dvc_repair.LOCK.read_text() == dvc_repair.KEPT_LOCK.read_text() == LOCK
    conflict = f"{LOCK}<<<<<<< ours\n"
    write_old(dvc_repair.LOCK, conflict)
    dvc_repair.repair_lock()
    assert dvc_repair.LOCK.read_text() == conflict


def test_a_lock_that_was_never_kept_is_as_in_git(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pipeline(place)
    dvc_repair.LOCK.write_bytes(windows := LOCK.replace("\n", "\r\n").encode())
    for command in (["git", "add", "dvc.lock"], ["git", "commit", "--quiet", "--message", "lock"]):
        subprocess.run(command, check=True, env=environment())
    write_old(dvc_repair.LOCK, b"\0" * 40)
    dvc_repair.repair_lock()
    assert dvc_repair.LOCK.read_bytes() == dvc_repair.KEPT_LOCK.read_bytes() == windows
    assert missing_in(capsys.readouterr().err, "repaired: dvc.lock", "half written", "last commit") == []


@pytest.mark.parametrize("half", ["", "schema: '2.0'\nstages:\n  copy:\n"])
def test_plain_repro_works_after_a_kill_in_the_lock(place: Path, half: str) -> None:
    """DVC by itself fails on it."""
    write_pipeline(place)
    assert run_dvc_command("repro").returncode == 0
    lock = dvc_repair.LOCK.read_text()
    write_old(dvc_repair.LOCK, half)
    failed = run_plain_dvc("repro")
    assert failed.returncode != 0 and "dvc.lock' validation failed" in failed.stderr
    assert run_dvc_command("repro").returncode == 0 and dvc_repair.LOCK.read_text() == lock


@pytest.mark.parametrize("half", [b"", b'{"write": {"/a": {"pid": 1', b"\0\0\0"])
def test_plain_repro_works_after_a_kill_in_the_list_of_holders(place: Path, half: bytes) -> None:
    """DVC by itself fails on it for ever."""
    write_pipeline(place)
    dvc_repair.HOLDERS.parent.mkdir(exist_ok=True)
    write_old(dvc_repair.HOLDERS, half)
    failed = run_plain_dvc("repro")
    assert failed.returncode == 255 and "JSON structure is corrupted" in failed.stderr
    done = run_dvc_command("repro")
    assert done.returncode == 0 and missing_in(done.stderr, "repaired: .dvc/tmp/rwlock", "half written", "gone") == []


def test_a_list_of_holders_that_is_being_written_is_waited_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dvc_repair.repair_holders()
    dvc_repair.HOLDERS.parent.mkdir()
    dvc_repair.HOLDERS.write_text("")
    monkeypatch.setattr("time.sleep", lambda _: dvc_repair.HOLDERS.write_text('{"read": {}}'))
    dvc_repair.repair_holders()
    assert dvc_repair.HOLDERS.read_text() == '{"read": {}}'


def test_nothing_waits_for_a_clock_that_was_ahead(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their stamps, all of it would be young for an hour, and older than what the disk has."""
    monkeypatch.setattr("bakeoff.foundation.dvc_repair.SECONDS_TO_WRITE", 0.3)
    write_pipeline(place)
    assert run_dvc_command("repro").returncode == 0
    [entry] = Path(".dvc/cache/runs").glob("*/*/*")
    lock, half = dvc_repair.LOCK.read_text(), entry.with_name(".half.tmp")
    half.write_text(entry.read_text()[:40])
    dvc_repair.HOLDERS.write_text("")
    dvc_repair.LOCK.write_text("")
    for path in (entry, Path("made")):
        path.unlink()
    hour_ahead = time.time() + 3600
    for path in (half, half.parent, dvc_repair.HOLDERS, dvc_repair.LOCK, dvc.cache() / dvc_repair.MARK):
        os.utime(path, (hour_ahead, hour_ahead))
    assert run_dvc_command("repro").returncode == 0
    assert (Path("made").read_text(), dvc_repair.LOCK.read_text(), half.exists()) == ("1", lock, False)
    assert (dvc.cache() / dvc_repair.MARK).stat().st_mtime < time.time()


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with a name")
def test_a_pipe_among_data_ends_the_command_at_once(place: Path) -> None:
    """DVC by itself waits for it for ever."""
    write_pipeline(place)
    (place / "data/raw/set").mkdir(parents=True)
    os.mkfifo(place / "data/raw/set/a.jpg")
    (place / "data/raw/set/b.jpg").symlink_to("b.jpg")
    done = subprocess.run(
        [sys.executable, "-m", "bakeoff.foundation.dvc", "repro"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == dvc.DVC_FAILED
    assert missing_in(done.stderr, "data/raw/set/a.jpg", "no regular file", "remove it") == []


def objects() -> list[Path]:
    return sorted(Path(".dvc/cache/files/md5").glob("??/*"))


def damage(path: Path, how: str) -> None:
    """Leave what a loss of power may leave of a file that DVC has written, which is read-only."""
    content = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes({"empty": b"", "half": content[: len(content) // 2], "zeros": bytes(len(content))}[how])
    path.chmod(0o444)


def test_what_a_loss_of_power_left_of_dvc_s_objects_is_never_taken_for_whole(place: Path) -> None:
    """DVC by itself takes it, and leaves it in the place of what a stage made."""
    write_pipeline(place)
    assert run_dvc_command("repro").returncode == 0
    Path("given").write_text("another, which is on no disk yet")
    assert run_plain_dvc("repro").returncode == 0
    [new] = [path for path in objects() if path.read_bytes() == Path("given").read_bytes()]
    for how in ("half", "zeros", "empty"):
        damage(new, how)
        whole, left = Path("given").read_bytes(), new.read_bytes()
        dvc_repair.repair(dvc.cache())
        assert left != whole and not new.exists()
        new.write_bytes(whole)
    damage(new, "empty")
    Path("made").unlink()
    assert run_plain_dvc("checkout", "--quiet").returncode == 0
    assert Path("made").read_bytes() == b""
    Path("made").unlink()
    done = run_dvc_command("checkout")
    assert done.returncode != 0 and not Path("made").exists()
    assert missing_in(done.stderr, "repaired: 1 files", "cache", "gone", "`dvc repro`") == []
    done = run_dvc_command("repro")
    assert done.returncode == 0 and Path("made").read_text() == "another, which is on no disk yet"
    assert "repaired" not in done.stderr


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_half_copied_file_of_the_cache_is_cleared_once_no_process_can_be_writing_it(
    place: Path, hours: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """DVC by itself leaves it until a `dvc gc`."""
    write_pipeline(place)
    left = [dvc.cache() / dvc_repair.OBJECTS / name for name in ("ab/.half.tmp", ".half.tmp", "ab/0123.half.tmp")]
    left[0].parent.mkdir(parents=True)
    for path in (*left, young := left[0].with_name(".young.tmp"), whole := left[0].with_name("whole")):
        path.write_text("1")
    for path in (*left, whole):
        os.utime(path, (stamp := time.time() + 3600 * hours, stamp))
    assert run_plain_dvc("repro").returncode == 0
    assert all(path.exists() for path in left)
    done = run_dvc_command("repro")
    assert [*map(Path.exists, (*left, young, whole))] == [False, False, False, True, True]
    assert missing_in(done.stderr, "repaired: 3 half-copied files", "cache") == []
    assert "half-copied" not in run_dvc_command("repro").stderr


def test_objects_that_are_on_the_disk_are_not_read_again(place: Path) -> None:
    write_pipeline(place)
    assert run_plain_dvc("repro").returncode == 0
    mark = dvc.cache() / dvc_repair.MARK
    assert not mark.exists() and len([*dvc_repair._newer_objects(dvc.cache(), 0)]) == len(objects()) == 1
    assert run_dvc_command("repro").returncode == 0
    since = mark.stat().st_mtime_ns
    assert [*dvc_repair._newer_objects(dvc.cache(), since)] == dvc_repair._newer_keys(dvc.cache(), since) == []
    Path("given").write_text("2")
    assert run_plain_dvc("repro").returncode == 0
    assert [path.read_text() for path in dvc_repair._newer_objects(dvc.cache(), since)] == ["2"]
    assert len(dvc_repair._newer_keys(dvc.cache(), since)) == 1
    dvc_repair.settle(dvc.cache())
    assert [*dvc_repair._newer_objects(dvc.cache(), mark.stat().st_mtime_ns)] == [] and len(objects()) == 2
    dvc_repair.settle(dvc.cache())
    assert not [*mark.parent.glob("*.partial")]


def test_empty_files_of_a_cache_that_was_never_checked_are_removed_at_once(place: Path) -> None:
    write_pipeline(place)
    Path("empty").touch()
    assert run_plain_dvc("add", "--quiet", "empty").returncode == 0
    assert run_plain_dvc("repro").returncode == 0 and len(objects()) == 2
    [made] = [path for path in objects() if path.stat().st_size]
    damage(made, "empty")
    assert dvc.cached_file(made.parent.name + made.name) is None and dvc.cached_file(dvc.OF_NOTHING) is not None
    dvc_repair.repair(dvc.cache())
    assert [path.parent.name + path.name for path in objects()] == [dvc.OF_NOTHING]


def test_while_an_entry_is_half_written_nothing_is_taken_for_settled(place: Path) -> None:
    cache = place / ".dvc/cache"
    dvc_repair.repair(cache)
    before = (cache / dvc_repair.MARK).stat().st_mtime_ns
    (cache / dvc_repair.OBJECTS / "ab").mkdir(parents=True)
    (cache / "runs/70/70eb").mkdir(parents=True)
    dvc_repair.settle(cache)
    assert (cache / dvc_repair.MARK).stat().st_mtime_ns == before and len([*(cache / "files").iterdir()]) == 2
    (cache / "runs/70/70eb").rmdir()
    dvc_repair.settle(cache)
    assert (cache / dvc_repair.MARK).stat().st_mtime_ns > before


def test_an_entry_of_the_run_cache_that_lost_its_end_is_gone_and_whole_ones_stay(place: Path) -> None:
    """DVC by itself takes it for a stage that made less, and restores that."""
    (place / "two.py").write_text("for name in ('one', 'two'):\n    open(name, 'w').write(name)\n")
    params = {"small": 1e-7, "when": "2026-01-01", "list": [1, 2.5, None, True], "text": "ä: #"}
    (place / "params.yaml").write_text(yaml.safe_dump(params))
    stage = {"cmd": "python two.py", "deps": ["two.py"], "params": [*params], "outs": ["one", "two"]}
    write_pipeline(place)
    (place / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"make": stage}}))
    assert run_plain_dvc("repro").returncode == 0
    [entry] = Path(".dvc/cache/runs").glob("*/*/*")
    text = entry.read_text()
    assert dvc_repair._is_whole_entry(entry)
    dvc_repair.settle(dvc.cache())
    entry.unlink()
    for left in ("", text[: text.index("- path: two\n", text.index("outs:"))], "\0" * 400):
        entry.parent.mkdir(exist_ok=True)
        entry.write_text(left)
        dvc_repair.repair_cache(dvc.cache())
        assert not entry.parent.exists()
    assert dvc_repair._is_whole_entry(entry)  # others who mend now


def test_a_command_in_a_folder_of_the_workspace_repairs_as_well(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pipeline(place)
    assert run_dvc_command("repro").returncode == 0
    write_old(dvc_repair.LOCK, "")
    (place / "deep").mkdir()
    monkeypatch.chdir(place / "deep")
    done = run_dvc_command("status")
    assert done.returncode == 0 and "dvc.lock was left half written" in done.stderr


def test_bakeoff_repro_is_dvc_s_own_with_its_options_and_exit_codes(place: Path) -> None:
    write_pipeline(place)
    (place / "conf").mkdir()

    def bakeoff_repro(*options: str) -> str:
        code, out, _ = run_dvc("repro", *options, folder=place, program=cli.main)
        assert code == 0
        return out

    command = [sys.executable, "-m", "bakeoff", "repro"]
    write_old(dvc_repair.LOCK, "")
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0 and "dvc.lock was left half written" in done.stderr and Path("made").read_text() == "1"
    assert "Running stage 'copy'" not in bakeoff_repro()
    assert "Running stage 'copy'" in bakeoff_repro("--force", "--no-run-cache", "copy")
    assert "usage: dvc repro" in bakeoff_repro("--help")
    (place / "dvc.yaml").write_text("stages: {copy: {cmd: exit 75, deps: [given], outs: [made]}}")
    failed = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert failed.returncode == 255 and "exited with 75" in failed.stderr


def test_with_nothing_to_repair_no_entry_is_checked_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pipeline(place)
    assert run_dvc_command("repro").returncode == 0
    for number in range(256):
        (dvc.cache() / dvc_repair.OBJECTS / f"{number:02x}").mkdir(exist_ok=True)
        (dvc.cache() / "runs" / f"{number:02x}" / "key").mkdir(parents=True, exist_ok=True)
        (dvc.cache() / "runs" / f"{number:02x}" / "key" / "entry").touch()
    time.sleep(0.05)  # a system's clock for files is coarse
    dvc_repair.settle(dvc.cache())
    checked, real = [], dvc_repair._is_whole_entry

    def note(entry: Path) -> bool:
        checked.append(entry)
        return real(entry)

    monkeypatch.setattr(dvc_repair, "_is_whole_entry", note)
    dvc_repair.repair(dvc.cache())
    dvc_repair.settle(dvc.cache())
    assert checked == []
    later = dvc.cache() / "runs/00/key/later"
    later.touch()
    dvc_repair.repair(dvc.cache())
    assert checked


def test_a_mistake_in_params_that_dvc_meets_first_is_reported_with_its_file(place: Path) -> None:
    write_pipeline(place)
    text = "lr: {use: cosine}\ntrack: {use: mlflow, uri: http://localhost:5000}\n"
    (place / "params.yaml").write_text(text)
    (place / "dvc.yaml").write_text("stages: {copy: {cmd: cp given made, deps: [given], outs: [made], params: [lr]}}")
    done = run_dvc_command("repro")
    assert done.returncode == 255
    [line] = done.stderr.splitlines()
    assert missing_in(line, "params.yaml:2", "not valid YAML", "':'", "quotes") == []
    (place / "params.yaml").write_text(text.replace("http://localhost:5000", "'http://localhost:5000'"))
    assert run_dvc_command("repro").returncode == 0
