"""Work in flight: which checkpoint a run goes on from, what is thrown away, what MLflow is sent."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread, Timer
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.continue_from import Parent
from bakeoff.learning.checkpoints.run_folder import (
    MOST_SET_ASIDE,
    CheckpointList,
    RunFolder,
    SavedState,
    find_newest_whole,
)
from bakeoff.learning.checkpoints.run_state import Best, PhaseState, Position, RunState
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.pretrained.weight_source import WeightSource
from bakeoff.learning.training.start import RunStart
from support.messages import missing_in

LEGS = ["head", "whole"]


@pytest.fixture
def work(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder(tmp_path / "run", LEGS) as work:
        yield work


def save(work: RunFolder, leg: int, step: int, *bests: int, now: bool = True) -> None:
    """A checkpoint that names the steps of the best weights of each leg."""
    state = RunState(phases=tuple(PhaseState(Best(best, 0.5)) for best in bests))
    work.save(Position(leg, step), state, lambda: {"w": np.array([leg, step])}, now=now)


def files(work: RunFolder) -> list[str]:
    names = [path.relative_to(work.folder).as_posix() for path in work.folder.rglob("*") if path.is_file()]
    return sorted(name for name in names if name != "lock")


def test_new_work_starts_from_nothing(work: RunFolder) -> None:
    assert work.newest() == SavedState() and work.newest().position == Position(0, 0) and work.newest().arrays is None


def test_a_run_goes_on_from_the_latest_leg_and_step(work: RunFolder) -> None:
    save(work, 0, 900)
    save(work, 1, 1000)
    state = work.newest()
    assert state.position == Position(1, 1000) and state.arrays is not None
    assert state.arrays["w"].tolist() == [1, 1000]


@pytest.mark.parametrize(("here", "there", "stated", "found"), [
    ((2, 3), 5, "auto", 3), ((2, 3), None, "auto", 3), ((), 5, "auto", 5), ((), None, "auto", None),
    ((2, 3), 5, 4, None),
])  # fmt: skip
def test_a_run_goes_on_with_the_threads_that_it_began_with(
    here: tuple[int, ...], there: int | None, stated: int | Literal["auto"], found: int | None,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of the newest checkpoint that can be read; else of the run that it continues; unless the variant says it."""
    monkeypatch.chdir(tmp_path)

    def trained(folder: Path, *threads: int) -> None:
        with RunFolder(folder, LEGS) as work:
            for step, number in enumerate(threads, start=1):
                work.save(Position(0, step), RunState(threads=number), lambda: {"w": np.zeros(1)}, now=True)

    start = RunStart({}, "1d", WeightSource(None, "none"), None if there is None else Parent(tmp_path / "other", "2e"))
    trained(tmp_path / "other", *([there] if there else []))
    trained(start.folder, *here)
    run = SimpleNamespace(train=Train(batch_size=1, steps=9, threads=stated))
    assert start.find_threads(run) == found  # type: ignore[arg-type]
    for path in start.folder.glob("*/00000002"):
        path.write_bytes(path.read_bytes()[:40])
    assert start.find_threads(run) == (2 if found == 3 else found)  # type: ignore[arg-type]


def test_a_run_says_where_it_goes_on() -> None:
    folder = Path("runs/1f")
    assert SavedState().describe(900, folder) == []
    [line] = SavedState(Position(0, 1200)).describe(2000, folder)
    assert missing_in(line, "resumes", "1,200", "2,000", "runs/1f") == []
    [line] = SavedState(Position(0, 2000)).describe(2000, folder)
    assert missing_in(line, "to its end", "runs/1f", "train.fresh: true") == []


def test_two_checkpoints_stay(work: RunFolder) -> None:
    for step in (100, 200, 300):
        save(work, 0, step)
    save(work, 1, 400)
    assert files(work) == ["1-head/00000300", "2-whole/00000400"]


def test_best_weights_stay_as_long_as_a_checkpoint_names_them(work: RunFolder) -> None:
    for step in (50, 150, 250):
        work.keep_best(Position(0, step), {"00000": "w"}, {"00000": np.array(step)})
        save(work, 0, step + 50, step)
    assert files(work) == [
        *("1-head/00000200", "1-head/00000300", "1-head/best-00000150", "1-head/best-00000250"),
        *("1-head/copy-of-best-00000150", "1-head/copy-of-best-00000250"),
    ]
    save(work, 1, 400, 250, 0)
    save(work, 1, 500, 250, 0)
    assert files(work) == [
        *("1-head/00000300", "1-head/best-00000250", "1-head/copy-of-best-00000250"),
        *("2-whole/00000400", "2-whole/00000500"),
    ]
    assert work.best(Position(0, 250))["00000"] == 250


def test_every_so_many_steps_a_checkpoint_stays_with_its_best_weights(tmp_path: Path) -> None:
    def train(*steps: int) -> list[str]:
        with RunFolder(tmp_path / "run", LEGS, keep_every=300) as work:
            work.newest()
            for step in steps:
                work.keep_best(Position(0, step - 1), {"00000": "w"}, {"00000": np.array(step)})
                save(work, 0, step, step - 1)
            return files(work)

    assert train(100, 200, 300, 400, 500) == [
        *(f"1-head/00000{step}" for step in (300, 400, 500)), *(f"1-head/best-00000{step}" for step in (299, 399, 499)),
        *(f"1-head/copy-of-best-00000{step}" for step in (299, 399, 499)),
    ]  # fmt: skip
    kept = [name for name in train(600, 700, 800) if "best" not in name]
    assert kept == [f"1-head/00000{step}" for step in (300, 600, 700, 800)]
    assert sorted(file.name for file in tmp_path.glob("run/*/best-*")) == [
        f"best-00000{step}" for step in (299, 599, 699, 799)
    ]


def test_a_checkpoint_that_is_to_stay_is_never_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, real = Event(), checkpoint.write
    monkeypatch.setattr(checkpoint, "write", lambda *given: (disk.wait(10), real(*given)))
    with RunFolder(tmp_path / "run", LEGS, keep_every=300) as work:
        for step in (200, 250, 300):
            save(work, 0, step, now=False)
        disk.set()
    assert files(work) == ["1-head/00000200", "1-head/00000300"]


def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(
    work: RunFolder, capsys: pytest.CaptureFixture
) -> None:
    save(work, 0, 100)
    save(work, 0, 200)
    newest = work.folder / "1-head/00000200"
    newest.write_bytes(newest.read_bytes()[:-1])
    assert work.newest().position == Position(0, 100)
    assert missing_in(capsys.readouterr().err, "warning: ", "00000200: damaged", "early", "resumes") == []
    assert not newest.exists() and newest.with_name("damaged-00000200").is_file()
    save(work, 0, 200)
    assert work.newest().position == Position(0, 200) and "00000200" not in capsys.readouterr().err


def test_a_checkpoint_whose_best_weights_are_gone_is_no_better_than_a_damaged_one(work: RunFolder) -> None:
    work.keep_best(Position(0, 100), {"00000": "w"}, {"00000": np.array(1)})
    save(work, 0, 100, 100)
    work.keep_best(Position(0, 200), {"00000": "w"}, {"00000": np.array(2)})
    save(work, 0, 200, 200)
    for name in ("best-00000200", "copy-of-best-00000200"):
        (work.folder / "1-head" / name).unlink()
    assert work.newest().position == Position(0, 100)
    assert (work.folder / "1-head/00000200").is_file()


def test_if_both_are_damaged_the_run_starts_over(work: RunFolder, capsys: pytest.CaptureFixture) -> None:
    for step in (100, 200):
        save(work, 0, step)
        (work.folder / f"1-head/{step:08d}").write_bytes(b"nothing")
    assert work.newest() == SavedState() and not work.can_resume()
    assert missing_in(capsys.readouterr().err, "damaged-00000100", "starts over", "bakeoff continue run --fetch") == []


def save_with_bests(work: RunFolder) -> None:
    """Save two checkpoints of each leg; both of the second name the best weights of both legs."""
    for leg, step, bests in ((0, 100, (90,)), (0, 200, (90,)), (1, 300, (90, 290)), (1, 400, (90, 290))):
        if step - 10 in bests:
            arrays = {"00000": np.arange(20.0) * step}
            work.keep_best(Position(leg, step - 10), {"00000": "dense/kernel"}, arrays)
        save(work, leg, step, *bests)


@pytest.mark.parametrize("damaged", ["best-00000090", "copy-of-best-00000090"])
def test_either_file_of_best_weights_is_made_again_of_the_other(
    damaged: str, work: RunFolder, capsys: pytest.CaptureFixture
) -> None:
    """Also the copy, which nothing reads as long as the first is whole: it must be whole when that is not."""
    save_with_bests(work)
    file = work.folder / "1-head" / damaged
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert work.newest().position == Position(1, 400)
    assert missing_in(capsys.readouterr().err, "warning: ", f"{damaged}: damaged", f"damaged-{damaged}") == []
    assert file.read_bytes() == whole and file.with_name(f"damaged-{damaged}").read_bytes() == whole[:-1]


def test_what_goes_on_after_a_lost_best_deletes_no_later_checkpoint(work: RunFolder) -> None:
    """It is whole, and training comes to its step again, with the same best weights."""
    save_with_bests(work)
    for name in ("best-00000290", "copy-of-best-00000290"):
        (work.folder / "2-whole" / name).write_bytes(b"nothing")
    assert work.newest().position == Position(0, 200)
    save(work, 0, 250, 90)
    assert {"1-head/00000200", "1-head/00000250", "2-whole/00000300", "2-whole/00000400"} <= {*files(work)}
    work.keep_best(Position(1, 290), {"00000": "dense/kernel"}, {"00000": np.arange(20.0) * 300})
    save(work, 1, 295, 90, 290)
    assert work.newest().position == Position(1, 400)


def test_damaged_files_do_not_fill_the_disk(tmp_path: Path) -> None:
    for step in range(100, 1100, 100):
        with RunFolder(tmp_path / "run", LEGS) as work:
            save(work, 0, step)
            (work.folder / f"1-head/{step:08d}").write_bytes(b"nothing")
            assert work.newest() == SavedState()
            aside = [path.name for path in work.folder.glob("*/damaged-*")]
            assert f"damaged-{step:08d}" in aside and len(aside) <= MOST_SET_ASIDE + 1


DAMAGES: dict[str, Callable[[Path, Random], object]] = {
    "one bit": lambda path, dice: flip(path, dice),
    "cut off": lambda path, dice: os.truncate(path, dice.randrange(path.stat().st_size)),
    "empty": lambda path, dice: os.truncate(path, 0),
    "zeros at the end": lambda path, dice: path.write_bytes(path.read_bytes()[:-64] + bytes(64)),
    "longer": lambda path, dice: path.write_bytes(path.read_bytes() + b"x"),
    "of another": lambda path, dice: path.write_bytes(b"bakeoff checkpoint 1\n"),
    "gone": lambda path, dice: path.unlink(),
}


def flip(path: Path, dice: Random) -> None:
    content = bytearray(path.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)


def test_of_400_damages_none_takes_what_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    dice, first = Random(45), tmp_path / "first"
    with RunFolder(first, LEGS) as work:
        save_with_bests(work)
    names = sorted(path.relative_to(first) for path in first.glob("*/*"))
    for number in range(400):
        folder = tmp_path / "run"
        shutil.copytree(first, folder)
        damaged = dice.sample(names, dice.choice((1, 1, 1, 2)))
        for name in damaged:
            dice.choice(list(DAMAGES.values()))(folder / name, dice)
        whole = {(folder / name).read_bytes() for name in names if name not in damaged}
        gone = not any((folder / name).exists() for name in damaged)
        with RunFolder(folder, LEGS) as work:
            position = work.newest().position
            there = find_newest_whole(folder)
            assert position == (there[0] if there else Position(0, 0)), (number, damaged)
            assert whole <= {path.read_bytes() for path in folder.glob("*/*")}, (number, damaged)
            warned = "warning: " in capsys.readouterr().err
            if len(damaged) == 1:
                lost, best = damaged[0].name == "00000400", "best-" in damaged[0].name
                assert position == Position(1, 300 if lost else 400), (number, damaged)
                assert warned == (best or (lost and not gone)), (number, damaged)
        shutil.rmtree(folder)


def test_what_a_kill_left_half_written_is_no_checkpoint(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", LEGS) as work:
        save(work, 0, 100)
        (work.folder / "1-head/00000200.partial").write_bytes(b"half")
    with RunFolder(tmp_path / "run", LEGS) as work:
        assert work.newest().position == Position(0, 100) and files(work) == ["1-head/00000100"]


def test_fresh_work_forgets_what_was(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", LEGS) as work:
        save(work, 0, 100)
        before = work.run_id
    with RunFolder(tmp_path / "run", LEGS, fresh=True) as work:
        assert work.newest() == SavedState() and files(work) == [] and work.run_id != before


def test_a_folder_that_waits_is_entered_once_the_other_process_leaves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entered = Event()

    def enter() -> None:
        with RunFolder(tmp_path / "run", LEGS, waits=True):
            entered.set()

    waiting = Thread(target=enter)
    with RunFolder(tmp_path / "run", LEGS):
        waiting.start()
        assert not entered.wait(0.3)
    waiting.join()
    assert entered.is_set() and "another process trains this variant" in capsys.readouterr().out


def test_one_process_at_a_time(work: RunFolder) -> None:
    message = r"/run: another process\b"
    with pytest.raises(WorkspaceError, match=message), RunFolder(work.folder, LEGS):
        pass


def test_training_does_not_wait_for_a_slow_disk(work: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, real = Event(), checkpoint.write
    monkeypatch.setattr(checkpoint, "write", lambda *given: (disk.wait(10), real(*given)))
    save(work, 0, 100, now=False)
    copied: list[int] = []
    for step in (200, 300):  # left out, and not even copied, while the first is being written
        work.save(Position(0, step), {"phases": []}, lambda step=step: copied.append(step) or {}, now=False)
    assert copied == []
    disk.set()
    save(work, 0, 400, now=True)
    assert files(work) == ["1-head/00000100", "1-head/00000400"]


def test_a_copy_that_must_be_there_now_is_made_when_the_last_one_is_written(
    work: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two copies of a large network at once took more memory than was estimated."""
    disk, real = Event(), checkpoint.write
    monkeypatch.setattr(checkpoint, "write", lambda *given: (disk.wait(10), real(*given)))
    save(work, 0, 100, now=False)
    Timer(0.2, disk.set).start()
    there: list[list[str]] = []
    work.save(Position(0, 200), RunState(phases=(PhaseState(),)), lambda: there.append(files(work)) or {}, now=True)
    assert there == [["1-head/00000100"]]


def test_a_disk_that_fails_beside_training_fails_the_run(work: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    save(work, 0, 100)
    with monkeypatch.context() as broken:
        broken.setattr(checkpoint, "write", full)
        save(work, 0, 200, now=False)
        with pytest.raises(OSError, match="No space left on device"):
            work.wait()
    assert work.newest().position == Position(0, 100)


def test_a_run_keeps_its_id(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", LEGS) as work:
        before = work.run_id
    with RunFolder(tmp_path / "run", LEGS) as work:
        assert work.run_id == before


@pytest.mark.parametrize("left", [b"", bytes(32), b"\xff\xfe", b"../../elsewhere"])
def test_an_id_that_a_loss_of_power_took_is_replaced_once(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run").write_bytes(left)
    ids = set()
    for _ in range(2):
        with RunFolder(tmp_path / "run", LEGS) as work:
            ids.add(work.run_id)
    [own] = ids
    assert re.fullmatch("[0-9a-f]{32}", own) and (tmp_path / "run/run").read_text() == own


def test_what_trackers_were_told_lasts_before_a_checkpoint_counts_it_as_told(work: RunFolder) -> None:
    there: list[list[str]] = []
    with work.followed(lambda: there.append(files(work)), lambda stock: None):
        save(work, 0, 100)
        save(work, 0, 200)
    assert there == [[], ["1-head/00000100"]]


def test_who_follows_hears_of_each_checkpoint_and_first_of_the_one_that_is_there(tmp_path: Path) -> None:
    """With those that stay beyond the newest, and the best weights that each goes with."""
    heard: list[CheckpointList] = []
    for steps in ((100, 200, 300), (400,)):
        with RunFolder(tmp_path / "run", LEGS, keep_every=100) as work, work.followed(lambda: None, heard.append):
            for step in steps:
                save(work, 0, step)
    folder = tmp_path / "run/1-head"
    assert [stock.step for stock in heard] == [100, 200, 300, 300, 400]
    last = heard[-1]
    assert list(last.newest) == [folder / "00000400", folder / "00000300"]
    assert list(last.kept) == [folder / "00000200", folder / "00000100"]
    assert {path.name: [best.name for best in bests] for path, bests in last.bests.items()} == {
        "00000400": [], "00000300": [], "00000200": [], "00000100": [],
    }  # fmt: skip


def test_a_run_whose_folder_is_removed_ends_in_one_line(tmp_path: Path) -> None:
    with (
        pytest.raises(WorkspaceError, match="/run: .*removed.*same command"),
        RunFolder(tmp_path / "run", LEGS) as work,
    ):
        save(work, 0, 100)
        shutil.rmtree(tmp_path / "run")
        save(work, 0, 200)


def test_a_run_is_over_once_its_last_phase_has_ended(work: RunFolder) -> None:
    for ends, is_over in (
        (["steps"], False), (["max_minutes"], True), (["steps", None], False), (["steps", "early_stopping"], True)
    ):  # fmt: skip
        state = RunState(phases=tuple(PhaseState(ended_by=end) for end in ends))
        work.save(Position(len(ends) - 1, 100), state, dict, now=True)
        state = work.newest()
        assert state.is_over == is_over
        assert ("to its end" in state.describe(200, work.folder)[0]) == is_over
        shutil.rmtree(work.folder)
        for phase in work._folders:
            phase.mkdir(parents=True)
