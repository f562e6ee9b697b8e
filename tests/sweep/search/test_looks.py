"""What a run's looks saw is read while it trains: from its journal, or from its history if it tells nobody."""

import json
from pathlib import Path

import pytest

from bakeoff.runs.status import State
from bakeoff.sweep.manifest import Look
from bakeoff.sweep.search import looks as room
from bakeoff.sweep.search.looks import OnTheWay
from bakeoff.tracking.journal import Journal
from made_runs import made
from made_sweeps import ID, sweep_job

JOB = sweep_job(1).begun(1.0)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setattr(room, "SECONDS_BETWEEN_LOOKS", 0.0)
    return tmp_path


def test_a_journal_is_read_as_it_grows(place: Path) -> None:
    made(place / ".bakeoff/runs", "ab12", State.RUNNING, experiment=f"{ID}-1", run_id="7f")
    made(place / ".bakeoff/runs", "cd34", State.RUNNING, experiment=f"{ID}-2", run_id="80")
    way, journal, other = OnTheWay("validation/mAP_50"), Journal("7f"), Journal("80")
    seen: list[tuple[Look, ...]] = [way.looks(JOB)]
    for step, values in [
        (10, {"train/loss": 1.0}),
        (20, {"validation/mAP_50": 0.1, "validation/mAP": 0.7}),
        (30, {"validation/mAP_50": float("nan")}),
        (40, {"validation/mAP_50": 0.3}),
    ]:
        journal.metrics(step, values)
        other.metrics(step, {"validation/mAP_50": 0.9})
        seen.append(way.looks(JOB))
    with (journal.folder / "journal.jsonl").open("ab") as file:
        file.write(b"0000 half a li")
    assert [*seen, way.looks(JOB)] == [
        (), (), ((20, 0.1),), ((20, 0.1),), ((20, 0.1), (40, 0.3)), ((20, 0.1), (40, 0.3))
    ]  # fmt: skip
    assert OnTheWay("validation/mAP").looks(JOB) == ((20, 0.7),)
    journal.close()
    other.close()


def test_a_run_that_tells_nobody_has_a_history_where_it_trains(place: Path) -> None:
    clone = place / "clone"
    made(place / ".bakeoff/runs", "ab12", State.RUNNING, experiment=f"{ID}-1", run_id="7f", workspace=str(clone))
    way = OnTheWay("validation/mAP_50")
    assert way.looks(JOB) == ()
    history = clone / "models/train.partial/history.jsonl"
    history.parent.mkdir(parents=True)
    lines = [{"step": 10, "train/loss": 0.5}, {"step": 20, "phase": "head", "validation/mAP_50": 0.25}]
    history.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 30, "valid')
    assert way.looks(JOB) == ((20, 0.25),)


def test_what_an_earlier_attempt_trained_elsewhere_is_not_this_one_s(place: Path) -> None:
    made(place / ".bakeoff/runs", "ab12", State.FAILED, experiment=f"{ID}-1", run_id="7f", ago=600)
    journal = Journal("7f")
    journal.metrics(10, {"validation/mAP_50": 0.1})
    journal.close()
    assert OnTheWay("validation/mAP_50").looks(sweep_job(1).begun(4e9)) == ()
