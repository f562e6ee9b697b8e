"""A note is the run's description in MLflow, whoever gives it and when."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from bakeoff.app import cli
from bakeoff.config.compose.whole_run import parse_draft
from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation import dvc
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.workspace import journals
from bakeoff.learning.run_file.parse import Problems
from bakeoff.tracking import tracker
from bakeoff.tracking.journal.entries import RunEntry, TagsEntry
from bakeoff.tracking.journal.journal import Journal, entries_of
from bakeoff.tracking.journal.journal_folder import NOTE, NOTE_VARIABLE
from bakeoff.tracking.notes import report_notes_here, require_note
from bakeoff.tracking.store.target import Target
from support.messages import missing_in

LOCK = "stages: {train: {params: {models/config/run.yaml: {lr: {kind: cosine}}}, outs: []}}\n"


@pytest.fixture(autouse=True)
def _without_a_note(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NOTE_VARIABLE, "")


def notes(run_id: str) -> list[str]:
    return [entry.values[NOTE] for entry in entries_of(journals() / run_id, TagsEntry) if NOTE in entry.values]


def rendered(note: str | None, lr: str = "cosine") -> None:
    """What render_config leaves, beside the result of the run 7f, which was trained with a cosine."""
    for folder in ("models/config", "models/train"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    tree = {"lr": {"kind": lr}, "track": {"kind": "mlflow"}} | ({"note": note} if note else {})
    Path("models/config/run.yaml").write_text(yaml.safe_dump(tree))
    Path("models/train/state.json").write_text(json.dumps({"run_id": "7f"}))
    Path("dvc.lock").write_text(LOCK)


def trained() -> None:
    journal = Journal("7f")
    Target("local", "ours").write(journal.folder)
    journal.run("a run")
    journal.close()


def test_a_run_is_reported_with_its_notes_and_its_chosen_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "Watch", lambda *given: SimpleNamespace(end=lambda wait_s: None))
    monkeypatch.setenv(NOTE_VARIABLE, "with new images")
    with tracker.start(Mlflow(name="friday"), "ssd · cosine", {}, note="the first try", run_id="7f"):
        pass
    [run] = entries_of(journals() / "7f", RunEntry)
    assert run.name == "friday" and notes("7f") == ["the first try", "with new images"]  # the last counts


def test_a_note_that_is_edited_after_the_training_is_reported_once() -> None:
    trained()
    for note in (None, "good enough", "good enough", "no: too slow"):
        rendered(note)
        report_notes_here()
    assert notes("7f") == ["good enough", "no: too slow"]


def test_a_note_of_another_variant_is_not_added_to_this_run() -> None:
    trained()
    rendered("a new idea", lr="exponential")
    report_notes_here()
    assert notes("7f") == []


def test_repro_with_a_note_tells_it_also_of_a_run_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    trained()
    rendered(None)
    (Path("dvc.yaml")).touch()
    Path("conf").mkdir()
    asked: list[list[str]] = []

    def ends(argv: list[str]) -> None:
        asked.append(argv)
        sys.exit(0)

    monkeypatch.setattr(dvc, "run", ends)
    for arguments in (["--note", "for Anna", "train"], ["train", "--note=for Bo"], ["--force"]):
        monkeypatch.setattr(sys, "argv", ["bakeoff", "repro", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
    assert asked == [["dvc", "repro", "train"], ["dvc", "repro", "train"], ["dvc", "repro", "--force"]]
    assert notes("7f") == ["for Anna", "for Bo"]


@pytest.mark.parametrize("note", ["", "  ", "x" * 8001])
def test_a_note_that_mlflow_would_not_take_is_refused(note: str) -> None:
    with pytest.raises(ConfigError, match=r"^--note: .*\b8,000 letters\b.* [\d,]+$"):
        require_note(note)


@pytest.mark.parametrize("note", [5, " ", ["a"], "x" * 8001])
def test_a_note_in_params_yaml_is_a_text(note: object) -> None:
    problems = Problems(lambda key: "params.yaml:3")
    parse_draft({"seed": 0, "note": note}, problems)
    assert missing_in(problems.lines[0], "params.yaml:3", "note", "8,000 letters") == []
