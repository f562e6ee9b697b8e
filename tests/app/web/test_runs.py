"""The list of runs, the page of one, and what the page begins: commands, each once."""

import io
import json
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from bakeoff.app.web import background_commands
from bakeoff.app.web.run_rows import make_row
from bakeoff.experiments.runs import curve_drawings
from bakeoff.experiments.runs.curve_drawings import draw_curves
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.run_status import State, enqueue
from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.journal import Journal, entries
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.store.target import Target
from support.asking import Page
from support.exported_run import write_export
from support.made_runs import NOBODY, made
from support.messages import missing_in

ID = "0b9f1c2d3e4f5a6b7c8d9e0f1a2b3c4d"
ENDED = {"process": NOBODY, "run_id": ID, "metrics": {"validation/mAP_50": 0.5}}


def runs(folder: Path) -> Path:
    return folder / ".bakeoff/runs"


def test_every_state_has_a_row_of_its_own(page: Page, folder: Path) -> None:
    for number, state in enumerate(State):
        made(runs(folder), f"f{number:015x}", state, run_id=f"{number:032x}")
    text = page.get("/models").text
    for state in State:
        assert f"pill-{state.value}" in text
    assert text.count('<tr id="run-') == len(State) == 11


def test_names_are_shown_as_text(page: Page, folder: Path) -> None:
    made(runs(folder), "a" * 16, State.FAILED, name="<script>alert(1)</script>", run_id=ID)
    for path in ("/models", f"/runs/{'a' * 16}"):
        assert "<script>alert" not in page.get(path).text
        assert "&lt;script&gt;alert(1)" in page.get(path).text


def test_a_run_that_trains_can_be_stopped_and_one_that_ended_cannot(page: Page, folder: Path) -> None:
    made(runs(folder), "a" * 16, State.RUNNING, run_id=ID)
    made(runs(folder), "b" * 16, State.SUCCEEDED, **(ENDED | {"run_id": "1" * 32}), checkpoint=True)
    assert 'data-what="stop"' in page.get(f"/runs/{'a' * 16}").text
    ended = page.get(f"/runs/{'b' * 16}").text
    assert 'data-what="stop"' not in ended and "Train more" in ended
    answer = page.send(f"/runs/{'b' * 16}/act", what="stop", key="123456")
    assert answer.code == 400
    assert missing_in(answer.tree["problem"], "11111111", "SUCCEEDED", "nothing to stop") == []


@pytest.mark.parametrize("name", ["..", "../..", "%2e%2e", "..%2f..%2fconf", "a/b", "%2fetc", "no-such"])
def test_no_name_of_a_run_leads_out_of_its_folder(page: Page, folder: Path, name: str) -> None:
    (folder / "conf/secret.jpg").write_text("secret", encoding="utf-8")
    for path in (f"/runs/{name}", f"/runs/{name}/report", f"/runs/{name}/sheets/secret.jpg"):
        answer = page.get(path)
        assert answer.code in (400, 404) and b"secret" not in answer.body.replace(b"secret.jpg", b"")


def test_a_run_that_is_a_link_out_of_the_workspace_is_refused(
    page: Page, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    made(outside, "c" * 16, State.SUCCEEDED)
    runs(folder).mkdir(parents=True)
    (runs(folder) / ("c" * 16)).symlink_to(outside / ("c" * 16))
    answer = page.get(f"/runs/{'c' * 16}")
    assert answer.code == 400 and "leads out of it" in answer.text


def test_sheets_of_pictures_are_shown_and_nothing_else_of_the_folder(page: Page, folder: Path) -> None:
    run = made(runs(folder), "a" * 16, State.RUNNING, run_id=ID)
    (run / "samples").mkdir()
    (run / "samples/00000500.jpg").write_bytes(b"\xff\xd8\xff")
    assert "/sheets/00000500.jpg" in page.get(f"/runs/{'a' * 16}").text
    answer = page.get(f"/runs/{'a' * 16}/sheets/00000500.jpg")
    assert (answer.code, answer.headers["content-type"]) == (200, "image/jpeg")
    assert page.get(f"/runs/{'a' * 16}/sheets/status.json").code == 404


def test_curves_are_drawn_from_the_journal_and_grow(folder: Path) -> None:
    journal = Journal(ID)
    Target("local", "bakeoff").write(journal.folder)
    journal.metrics(10, {"train/loss": 2.0})
    [loss] = draw_curves(ID, 200)
    assert loss.title == "Loss" and "train/loss 2.000 at step 10" in str(loss.drawing)
    journal.metrics(20, {"train/loss": 1.0, "validation/loss": 1.5, "validation/mAP_50": 0.25})
    loss, headline = draw_curves(ID, 200)
    assert "train/loss 1.000 at step 20, validation/loss 1.500 at step 20" in str(loss.drawing)
    assert (headline.title, "0.250" in str(headline.drawing)) == ("mAP_50", True)
    journal.close()


def test_of_a_journal_that_has_grown_the_end_alone_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def count(folder: Path, start: int = 0) -> Iterator[tuple[Any, int]]:
        for entry, end in entries(folder, start):
            read.append(entry.step)
            yield entry, end

    monkeypatch.setattr(curve_drawings, "entries", count)
    journal = Journal(ID)
    for step in (10, 20, 30):
        journal.metrics(step, {"train/loss": 2.0})
        draw_curves(ID, 200)
    assert read == [10, 20, 30]
    journal.close()
    path = journals() / ID / FILE
    path.rename(path.with_name("old"))
    anew = Journal(ID)
    anew.metrics(7, {"train/loss": 0.5})
    anew.close()
    assert "train/loss 0.500 at step 7" in str(draw_curves(ID, 200)[0].drawing)


def test_the_list_comes_live_and_only_what_changed_is_sent_again(page: Page, folder: Path) -> None:
    made(runs(folder), "a" * 16, State.RUNNING, run_id=ID)
    made(runs(folder), "b" * 16, State.RUNNING, run_id="1" * 32)
    connection = HTTPConnection("127.0.0.1", page.port, timeout=20)
    connection.request("GET", "/events?of=runs")
    answer = connection.getresponse()
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"

    def event() -> dict[str, str]:
        line = b""
        while not line.startswith(b"data: "):
            line = answer.readline()
        tree: dict[str, str] = json.loads(line[6:])
        return tree

    assert {f"run-{'a' * 16}", f"run-{'b' * 16}", "order"} <= event().keys()
    (runs(folder) / ("a" * 16) / "stop_requested").touch()
    assert [*event()] == [f"run-{'a' * 16}"]
    connection.close()


def test_the_head_of_the_events_alone_ends(page: Page, folder: Path) -> None:
    with socket.create_connection(("127.0.0.1", page.port), timeout=5) as connection:
        connection.sendall(f"HEAD /events?of=runs HTTP/1.1\r\nHost: {page.own}\r\nConnection: close\r\n\r\n".encode())
        head = b"".join(iter(lambda: connection.recv(4096), b""))
    assert head.startswith(b"HTTP/1.1 200") and b"text/event-stream" in head


def test_a_run_is_found_by_the_name_that_every_list_shows(page: Page, folder: Path) -> None:
    made(runs(folder), "a" * 16, State.SUCCEEDED, run_id=ID)
    assert page.get(f"/runs/{ID[:8]}").code == 200
    made(runs(folder), "b" * 16, State.SUCCEEDED, run_id=ID[:8] + "f" * 24)
    assert page.get(f"/runs/{ID[:8]}").code == 404  # two have this name
    assert page.get("/runs/" + "a" * 16).code == 200


def test_a_job_that_has_begun_is_one_row_although_it_is_still_listed_as_waiting(page: Page, folder: Path) -> None:
    job = "sweep-20260102-030405-0"
    enqueue(job, "ssd_tiny", 200, lasting=True)
    enqueue("sweep-20260102-030405-1", "ssd_tiny", 200, lasting=True)
    assert page.get("/models").text.count("<tr id=") == 2
    made(runs(folder), "a" * 16, State.RUNNING, experiment=job)
    text = page.get("/models").text
    assert text.count("<tr id=") == 2 and f'id="run-{"a" * 16}"' in text and f'id="run-{job}"' not in text


def test_a_run_whose_steps_are_done_evaluates_and_has_no_time_left(page: Page, folder: Path) -> None:
    made(runs(folder), "a" * 16, State.RUNNING, steps=60, steps_done=60, seconds_left=0.0)
    [row] = [make_row(run) for run in known_runs()]
    assert (row.left, row.doing) == ("", "evaluating")


def test_the_note_of_a_run_of_the_queue_is_shown(page: Page, folder: Path) -> None:
    file = folder / ".bakeoff/sweeps/sweep-20260102-030405/manifest.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"note": "from <the> film"}', encoding="utf-8")
    made(runs(folder), "a" * 16, State.SUCCEEDED, experiment="sweep-20260102-030405-0")
    for path in ("/models", f"/runs/{'a' * 16}"):
        assert "from &lt;the&gt; film" in page.get(path).text


def test_a_number_has_its_interval_and_its_count(page: Page, folder: Path) -> None:
    made(runs(folder), "a" * 16, State.SUCCEEDED, run_id=ID)
    journal = Journal(ID)
    Target("local", "bakeoff").write(journal.folder)
    journal.params({"derived.validation_examples": "8"})
    journal.metrics(60, {"validation/mAP_50": 0.849})
    text = page.get(f"/runs/{'a' * 16}").text
    assert "mAP_50 0.849" in text and "too few photos to be sure: 8" in text and "95 %" not in text
    interval = {"evaluation/interval.mAP_50.low": 0.41, "evaluation/interval.mAP_50.high": 0.98}
    journal.metrics(60, {"evaluation/mAP_50": 0.75, **interval})
    journal.close()
    text = page.get(f"/runs/{'a' * 16}").text
    assert "mAP_50 0.750" in text and "0.41 to 0.98" in text and "on 8 validation photos" in text


def test_what_is_pressed_twice_begins_once(folder: Path) -> None:
    command = [sys.executable, "-c", "import time; print('hello'); time.sleep(1)"]
    first = background_commands.begin("key-one", "A", [command])
    assert background_commands.begin("key-one", "A", [command]).id == first.id  # the same press, or Back and again
    assert background_commands.begin("key-two", "A", [command]).id == first.id  # another tab, while it runs
    end = time.monotonic() + 30
    while background_commands.load(first.id).state == "runs":
        assert time.monotonic() < end
        time.sleep(0.1)
    done = background_commands.load(first.id)
    assert (done.state, done.last_line) == ("done", "hello")
    assert background_commands.begin("key-one", "A", [command]).id == first.id
    assert len(background_commands.list_recent()) == 1


def test_a_command_that_fails_ends_an_errand_and_says_why(folder: Path) -> None:
    errand = background_commands.begin("key-one", "A", [["bakeoff", "stop", "no-such-run"], ["bakeoff", "status"]])
    end = time.monotonic() + 60
    while background_commands.load(errand.id).state == "runs":
        assert time.monotonic() < end
        time.sleep(0.1)
    failed = background_commands.load(errand.id)
    assert failed.state == "failed" and "not in a bakeoff workspace" in failed.last_line
    assert "$ bakeoff stop no-such-run" in failed.log and "bakeoff status" not in failed.log


@pytest.mark.parametrize(
    ("script", "state", "says"),
    [("kill -9 $$", "failed", "bash -c: was killed by signal 9"), ("echo 1 stopped; exit 130", "stopped", "1 stopped")],
)
def test_an_errand_that_is_killed_says_so_and_one_that_stops_has_not_failed(
    page: Page, folder: Path, script: str, state: str, says: str
) -> None:
    """The queue ends with 130 after its training was stopped."""
    errand = background_commands.begin("key-one", "Run the queue", [["bash", "-c", script]])
    end = time.monotonic() + 60
    while background_commands.load(errand.id).state == "runs":
        assert time.monotonic() < end
        time.sleep(0.1)
    ended = background_commands.load(errand.id)
    assert (ended.state, ended.last_line) == (state, says)
    for path in ("/activity", f"/activity/{errand.id}"):
        assert f'<span class="errand-{state}">{state}</span>' in page.get(path).text


@pytest.mark.parametrize("hours", [-10_000, -1, 1])
def test_an_errand_whose_process_was_killed_was_cut_short_and_one_whose_lock_is_held_runs(
    folder: Path, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the clock was when it began."""
    place = background_commands.folder_of("20260102-030405-abcdef")
    place.mkdir(parents=True)
    began = time.time() + 3600 * hours
    tree = {"id": place.name, "title": "A", "commands": [["bakeoff"]], "began": began, "state": "runs", "notes": []}
    (place / "errand.json").write_text(json.dumps(tree), encoding="utf-8")
    assert background_commands.load(place.name).state == "cut short"
    with FileLock(place / "lock"):
        assert background_commands.load(place.name).state == "runs"

    def ends_while_one_looks(lock: Path) -> bool:
        (place / "ended.json").write_text('{"code": 0}', encoding="utf-8")
        return False

    monkeypatch.setattr(background_commands, "is_held_file", ends_while_one_looks)
    assert background_commands.load(place.name).state == "done"


def test_what_was_not_exported_cannot_be_downloaded(page: Page, folder: Path) -> None:
    made(runs(folder), "b" * 16, State.SUCCEEDED, **ENDED)
    answer = page.get(f"/runs/{'b' * 16}/download")
    assert answer.code == 400 and "neither in models/export nor in DVC" in answer.text


def test_a_download_has_the_model_its_labels_and_a_readme(page: Page, folder: Path) -> None:
    made(runs(folder), "b" * 16, State.SUCCEEDED, **ENDED)
    write_export(folder, "b" * 16, ID, "<ball>\ncube & co\n")
    answer = page.get(f"/runs/{'b' * 16}/download")
    assert answer.code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="bakeoff-{ID[:8]}.zip"'
    archive = zipfile.ZipFile(io.BytesIO(answer.body))
    names = {name.partition("/")[2] for name in archive.namelist()}
    assert names == {"export.json", "model.tflite", "labels.txt", "saved_model/saved_model.pb", "README.txt"}
    readme = archive.read(f"{ID[:8]}/README.txt").decode()
    assert "mAP_50 0.500 on 7 validation examples" in readme and "0  <ball>\n1  cube & co\n" in readme
    for header in ("bytes=5-2", "bytes=9999999999-", "nothing", "bytes=0-0"):
        assert page.get(f"/runs/{'b' * 16}/download", Range=header).body[:2] == b"PK"
    assert page.ask("HEAD", f"/runs/{'b' * 16}/download").code == 200
    assert not [*(folder / ".bakeoff/web/downloads").iterdir()]  # whatever the browser asked for, no zip stays


def test_bakeoff_web_is_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "bakeoff", "web", "--help"], capture_output=True, text=True)
    assert "--host" in done.stdout and "token" in done.stdout


def test_what_has_no_experiment_cannot_be_applied_and_removal_names_its_command(page: Page, folder: Path) -> None:
    made(runs(folder), "b" * 16, State.SUCCEEDED, **ENDED)
    made(runs(folder), "c" * 16, State.STOPPED, checkpoint=True, **(ENDED | {"run_id": "2" * 32, "parent": "b" * 16}))
    answer = page.send(f"/runs/{'b' * 16}/act", what="take", key="123456")
    assert "no experiment holds its result" in answer.tree["problem"]
    text = page.get(f"/runs/{'b' * 16}/remove").text
    assert "22222222 continues it" in text and "bakeoff clean" not in text
    assert f"$ bakeoff clean {'2' * 32} --yes" in page.get(f"/runs/{'c' * 16}/remove").text


def test_a_finished_run_is_registered_by_a_button_which_runs_the_command(page: Page, folder: Path) -> None:
    made(runs(folder), "b" * 16, State.SUCCEEDED, **ENDED)
    made(runs(folder), "c" * 16, State.RUNNING)
    assert "Register in MLflow" in page.get(f"/runs/{'b' * 16}").text
    assert "Register in MLflow" not in page.get(f"/runs/{'c' * 16}").text
    assert page.send(f"/runs/{'b' * 16}/act", what="register", key="123456").code == 200
    [begun] = background_commands.list_recent()
    assert [*map(list, begun.commands)] == [["bakeoff", "register", ID]]
    end = time.monotonic() + 60
    while background_commands.load(begun.id).state == "runs":
        assert time.monotonic() < end
        time.sleep(0.1)
