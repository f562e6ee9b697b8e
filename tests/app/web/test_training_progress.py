"""One row and one page of a training, from the click on Start to its files; stop, and resume at any time."""

import json
import shutil
import subprocess
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from filelock import FileLock

from bakeoff.app.web import background_commands
from bakeoff.app.web.run_rows import Row, list_rows
from bakeoff.app.web.runs import find_training, run_parts
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.runs.run_status import State, dequeue
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest
from bakeoff.experiments.sweep.sweep_queue import add_sweep, list_queued_sweeps, remove_sweep, resume_sweep
from bakeoff.foundation import workspace
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from support.asking import Page
from support.made_runs import NOBODY, made
from support.made_sweeps import ID, sweep, sweep_job
from support.messages import missing_in

ERRAND = "20260102-030405-abcdef"
JOB = f"{ID}-1"
RUN_ID = "964f2107" + "0" * 24


def begin_errand(log: str, *, code: int | None = None) -> None:
    folder = background_commands.folder_of(ERRAND)
    folder.mkdir(parents=True, exist_ok=True)
    add = ["bakeoff", "queue", "add", "model=ssd_small", "--note=new camera", "--yes"]
    commands = [["dvc", "add", "data/raw/field"], ["dvc", "repro", "build_records"], add]
    tree = {"id": ERRAND, "title": "Train on field", "commands": commands, "began": time.time(), "state": "runs",
            "notes": []}  # fmt: skip
    (folder / "errand.json").write_text(json.dumps(tree), encoding="utf-8")
    (folder / "log.txt").write_text(log, encoding="utf-8")
    if code is not None:
        (folder / "ended.json").write_text(json.dumps({"code": code, "ended": time.time()}), encoding="utf-8")


def only_row() -> Row:
    [row] = list_rows(known_runs())
    return row


def queued(*, state: JobState = JobState.WAITING) -> SweepManifest:
    manifest = sweep(sweep_job(1, configurations=(("data=field",),), state=state), note="new camera")
    manifest.folder.mkdir(parents=True, exist_ok=True)
    manifest.write()
    return manifest


def test_a_training_is_one_row_and_one_page_from_the_click_on(page: Page, folder: Path) -> None:
    address = f"/runs/{ERRAND}"
    for log, words in (
        ("$ dvc add data/raw/field\n", "taking in the pictures"),
        ("$ dvc add data/raw/field\n$ dvc repro build_records\n", "checking pictures"),
        ("$ dvc repro build_records\n$ git add dvc.lock\n", "checking pictures"),
        ("$ git add dvc.lock\n$ bakeoff queue add model=ssd_small\n", "planning"),
    ):
        begin_errand(log)
        row = only_row()
        assert (row.state, row.doing, row.note, row.data, row.network) == (
            "PREPARING", words, "new camera", "field", "ssd_small"
        )  # fmt: skip
        assert missing_in(page.get(address).text, 'data-live="run/' + ERRAND, "new camera", words) == []
        assert missing_in(page.get("/models").text, "field · ssd_small", words) == []
    begin_errand(f"$ bakeoff queue add\n{ID}: 1 in the queue; `bakeoff queue start` runs it\n", code=0)
    add_sweep(queued())
    row = only_row()
    assert (row.state, row.doing, row.note, row.data, row.waits) == ("QUEUED", "waiting", "new camera", "field", True)
    dequeue(JOB)  # its turn has come, and nothing is trained yet
    files = JobFiles(queued(state=JobState.RUNNING).folder, 1)
    with FileLock(workspace.queue() / "lock"):
        assert (only_row().state, only_row().doing) == ("PREPARING", "about to begin")
    assert (only_row().state, only_row().doing) == ("FAILED", "cut short")  # nobody runs the queue any more
    files.process.write_text(json.dumps(asdict(Process.current())), encoding="utf-8")
    for stage, words in (("render_config", "checking settings"), ("train", "loading the network")):
        files.log.write_text(f"Running stage '{stage}':\n")
        row = only_row()
        assert (row.state, row.doing, row.note, row.data) == ("PREPARING", words, "new camera", "field")
        assert missing_in(page.get(address).text, "new camera", words) == []
    run = made(folder / ".bakeoff/runs", "a" * 16, State.RUNNING, experiment=JOB, run_id=RUN_ID, seconds_left=90.0,
               steps=400, steps_done=12)  # fmt: skip
    row = only_row()
    assert (row.name, row.state, row.doing, row.left) == ("964f2107", "RUNNING", "step 12 of 400", "90 s")
    assert [page.get(name).code for name in (address, "/runs/964f2107", f"/runs/{run.name}")] == [200] * 3
    assert page.get(address).text.count("step 12 of 400") == 1


def test_a_training_that_left_the_queue_without_a_run_is_no_row_and_one_that_failed_says_why(
    page: Page, folder: Path
) -> None:
    begin_errand(f"$ bakeoff queue add\n{ID}: 1 in the queue; `bakeoff queue start` runs it\n", code=0)
    add_sweep(queued())
    remove_sweep(ID)
    assert list_rows(known_runs()) == [] and page.get(f"/runs/{ERRAND}").code == 404
    job = sweep_job(1, state=JobState.WAITING).begin(1.0).end(2.0, JobState.FAILED, "lr.peak: must be above 0")
    sweep(job, note="new camera").write()
    assert (only_row().state, only_row().remark) == ("FAILED", "lr.peak: must be above 0")
    assert missing_in(page.get(f"/runs/{ERRAND}").text, "lr.peak: must be above 0", "Try again") == []
    queued(state=JobState.DONE)  # its run was removed
    assert list_rows(known_runs()) == [] and page.get(f"/runs/{ERRAND}").code == 404


def test_a_start_that_fails_says_why_and_leads_back(page: Page, folder: Path) -> None:
    begin_errand("$ dvc repro build_records\nbuild_records: field: no labels\n", code=2)
    row = only_row()
    assert (row.state, row.doing, row.remark) == ("FAILED", "", "build_records: field: no labels")
    assert missing_in(page.get(f"/runs/{ERRAND}").text, "no labels", "Try again", f"/activity/{ERRAND}") == []


def test_the_name_of_a_training_and_the_steps_follow_it(folder: Path) -> None:
    begin_errand("$ dvc add data/raw/field\n")
    before = run_parts(ERRAND)
    assert missing_in(before["run-head"], 'data-title="A new training"', "new camera") == []
    begin_errand(f"$ bakeoff queue add\n{ID}: 1 in the queue; `bakeoff queue start` runs it\n", code=0)
    queued(state=JobState.RUNNING)
    made(folder / ".bakeoff/runs", "a" * 16, State.RUNNING, experiment=JOB, run_id=RUN_ID)
    after = run_parts(ERRAND)  # the page has the address of its beginning
    assert missing_in(after["run-head"], 'data-title="Run 964f2107"', "new camera", "964f2107") == []
    assert before["steps"] != after["steps"] and missing_in(after["steps"], "Train", "1 under way") == []


def test_try_again_begins_the_same_commands_and_stays_one_row(
    page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_commands, "_start", lambda folder: None)
    begin_errand("$ dvc repro build_records\nbuild_records: field: no labels\n", code=2)
    answer = page.send(f"/runs/{ERRAND}/act", what="again", key="123456")
    new, old = background_commands.list_recent()
    assert answer.tree["goto"] == f"/runs/{new.id}" and (new.commands, new.title) == (old.commands, old.title)
    assert (only_row().id, only_row().state) == (new.id, "PREPARING")
    assert page.send(f"/runs/{new.id}/act", what="again", key="123457").code == 400  # it is under way
    assert find_training(ERRAND).overrides == ["model=ssd_small"]
    assert page.send(f"/runs/{new.id}/act", what="stop", key="123457").code == 400  # it has no run yet


def test_what_a_kill_left_in_the_queue_has_a_button_that_runs_the_queue(
    page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(background_commands, "begin_queue", lambda: begun.append("queue"))
    begin_errand(f"$ bakeoff queue add\n{ID}: 1 in the queue; `bakeoff queue start` runs it\n", code=0)
    add_sweep(queued())
    assert missing_in(page.get(f"/runs/{ERRAND}").text, "Run the queue") == []
    with FileLock(workspace.queue() / "lock"):
        assert "Run the queue" not in page.get(f"/runs/{ERRAND}").text
    dequeue(JOB)
    manifest = queued(state=JobState.RUNNING)
    run = made(folder / ".bakeoff/runs", "a" * 16, State.SUCCEEDED, experiment=JOB, run_id=RUN_ID, process=NOBODY)
    JobFiles(manifest.folder, 1).process.write_text(json.dumps(asdict(NOBODY)), encoding="utf-8")
    assert (only_row().state, only_row().doing) == ("STOPPED", "trained; its evaluation and its files are missing")
    assert missing_in(page.get(f"/runs/{run.name}").text, "Run the queue") == []
    assert page.send(f"/runs/{run.name}/act", what="queue", key="123456").tree == {"goto": f"/runs/{run.name}"}
    assert begun == ["queue"]


def test_evaluating_and_exporting_are_named_until_the_files_are_there(page: Page, folder: Path) -> None:
    manifest = queued(state=JobState.RUNNING)
    made(folder / ".bakeoff/runs", "a" * 16, State.SUCCEEDED, experiment=JOB, run_id=RUN_ID, process=NOBODY)
    files = JobFiles(manifest.folder, 1)
    files.log.write_text("Running stage 'train':\n")
    files.process.write_text(json.dumps(asdict(Process.current())), encoding="utf-8")
    for stage, words in (("evaluate", "evaluating"), ("export", "exporting")):
        with files.log.open("a") as log:
            log.write(f"Running stage '{stage}':\n")
        row = only_row()
        assert (row.state, row.doing, row.is_live, row.trains) == ("RUNNING", words, True, False)
    files.process.write_text(json.dumps(asdict(NOBODY)), encoding="utf-8")  # the job was killed
    assert only_row().state == "STOPPED"
    assert missing_in(page.get(f"/runs/{'a' * 16}").text, "its evaluation and its files are missing", "Resume") == []
    gone = subprocess.Popen(["true"], start_new_session=True)
    gone.wait()
    files.process.write_text(json.dumps(asdict(replace(Process.current(), pid=gone.pid))), encoding="utf-8")
    assert only_row().state == "STOPPED"  # also where no other process has its number yet
    with FileLock(workspace.queue() / "lock"):
        assert (only_row().state, only_row().doing) == ("SUCCEEDED", "done")  # whoever runs the queue will see to it
    files.process.write_text(json.dumps(asdict(Process.current())), encoding="utf-8")
    queued(state=JobState.DONE)
    assert (only_row().state, only_row().doing) == ("SUCCEEDED", "done")


def test_a_stopped_run_resumes_in_its_turn_as_the_same_row(
    page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[list[tuple[str, ...]]] = []

    def begin(key: str, title: str, commands: list[list[str]], **more: object) -> background_commands.BackgroundCommand:
        begun.append([tuple(command) for command in commands])
        return background_commands.BackgroundCommand(ERRAND, title, tuple(begun[-1]), time.time(), "runs")

    monkeypatch.setattr(background_commands, "begin", begin)
    manifest = queued(state=JobState.STOPPED)
    run = made(folder / ".bakeoff/runs", "a" * 16, State.STOPPED, experiment=JOB, run_id=RUN_ID, process=NOBODY,
               steps=400, steps_done=12, checkpoint=True)  # fmt: skip
    assert only_row().doing == "stopped at step 12 of 400"
    answer = page.send(f"/runs/{run.name}/act", what="resume", key="123456")
    assert answer.tree["goto"] == f"/runs/{run.name}"
    assert begun == [[("bakeoff", "queue", "add", "--resume", ID), background_commands.QUEUE]]
    resume_sweep(manifest)
    row = only_row()
    assert (row.id, row.name, row.state, row.doing) == (run.name, "964f2107", "QUEUED", "waits to go on from step 12")
    text = page.get("/runs/964f2107").text
    assert 'data-what="resume"' not in text and 'data-what="stop"' in text
    assert list_queued_sweeps() == [ID]
    dequeue(JOB)  # its turn has come, and it trained to its end; the sweep stays in the queue until its files are made
    files = JobFiles(queued(state=JobState.RUNNING).folder, 1)
    files.process.write_text(json.dumps(asdict(Process.current())), encoding="utf-8")
    files.log.write_text("Running stage 'export':\n")
    shutil.rmtree(run)
    made(folder / ".bakeoff/runs", "a" * 16, State.SUCCEEDED, experiment=JOB, run_id=RUN_ID, process=NOBODY)
    assert (only_row().state, only_row().doing) == ("RUNNING", "exporting")


@pytest.mark.parametrize("what", ["stop_requested", "stopping"])
def test_a_run_may_resume_while_it_is_still_stopping(page: Page, folder: Path, what: str) -> None:
    queued(state=JobState.RUNNING)
    state = State.RUNNING if what == "stop_requested" else State.STOPPING
    run = made(folder / ".bakeoff/runs", "a" * 16, state, experiment=JOB, run_id=RUN_ID)
    assert 'data-what="resume"' not in page.get(f"/runs/{run.name}").text or state == State.STOPPING
    (run / "stop_requested").touch()
    assert 'data-what="resume"' in page.get(f"/runs/{run.name}").text


def test_a_row_has_the_data_and_the_network_that_the_journal_names(page: Page, folder: Path) -> None:
    made(folder / ".bakeoff/runs", "a" * 16, State.SUCCEEDED, run_id=RUN_ID, name="ssd_tiny · cosine · low")
    assert (only_row().data, only_row().network) == ("", "ssd_tiny")
    journal = Journal(RUN_ID)
    Target("local", "bakeoff").write(journal.folder)
    journal.params({"variant.data": "field", "variant.model": "point_nano"})
    journal.close()
    assert (only_row().data, only_row().network) == ("field", "point_nano")
    assert "field · point_nano" in page.get("/models").text
