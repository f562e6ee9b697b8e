"""An edit of a phase keeps the phases before it: taken from the run that trained them, to the bit, or trained anew."""

import json
import shutil
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from bakeoff.learning.checkpoints.continue_from import taken_up, write_identity
from bakeoff.learning.checkpoints.history import read_history
from bakeoff.learning.checkpoints.run_folder import SAMPLES, RunFolder
from bakeoff.learning.checkpoints.run_state import Position, TakenFrom
from bakeoff.learning.input.record_reader import BAD_RECORDS
from bakeoff.learning.plan.phases import TrainingPhase
from bakeoff.learning.plan.train_settings import Train
from support.kitchen import Interrupted, Kitchen, curve, digests, noisy, phase
from support.messages import missing_in

FIRST, SECOND = "5d1c000000000000", "77aa000000000000"
SLOWER = phase("slow", 7, 3, 0.002)
TRAIN: dict[str, Any] = {"batch_size": 4, "steps": None, "epochs": None, "trainable": [], "max_minutes": None}


def identity(phases: list[TrainingPhase], **changes: Any) -> dict[str, Any]:
    """As `fingerprint.identity` has it, of a run of these phases."""
    spans = [
        {"name": one.span.name, "first_step": one.span.first_step, "steps": one.span.steps, "rate_factor": 1.0}
        for one in phases
    ]
    rows = [{"lr": str(one.schedule), "trainable": list(one.trainable), "start": one.start} for one in phases]
    tree = {"seed": 1, "lr": {"peak": 1.0}, "records": "aa", "parent": "none", "code": "c0"} | changes
    train = TRAIN | tree.pop("train", {}) | {"phases": rows}
    return tree | {"train": train, "derived": {"task": "classification", "phases": spans}}


def take(kitchen: Kitchen, *, fresh: bool = False, **changes: Any) -> tuple[list[str], int]:
    """Let a run take over from its neighbours; return what it says of that, and the step that it would go on from."""
    printed, settings = identity(kitchen.phases, **changes), Train(batch_size=4, steps=9, fresh=fresh)
    ends = [one.span.end_step for one in kitchen.phases]
    with RunFolder(kitchen.folder, [one.span.name for one in kitchen.phases]) as work:
        remarks = taken_up(None, work, settings, printed, ends)[1]
        step = work.newest().position.step
    write_identity(printed, kitchen.folder)
    return remarks, step


def train(kitchen: Kitchen) -> Kitchen:
    """Train a run that takes nothing over."""
    write_identity(identity(kitchen.phases), kitchen.folder)
    kitchen.bake()
    return kitchen


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Kitchen:
    """Three phases that are trained: dropout, batch norm, Adam, averages, random data, a look at every step."""
    kitchen = noisy(tmp_path_factory.mktemp("trained") / FIRST)
    (kitchen.folder / SAMPLES).mkdir(parents=True)
    for step in (1, 7, 9):
        (kitchen.folder / SAMPLES / f"{step:08d}.jpg").write_bytes(bytes([step]))
    return train(kitchen)


@pytest.fixture
def first(trained: Kitchen, tmp_path: Path) -> Kitchen:
    """The same, in a place where other runs see it."""
    kitchen = copy(trained)
    kitchen.folder = tmp_path / "runs" / FIRST
    shutil.copytree(trained.folder, kitchen.folder)
    return kitchen


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Kitchen:
    """All phases of the run whose third phase is slower, trained without a neighbour."""
    return train(second(tmp_path_factory.mktemp("whole"), phase_3=SLOWER))


def second(tmp_path: Path, place: str = f"runs/{SECOND}", **changes: Any) -> Kitchen:
    """The same with another third phase, or with what else is changed."""
    kitchen = noisy(tmp_path / place)
    for number, one in changes.items():
        kitchen.phases[int(number.removeprefix("phase_")) - 1] = one
    return kitchen


def test_another_third_phase_begins_at_the_end_of_the_second_and_ends_as_if_all_were_trained(
    first: Kitchen, whole: Kitchen, tmp_path: Path
) -> None:
    edited = second(tmp_path, phase_3=SLOWER)
    folder = (tmp_path / "runs" / FIRST).as_posix()
    [printed], step = take(edited)
    assert missing_in(printed, "phases head, all ", folder) == [] and step == 7
    edited.bake()
    assert digests(edited) == digests(whole) != digests(first) and curve(edited) == curve(whole)
    taken = [row["step"] for row in read_history(edited.folder) if "train/loss" in row]
    assert taken == list(range(1, 11))
    with RunFolder(edited.folder, ["head", "all", "slow"]) as work:
        state = work.newest().state
    assert state.resumed == (7,) and state.parents == ()
    assert state.lent == (TakenFrom(FIRST, 7),)
    assert sorted(file.name for file in (edited.folder / SAMPLES).iterdir()) == ["00000001.jpg", "00000007.jpg"]


def test_another_second_phase_keeps_the_first_alone(first: Kitchen, tmp_path: Path) -> None:
    other = phase("all", 3, 4, 0.03, start="best")
    edited, whole = second(tmp_path, phase_2=other), second(tmp_path, "apart/whole", phase_2=other)
    [printed], step = take(edited)
    assert printed.startswith("phase head ") and step == 3
    edited.bake()
    assert digests(edited) == digests(train(whole)) and curve(edited) == curve(whole)


def test_one_phase_more_keeps_all_that_were_there(first: Kitchen, tmp_path: Path) -> None:
    edited, whole = second(tmp_path), second(tmp_path, "apart/whole")
    for kitchen in (edited, whole):
        kitchen.phases.append(phase("slowest", 9, 2, 0.001))
    [printed], step = take(edited)
    assert printed.startswith("phases head, all, slow ") and step == 9
    edited.bake()
    assert digests(edited) == digests(train(whole))


@pytest.mark.parametrize("at", [8, 9, 10])
def test_killed_after_any_step_of_its_own_it_ends_as_if_all_were_trained(
    first: Kitchen, whole: Kitchen, tmp_path: Path, at: int
) -> None:
    edited = second(tmp_path, phase_3=SLOWER)
    assert take(edited)[1] == 7
    with pytest.raises(Interrupted):
        edited.bake(interrupt_at=at)
    assert edited.bake().position == Position(2, 10)
    assert digests(edited) == digests(whole) and curve(edited) == curve(whole)


def test_what_was_half_taken_over_is_taken_over_again(first: Kitchen, whole: Kitchen, tmp_path: Path) -> None:
    """Best weights are written before the checkpoint that names them, so a kill leaves them alone."""
    edited = second(tmp_path, phase_3=SLOWER)
    take(edited)
    for file in edited.folder.glob("*-*/[0-9]*"):
        file.unlink()
    assert list(edited.folder.glob("*-*/best-*"))
    assert take(edited)[1] == 7
    edited.bake()
    assert digests(edited) == digests(whole)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2}, {"records": "bb"}, {"code": "c1"}, {"parent": "dd"}, {"train": {"batch_size": 8}},
        {"train": {"max_minutes": 5.0}},
    ],
    ids=str,
)  # fmt: skip
def test_what_decided_the_earlier_phases_trains_them_anew(
    first: Kitchen, tmp_path: Path, changes: dict[str, Any]
) -> None:
    assert take(second(tmp_path, phase_3=SLOWER), **changes) == ([], 0)


def test_what_the_run_trains_by_itself_counts_for_phases_that_do_not_say_it(first: Kitchen, tmp_path: Path) -> None:
    """The first phase trains `last` by its own word, the second by the run's."""
    [printed], step = take(second(tmp_path, phase_3=SLOWER), train={"trainable": ["last"]})
    assert printed.startswith("phase head ") and step == 3


def test_the_groups_own_rate_and_length_decide_no_phase_that_says_its_own(first: Kitchen, tmp_path: Path) -> None:
    assert take(second(tmp_path, phase_3=SLOWER), lr={"peak": 2.0}, train={"steps": 10})[1] == 7


def test_fresh_takes_nothing_over(first: Kitchen, tmp_path: Path) -> None:
    assert take(second(tmp_path, phase_3=SLOWER), fresh=True) == ([], 0)


def test_a_single_phase_is_nobodys_beginning(tmp_path: Path) -> None:
    """Its lines of the history have no name of a phase."""
    train(Kitchen(tmp_path / "runs" / FIRST, [phase("a", 0, 2, 0.1)]))
    assert take(Kitchen(tmp_path / "runs" / SECOND, [phase("a", 0, 2, 0.1), phase("b", 2, 2, 0.1)])) == ([], 0)


def test_a_phase_that_a_stop_cut_short_is_not_taken_over(tmp_path: Path) -> None:
    stopped = noisy(tmp_path / "runs" / FIRST)
    stopped.stop_at = 5
    train(stopped)
    [printed], step = take(second(tmp_path, phase_3=SLOWER))
    assert printed.startswith("phase head ") and step == 3


def test_a_run_that_left_records_out_lends_nothing(first: Kitchen, tmp_path: Path) -> None:
    (first.folder / BAD_RECORDS).write_text("train\t3\tdamaged\n", encoding="utf-8")
    assert take(second(tmp_path, phase_3=SLOWER)) == ([], 0)


def test_a_damaged_end_of_a_phase_is_passed_over_with_a_warning(
    first: Kitchen, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = first.folder / "2-all" / "00000007"
    end.write_bytes(end.read_bytes()[:-1])
    [printed], step = take(second(tmp_path, phase_3=SLOWER))
    assert printed.startswith("phase head ") and step == 3
    warning = capsys.readouterr().err.strip()
    assert missing_in(warning, f"warning: {end.as_posix()}: damaged", "early", "nothing") == []


def test_folders_that_are_no_runs_are_passed_over(first: Kitchen, tmp_path: Path) -> None:
    (tmp_path / "runs/empty").mkdir()
    (tmp_path / "runs/no_json").mkdir()
    (tmp_path / "runs/no_json/identity.json").write_bytes(b"")
    (tmp_path / "runs/a_list").mkdir()
    (tmp_path / "runs/a_list/identity.json").write_text(json.dumps([1]), encoding="utf-8")
    assert take(second(tmp_path, phase_3=SLOWER))[1] == 7


def test_the_last_checkpoint_of_each_phase_stays_with_the_best_weights_that_it_names(trained: Kitchen) -> None:
    names = {file.relative_to(trained.folder).as_posix() for file in trained.folder.glob("*-*/*")}
    before_the_last = {"1-head/00000003", "1-head/best-00000002", "2-all/00000007", "2-all/best-00000005"}
    before_the_last |= {"1-head/copy-of-best-00000002", "2-all/copy-of-best-00000005"}
    assert {name for name in names if not name.startswith("3-")} == before_the_last
    assert {"3-slow/00000009", "3-slow/best-00000008"} <= names
