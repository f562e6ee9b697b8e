"""The functions of `import bakeoff`: they return what the commands print, and say a mistake in one line."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

import numpy as np
import pytest
from PIL import Image

import bakeoff as api
from bakeoff.app.api import training
from bakeoff.app.api.run_handle import RunHandle, RunHistory
from bakeoff.experiments.compare.load_runs import Gathered
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.foundation.errors import INTERRUPTED, Canceled, DataError, WorkspaceError
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from support.commands import Bakeoff
from support.imports import SRC
from support.messages import missing_in
from support.run_journals import scores, write_run

HISTORY = [{"step": 10, "train/loss": 2.0}, {"step": 20, "train/loss": 1.0}, {"step": 20, "validation/mAP_50": 0.25}]


@pytest.fixture
def two(here: Path) -> None:
    write_run("aaaa1111", scores(0.80), {"bakeoff.seconds": "90"})
    write_run("bbbb2222", scores(0.85), lr__peak="0.01")


class Grey:
    task = "classification"
    labels = ("dark", "bright")

    def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        return {"probabilities": np.array([0.25, 0.75]) if pixels.mean() > 100 else np.array([0.6, 0.4])}


class OneBox(Grey):
    task = "detection"

    def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        boxes = np.array([[0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.5, 0.5]])
        return {"boxes": boxes, "classes": np.array([2, 1]), "scores": np.array([0.9, 0.2])}


def handle(model: Grey, root: Path) -> RunHandle:
    run = RunHandle(Contender("aaaa1111", "tiny", "SUCCEEDED", {}, {}), Gathered((), Target("local", "p")), root)
    run.__dict__["_opened"] = model  # where the handle keeps what it has opened
    return run


@pytest.mark.usefixtures("two")
def test_a_comparison_is_what_the_command_prints_as_json(bakeoff: Bakeoff) -> None:
    assert api.compare().tree == json.loads(bakeoff("compare", "--json").out)
    named = api.compare("bbbb2222", "aaaa1111", metric="mAP")
    assert named.tree == json.loads(bakeoff("compare", "bbbb2222", "aaaa1111", "--metric", "mAP", "--json").out)
    assert named.to_csv() == bakeoff("compare", "bbbb2222", "aaaa1111", "--metric", "mAP", "--csv").out
    assert api.runs(filter="lr.peak=0.01").tree == json.loads(
        bakeoff("compare", "--filter", "lr.peak=0.01", "--json").out
    )
    assert api.compare(*api.runs()).tree == api.compare().tree


@pytest.mark.usefixtures("two")
def test_a_run_has_its_numbers_by_the_names_of_the_commands(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "notes").mkdir()
    monkeypatch.chdir(here / "notes")  # a folder inside of the workspace
    run = api.run("aaaa")
    assert Path.cwd() == here / "notes"
    assert (run.id, run.state, run.params["lr.peak"]) == ("aaaa1111", "SUCCEEDED", "0.003")
    assert run.metrics["mAP_50"] == 0.8 and run.metrics["AP_50.cat"] == 0.8 and run.metrics["train/loss"] == 0.5
    assert run.interval("mAP_50") == pytest.approx((0.77, 0.83)) and run.interval("mAP") is None
    assert [one.id for one in api.runs()] == ["bbbb2222", "aaaa1111"]


@pytest.mark.usefixtures("two")
def test_a_table_is_numbers_in_pandas_text_in_a_terminal_and_markup_in_a_notebook(bakeoff: Bakeoff) -> None:
    runs = api.runs()
    table = runs.to_pandas()
    assert list(table["mAP_50"]) == [0.85, 0.8] and list(table["mAP_50_low"]) == pytest.approx([0.82, 0.77])
    assert repr(runs).splitlines()[0].split()[:3] == ["run", "mAP_50", "mAP"]
    page = runs._repr_html_()
    assert page.count("<tr>") == 3 and missing_in(page, "bbbb2222", "best", "0.850", "aaaa1111") == []


def test_a_history_is_rows_series_and_curves() -> None:
    history = RunHistory(HISTORY, "aaaa1111")
    assert history.series("train/loss") == [(10, 2.0), (20, 1.0)] and history[-1]["validation/mAP_50"] == 0.25
    assert missing_in(repr(history), "3 rows", "aaaa1111", "train/loss", "1") == []
    assert history._repr_html_().count("<svg") == 2
    assert len(history.to_pandas()) == 3


def test_a_history_and_a_config_come_from_what_the_run_handed_over(here: Path) -> None:
    journal = write_run("aaaa1111", scores(0.8))
    again = Journal(journal.folder.name)
    again.text("".join(f"{json.dumps(row)}\n" for row in HISTORY), "train/history.jsonl")
    again.text("seed: 3\nlr: {kind: cosine}\n", "config/run.yaml")
    again.close()
    run = api.run("aaaa1111")
    assert list(run.history) == HISTORY and run.config == {"seed": 3, "lr": {"kind": "cosine"}}


def test_a_run_that_never_trained_has_no_history(here: Path) -> None:
    write_run("aaaa1111")
    with pytest.raises(WorkspaceError) as raised:
        _ = api.run("aaaa1111").history
    assert missing_in(str(raised.value), "aaaa1111", "history.jsonl") == []


def test_boxes_are_those_that_the_command_writes_and_an_array_is_an_image(here: Path) -> None:
    Image.new("RGB", (40, 20), "white").save(here / "a.png")
    run = handle(OneBox(), here)
    [found] = run.predict("a.png")
    assert (found.names, found.scores, found.boxes) == (["bright"], [0.9], [[20.0, 5.0, 20.0, 10.0]])
    assert found.rows[0]["file_name"] == str(here / "a.png")
    assert found.picture.size == (40, 20) and "<img" in found._repr_html_()
    several = run.predict([here / "a.png", np.zeros((20, 40, 3), np.uint8)], min_score=0)
    assert [one.names for one in several] == [["bright", "dark"]] * 2
    assert list(several.to_pandas()["category"]) == ["bright", "dark"] * 2
    assert missing_in(repr(several), "a.png", "0.90", "bright", "image 2") == []


def test_a_classifier_gives_its_one_answer_whatever_its_score(here: Path) -> None:
    images = [Image.new("RGB", (8, 8), colour) for colour in ("white", "black")]
    assert [one.names for one in handle(Grey(), here).predict(images, min_score=0.99)] == [["bright"], ["dark"]]


def test_an_array_that_is_no_image_is_refused(here: Path) -> None:
    with pytest.raises(DataError) as raised:
        handle(OneBox(), here).predict(np.zeros((20, 40), np.float32))
    assert missing_in(str(raised.value), "images[0]", "uint8", "(height, width, 3)", "float32") == []


@pytest.mark.parametrize("call", [api.runs, api.plan, api.train, api.compare, lambda: api.better("a", "b"), api.run])
def test_outside_of_a_workspace_each_says_so_in_one_line(call: object, place: Path) -> None:
    assert callable(call)
    with pytest.raises(WorkspaceError) as raised:
        call()
    assert missing_in(str(raised.value), str(place), "not in a bakeoff workspace", "dvc.yaml") == []
    assert raised.value._render_traceback_() == [f"WorkspaceError: {raised.value}"]
    assert _count_frames(raised.value.__traceback__) <= 3 and raised.value.__cause__ is None


def test_a_package_that_is_missing_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run("aaaa1111", scores(0.8))
    monkeypatch.setitem(sys.modules, "bakeoff.experiments.compare.load_runs", None)

    def lacks(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'mlflow'", name="mlflow")

    monkeypatch.setattr("bakeoff.app.api.functions.list_runs", lacks)
    with pytest.raises(WorkspaceError) as raised:
        api.runs()
    assert missing_in(str(raised.value), "mlflow", "not installed") == []


def test_importing_it_loads_none_of_its_functions() -> None:
    code = "import bakeoff, sys; print(*sorted(name for name in sys.modules if name.startswith('bakeoff')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*bakeoff.__all__)"], env=os.environ | {"PYTHONPATH": str(SRC.parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["bakeoff", "better compare load plan run runs sweep train"]
    assert {"runs", "train"} < {*dir(api)}
    with pytest.raises(AttributeError, match="no_such"):
        _ = api.no_such


def run_script(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let `run_command` run a script of Python in the place of bakeoff."""
    monkeypatch.setattr(training, "make_command", lambda _: [sys.executable, "-uc", code])
    training.run_command("repro")


def test_what_a_command_prints_appears_and_a_failure_repeats_its_last_line(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as Jupyter does; Rich then draws a bar anew, line by line
    run_script(monkeypatch, "import os, sys; print(os.getenv('FORCE_COLOR')); print('two', file=sys.stderr)")
    assert sorted(capsys.readouterr().out.split()) == ["None", "two"]
    with pytest.raises(WorkspaceError) as raised:
        run_script(monkeypatch, "print('lr.peak: must be above 0'); raise SystemExit(2)")
    assert missing_in(str(raised.value), "repro", "2", "lr.peak: must be above 0") == []


@pytest.mark.skipif(os.name != "posix", reason="in Windows the console passes Ctrl-C on")
def test_a_stop_reaches_the_command_once_and_its_last_words_appear(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import signal, time\n"
        "def save(*_): print('saved'); raise SystemExit(130)\n"
        "signal.signal(signal.SIGINT, save); print('step 1'); time.sleep(30)"
    )
    main = threading.main_thread().ident or 0
    threading.Timer(0.5, signal.pthread_kill, [main, signal.SIGINT]).start()
    with pytest.raises(Canceled) as raised:
        run_script(monkeypatch, code)
    assert raised.value.exit_code == INTERRUPTED
    assert capsys.readouterr().out.splitlines() == ["step 1", "saved"]


def _count_frames(trace: TracebackType | None) -> int:
    return 0 if trace is None else 1 + _count_frames(trace.tb_next)
