"""Minutes of conf/team.yaml: jobs that wait or train reserve them, and a job without enough of them is refused."""

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.runs.cleanup import these_runs
from bakeoff.experiments.runs.list_runs import known_runs, read_run
from bakeoff.experiments.runs.run_status import State, dequeue, write_status
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest
from bakeoff.experiments.sweep.sweep_queue import add_sweep, remove_sweep
from bakeoff.experiments.sweep.team_quota import (
    Account,
    Team,
    count_minutes,
    load_team,
    require_minutes,
    require_minutes_to_resume,
)
from bakeoff.foundation.errors import ConfigError
from support.commands import run_bakeoff
from support.made_runs import NOBODY, made
from support.made_sweeps import ID, sweep, sweep_job

TEAM = "minutes: 100\npeople: {ann: 40, ben: 50}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace whose team has 100 minutes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/team.yaml").write_text(TEAM, encoding="utf-8")
    return tmp_path


def accounts() -> dict[str, Account]:
    team = load_team()
    assert team is not None
    return {account.owner: account for account in count_minutes(team)}


def left() -> float:
    return accounts()["the team"].left


def queue_sweep(person: str | None = None, **more: object) -> SweepManifest:
    manifest = sweep(sweep_job(1, max_minutes=30.0, **more), person=person)
    manifest.folder.mkdir(parents=True)
    manifest.write()
    add_sweep(manifest)
    return manifest


def make_trained(folder: Path, name: str, state: State, **status: object) -> Path:
    """Make a run that may train for 30 minutes, of which 12 are over."""
    about = {"training_seconds": 720.0, "spent_seconds": 720.0, "longest_seconds": 1800.0}
    return made(folder / ".bakeoff/runs", name * 16, state, checkpoint=True, **(about | status))


def test_a_job_that_waits_reserves_its_longest_time_until_it_leaves_the_queue(folder: Path) -> None:
    assert left() == 100
    manifest = queue_sweep()
    assert (accounts()["the team"].reserved, left()) == (30, 70)
    remove_sweep(manifest.id)
    assert left() == 100


def test_a_job_that_has_started_and_does_not_train_yet_reserves_it_as_well(folder: Path) -> None:
    manifest = queue_sweep()
    began = manifest.jobs[0].begin(time.time())
    manifest.with_job(began).write()
    dequeue(began.experiment)
    assert not known_runs() and left() == 70
    stopped = make_trained(folder, "a", State.STOPPED, experiment=began.experiment, ago=60.0)  # by an attempt before
    assert (accounts()["the team"].spent, accounts()["the team"].reserved) == (12, 18)
    shutil.rmtree(stopped)
    make_trained(folder, "a", State.RUNNING, experiment=began.experiment)
    assert (accounts()["the team"].spent, accounts()["the team"].reserved) == (12, 18)  # and not once more


@pytest.mark.parametrize("state", [State.STOPPED, State.SUCCEEDED, State.FAILED, State.CANCELED])
def test_what_a_training_did_not_use_comes_back_when_it_ends(folder: Path, state: State) -> None:
    run = make_trained(folder, "a", State.RUNNING)
    assert left() == 70
    status = read_run(run).status
    assert status is not None
    write_status(run, replace(status, state=state))
    assert (accounts()["the team"].spent, accounts()["the team"].reserved, left()) == (12, 0, 88)


def test_a_training_that_was_killed_gives_back_what_it_did_not_use(folder: Path) -> None:
    make_trained(folder, "a", State.RUNNING, process=NOBODY)  # its process is gone, and it has no last word
    assert known_runs()[0].state == State.FAILED
    assert (accounts()["the team"].reserved, left()) == (0, 88)


def test_what_a_run_took_over_is_not_counted_twice_and_what_a_kill_took_back_is(folder: Path) -> None:
    make_trained(folder, "a", State.SUCCEEDED, process=NOBODY)
    make_trained(
        folder, "b", State.SUCCEEDED, process=NOBODY, training_seconds=1200.0, spent_seconds=480.0, parent="a" * 16
    )
    assert accounts()["the team"].spent == 12 + 8


def test_a_run_that_is_removed_takes_no_minutes_back(folder: Path) -> None:
    make_trained(folder, "a", State.FAILED, process=NOBODY)
    [leftover] = these_runs(known_runs(), [], {})
    assert leftover.remove() and known_runs() == []
    assert left() == 88
    with (folder / ".bakeoff/spent.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"fingerprint": "half a li')
    assert left() == 88


def test_minutes_are_those_of_the_person_whom_a_sweep_was_for(folder: Path) -> None:
    queue_sweep("ann")
    make_trained(folder, "a", State.SUCCEEDED, process=NOBODY, experiment=f"{ID}-1")
    each = {owner: (account.spent, account.reserved) for owner, account in accounts().items()}
    assert each == {"the team": (12, 30), "ann": (12, 30), "ben": (0, 0)}
    assert accounts()["ann"].left == 0  # 40, less 42
    with pytest.raises(ConfigError, match=r"^train\.max_minutes: nothing is left .*\b40\b.* ann;"):
        require_minutes([1.0], "ann")
    require_minutes([50.0], "ben")


def test_runs_of_before_count_for_nothing(folder: Path) -> None:
    make_trained(folder, "a", State.SUCCEEDED, process=NOBODY, began=time.time() - 5 * 86_400)
    assert left() == 88
    day = time.strftime("%Y-%m-%d", time.localtime(time.time() - 2 * 86_400))
    (folder / "conf/team.yaml").write_text(f'minutes: 100\nsince: "{day}"\n', encoding="utf-8")
    assert left() == 100


@pytest.mark.parametrize(
    ("longest", "person", "message"),
    [
        ([None], None, r"train\.max_minutes: must be set.*\b70\b.*\b100\b"),
        ([71.0], None, r"train\.max_minutes: .*\b70, got 71;.*\b100\b"),
        ([40.0, 31.0], None, r"\b70\b.*\b2 jobs, got 71;"),
        ([41.0], "ann", r"\b40, got 41;.*\b40\b.* ann$"),
        ([1.0], "bob", r"^person: .*'bob'.* conf/team\.yaml; .*ann, ben"),
    ],
)
def test_more_than_is_left_is_refused_in_one_line(
    folder: Path, longest: list[float | None], person: str | None, message: str
) -> None:
    queue_sweep()
    with pytest.raises(ConfigError, match=message) as error:
        require_minutes(longest, person)
    assert "\n" not in str(error.value)


def test_what_is_just_left_is_given_and_without_a_file_nothing_is_counted(folder: Path) -> None:
    require_minutes([60.0, 40.0])
    require_minutes([], "ann")
    (folder / "conf/team.yaml").write_text("people: {ann: 40}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^person: must be set.* conf/team\.yaml\b"):
        require_minutes([1.0])
    (folder / "conf/team.yaml").unlink()
    assert load_team() is None
    require_minutes([None, 1e9], "nobody")


def test_going_on_reserves_what_is_left_of_the_longest_time(folder: Path) -> None:
    manifest = sweep(sweep_job(1, max_minutes=30.0, state=JobState.STOPPED), sweep_job(2, state=JobState.DONE))
    (folder / "conf/team.yaml").write_text("minutes: 30\n", encoding="utf-8")
    make_trained(folder, "a", State.STOPPED, process=NOBODY, experiment=f"{ID}-1")
    require_minutes_to_resume(manifest)  # 18 of 18
    (folder / "conf/team.yaml").write_text("minutes: 29\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"must be at most 17, got 18"):
        require_minutes_to_resume(manifest)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minutes: many", r"^conf/team\.yaml:1: minutes: .*'many'$"),
        ("minutes: -1", r":1: minutes: .*\b0\b.*-1$"),
        ("minutes: 5\nseason: 1", r"^conf/team\.yaml:2: season: no such key; .*minutes, people, since"),
        ("people: [ann]", r":1: people: .*names"),
        ("minutes: 1\npeople: {ann: true}", r":2: people\.ann: must be a number"),
        ('minutes: 5\nsince: "September"', r':2: since: .*"2026-09-01".*\'September\''),
        ("since: null", r"minutes: must be set"),
    ],
)
def test_a_mistake_in_the_file_is_reported_with_its_line(folder: Path, text: str, message: str) -> None:
    (folder / "conf/team.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_team()


def test_a_team_is_what_its_file_says(folder: Path) -> None:
    assert load_team() == Team(100.0, (("ann", 40.0), ("ben", 50.0)), 0.0)


def test_bakeoff_budget_shows_what_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "dvc.yaml").touch()
    make_trained(folder, "a", State.RUNNING, spent_seconds=744.0)
    lines = run_bakeoff(monkeypatch, capsys, "budget")[1].splitlines()
    assert lines[0].split() == ["minutes", "spent", "reserved", "left"]
    assert [line.split() for line in lines[1:]] == [
        ["the", "team", "100", "12.4", "18", "69.6"], ["ann", "40", "0", "0", "40"], ["ben", "50", "0", "0", "50"],
    ]  # fmt: skip
