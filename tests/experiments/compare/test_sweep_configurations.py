"""bakeoff compare --sweep: every point stands in the table, whatever became of it."""

import json
from pathlib import Path

from bakeoff.experiments.sweep.sweep_manifest import JobState
from support.commands import Bakeoff
from support.made_sweeps import ID, sweep, sweep_job
from support.run_journals import scores, write_run


def write_sweep(here: Path) -> None:
    """Done twice, given up by a search, failed at once, failed and begun again, and one that waits."""
    for group in ("lr", "model"):
        (here / "conf" / group).mkdir()
    jobs = [
        sweep_job(1, configurations=(("lr=cosine", "lr.peak=0.003"),), state=JobState.DONE, value=0.5, run_id="aaaa1"),
        sweep_job(2, configurations=(("lr=cosine", "lr.peak=0.01"),), state=JobState.DONE, value=0.6, run_id="aaaa2"),
        sweep_job(3, configurations=(("lr=exponential", "lr.peak=0.003"),), state=JobState.PRUNED, run_id="aaaa3"),
        sweep_job(4, configurations=(("lr=exponential", "lr.peak=0.01"),), state=JobState.FAILED),
        sweep_job(5, configurations=(("lr=constant", "lr.peak=0.003"),), state=JobState.STOPPED, run_id="aaaa5"),
        sweep_job(6, configurations=(("lr=constant", "lr.peak=0.01"),)),
    ]
    sweep(*jobs).write()
    write_run("aaaa1", scores(0.5), {"DVC_EXP_NAME": f"{ID}-1"})
    write_run("aaaa2", scores(0.6), {"DVC_EXP_NAME": f"{ID}-2"}, lr__peak="0.01")
    exponential = {"variant__lr": "exponential", "lr__kind": "exponential", "lr__decay_steps": "100"}
    write_run("aaaa3", {"validation/mAP_50": 0.9}, {"DVC_EXP_NAME": f"{ID}-3"}, state="KILLED", **exponential)
    constant = {"variant__lr": "constant", "lr__kind": "constant"}
    write_run("before", {}, {"DVC_EXP_NAME": f"{ID}-5"}, state="FAILED", **constant)
    write_run("aaaa5", scores(0.8), {"DVC_EXP_NAME": f"{ID}-5"}, **constant)


def test_every_configuration_is_there_once_with_its_state_in_the_sweep(bakeoff: Bakeoff, here: Path) -> None:
    write_sweep(here)
    output = bakeoff("compare", "--sweep", ID)
    assert output.rows[0][:6] == ["run", "mAP_50", "mAP", "validation/mAP_50", "lr.use", "lr.peak"]
    options = ("cosine", "exponential", "constant")
    shown = [
        [row[0], *row[(at := next(at for at, cell in enumerate(row) if cell in options)) : at + 2], state]
        for row in output.rows[1:7] for state in JOB_STATES if state in row
    ]  # fmt: skip
    assert shown == [  # what is done first, the best of it on top; then by the number, then as it was asked for
        ["aaaa2", "cosine", "0.01", "SUCCEEDED"],
        ["aaaa1", "cosine", "0.003", "SUCCEEDED"],
        ["aaaa5", "constant", "0.003", "STOPPED"],
        ["aaaa3", "exponential", "0.003", "PRUNED"],
        ["–", "exponential", "0.01", "FAILED"],
        ["–", "constant", "0.01", "QUEUED"],
    ]
    assert "0.600* (0.570–0.630)" in output.rows[1] and "*" not in output.rows[3][1]  # as `sweep best` has it
    assert bakeoff("compare", ID).out == output.out
    tree = json.loads(bakeoff("compare", "--json", "--sweep", ID).out)
    assert [run["experiment"] for run in tree["runs"]] == [f"{ID}-{number}" for number in (2, 1, 5, 3, 4, 6)]
    assert tree["keys"] == ["lr.use", "lr.peak"]


def test_configurations_can_be_filtered_by_their_state(bakeoff: Bakeoff, here: Path) -> None:
    write_sweep(here)
    tree = json.loads(bakeoff("compare", "--json", "--sweep", ID, "--filter", "state=QUEUED").out)
    assert [run["params"] for run in tree["runs"]] == [{"lr.use": "constant", "lr.peak": "0.01"}]


def test_the_page_of_a_sweep_draws_what_is_not_done_as_such(bakeoff: Bakeoff, here: Path) -> None:
    write_sweep(here)
    bakeoff("compare", "--sweep", ID, "--html", "page.html")
    page = (here / "page.html").read_text(encoding="utf-8")
    assert page.count('class="trial undone"') == 4 and "without a result: 4" in page
    assert page.count('class="trial best"') == 1


def test_a_sweep_of_which_nothing_ran_yet_is_shown_too(bakeoff: Bakeoff) -> None:
    sweep(sweep_job(1, configurations=(("lr.peak=0.1",),)), sweep_job(2, configurations=(("lr.peak=0.2",),))).write()
    output = bakeoff("compare", "--sweep", ID)
    assert output.rows[0] == ["lr.peak", "state", "experiment"]  # there is no run to be named
    assert [row[:2] for row in output.rows[1:3]] == [["0.1", "QUEUED"], ["0.2", "QUEUED"]]


JOB_STATES = ("SUCCEEDED", "STOPPED", "PRUNED", "FAILED", "QUEUED")
