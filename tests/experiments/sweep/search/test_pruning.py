"""Validation passes are read while a trial trains. It is given up by those of others, counted here by hand."""

import json
from pathlib import Path

import pytest

from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.search import pruning
from bakeoff.experiments.sweep.search.pruning import ProgressReader, find_pruning_reason
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, ValidationPass
from bakeoff.tracking.journal.journal import Journal
from support.made_runs import made
from support.made_sweeps import ID, sweep_job
from support.messages import missing_in

MEDIAN, LEAST, ASHA = Search("tpe", 30, "mAP_50"), Search("random", 30, "loss", "min"), Search("asha", 30, "mAP_50")
OTHERS = (0.1, 0.5, 0.3, 0.2, 0.4)  # median 0.3
JOB = sweep_job(1).begin(1.0)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pruning, "SECONDS_BETWEEN_READS", 0.0)
    return tmp_path


def why(
    search: Search, passes: dict[int, tuple[ValidationPass, ...]], *, running: tuple[int, ...] = (), new: int = 1
) -> str | None:
    """Return the verdict on the trial with the highest number and `new` new passes. Others are done, or run as well."""
    own = max(passes)
    jobs = [job(number, passes[number], number in (own, *running)) for number in passes]
    return find_pruning_reason(search, jobs, passes, own, judged=len(passes[own]) - new)


def job(number: int, passes: tuple[ValidationPass, ...], runs: bool) -> SweepJob:
    state = JobState.RUNNING if runs else JobState.DONE
    return sweep_job(number, state=state, value=None if runs else passes[-1][1], validations=() if runs else passes)


def done(*values: float, step: int = 10) -> dict[int, tuple[ValidationPass, ...]]:
    return {number: ((step, value),) for number, value in enumerate(values, 1)}


@pytest.mark.parametrize(
    ("search", "value", "reason"),
    [
        (MEDIAN, 0.29, "mAP_50 0.290 until step 10, median 0.300"),
        (MEDIAN, 0.31, None),
        (LEAST, 0.31, "loss 0.310 until step 10, median 0.300"),
        (LEAST, 0.29, None),
    ],
)
def test_what_is_worse_than_the_median_of_those_that_are_done_is_given_up(
    search: Search, value: float, reason: str | None
) -> None:
    assert why(search, done(*OTHERS, value)) == reason


def test_the_median_counts_once_five_are_done_and_where_five_have_validated() -> None:
    assert why(MEDIAN, done(*OTHERS[:4], 0.01)) is None
    assert why(MEDIAN, done(*OTHERS, 0.01), running=(3,)) is None
    assert why(MEDIAN, done(*OTHERS) | {6: ((7, 0.01),)}) is None  # nobody has looked at step 7
    assert why(MEDIAN, done(*OTHERS) | {6: ((10, 0.01),)}) is not None


def test_the_best_pass_so_far_counts_not_the_last() -> None:
    two = {number: ((10, 0.1), (20, value)) for number, value in enumerate(OTHERS, 1)}
    assert why(MEDIAN, two | {6: ((10, 0.35), (20, 0.05))}) is None
    assert why(MEDIAN, two | {6: ((10, 0.25), (20, 0.05))}) == "mAP_50 0.250 until step 20, median 0.300"


@pytest.mark.parametrize(
    ("others", "value", "continues"),
    [
        ((), 0.1, True),  # nobody to compare with
        ((0.1, 0.2), 0.3, True),
        ((0.1, 0.3), 0.2, False),
        ((0.1, 0.2, 0.3, 0.5, 0.6), 0.55, True),  # the two best of six
        ((0.1, 0.2, 0.3, 0.5, 0.6), 0.45, False),
    ],
)
def test_successive_halving_lets_one_of_three_continue(
    others: tuple[float, ...], value: float, continues: bool
) -> None:
    reason = why(ASHA, done(*others, value))
    parts = () if continues else (f"mAP_50 {value:.3f}", "step 10", "best of 3")
    assert (reason is None, missing_in(reason or "", *parts)) == (continues, [])


def test_rungs_of_successive_halving_are_at_one_three_and_nine_times_the_first_pass() -> None:
    good = ((10, 0.9), (20, 0.9), (30, 0.9), (40, 0.9), (60, 0.9), (90, 0.9))
    late = [(10, 1.0), (20, 0.1), (30, 1.0), (40, 0.1), (60, 0.1), (90, 0.1)]
    *before, last = [why(ASHA, {1: good, 2: good, 3: good, 4: tuple(late[:seen])}) for seen in range(1, 7)]
    assert before == [None] * 5 and missing_in(last or "", "mAP_50 0.100", "step 90", "best of 3") == []


def test_a_rung_counts_that_was_passed_between_two_reads_of_the_journal() -> None:
    good, late = ((10, 0.9), (20, 0.9)), ((10, 0.1), (20, 0.1))
    assert why(ASHA, {1: good, 2: late}) is None
    reason = why(ASHA, {1: good, 2: late}, new=2) or ""
    assert missing_in(reason, "mAP_50 0.100", "step 10", "best of 3") == []


def test_successive_halving_compares_with_those_that_still_run() -> None:
    passes = done(0.5, 0.4, 0.3)
    assert why(ASHA, passes, running=(1, 2)) is not None
    assert why(ASHA, {3: passes[3]}) is None


def test_a_journal_is_read_as_it_grows(place: Path) -> None:
    made(place / ".bakeoff/runs", "ab12", State.RUNNING, experiment=f"{ID}-1", run_id="7f")
    made(place / ".bakeoff/runs", "cd34", State.RUNNING, experiment=f"{ID}-2", run_id="80")
    way, journal, other = ProgressReader("validation/mAP_50"), Journal("7f"), Journal("80")
    seen: list[tuple[ValidationPass, ...]] = [way.read_passes(JOB)]
    for step, values in [
        (10, {"train/loss": 1.0}),
        (20, {"validation/mAP_50": 0.1, "validation/mAP": 0.7}),
        (30, {"validation/mAP_50": float("nan")}),
        (40, {"validation/mAP_50": 0.3}),
    ]:
        journal.metrics(step, values)
        other.metrics(step, {"validation/mAP_50": 0.9})
        seen.append(way.read_passes(JOB))
    with (journal.folder / "journal.jsonl").open("ab") as file:
        file.write(b"0000 half a li")
    assert [*seen, way.read_passes(JOB)] == [
        (), (), ((20, 0.1),), ((20, 0.1),), ((20, 0.1), (40, 0.3)), ((20, 0.1), (40, 0.3))
    ]  # fmt: skip
    assert ProgressReader("validation/mAP").read_passes(JOB) == ((20, 0.7),)
    journal.close()
    other.close()


def test_a_run_that_tells_nobody_has_a_history_where_it_trains(place: Path) -> None:
    clone = place / "clone"
    made(place / ".bakeoff/runs", "ab12", State.RUNNING, experiment=f"{ID}-1", run_id="7f", workspace=str(clone))
    way = ProgressReader("validation/mAP_50")
    assert way.read_passes(JOB) == ()
    history = clone / "models/train.partial/history.jsonl"
    history.parent.mkdir(parents=True)
    lines = [{"step": 10, "train/loss": 0.5}, {"step": 20, "phase": "head", "validation/mAP_50": 0.25}]
    history.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 30, "valid')
    assert way.read_passes(JOB) == ((20, 0.25),)


def test_what_an_earlier_attempt_trained_elsewhere_is_not_this_one_s(place: Path) -> None:
    made(place / ".bakeoff/runs", "ab12", State.FAILED, experiment=f"{ID}-1", run_id="7f", ago=600)
    journal = Journal("7f")
    journal.metrics(10, {"validation/mAP_50": 0.1})
    journal.close()
    assert ProgressReader("validation/mAP_50").read_passes(sweep_job(1).begin(4e9)) == ()
