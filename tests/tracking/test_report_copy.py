"""The copy of a page names run, commit and date; the page itself names none of them."""

from pathlib import Path

import pytest

from bakeoff.foundation.html.template import MARK
from bakeoff.learning.checkpoints.trained_state import TrainedLineage, TrainedState
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.journal.journal_folder import NOTE
from bakeoff.tracking.report_copy import describe_run, keep_page, report_page
from bakeoff.tracking.results.measurements import describe_source, keep_measured

STATE = TrainedState(weights_sha256="77ab", lineage=TrainedLineage(fingerprint="1356d7d31e99a84a"))
RUN = {"run_id": "a76d729e991a4683bda923eac790f245", "commit": "88beabe1604d25a0", "ended": "2026-11-22 23:43 UTC"}
PAGE = f"<dl>{MARK}</dl><p>{MARK}</p>"


@pytest.fixture(autouse=True)
def here(workspace: Path) -> Path:
    (workspace / "judged").mkdir()
    (workspace / "judged/report.html").write_text(PAGE, encoding="utf-8")
    return workspace


def test_the_copy_is_named_by_the_fingerprint_and_the_page_stays_as_it_is(here: Path) -> None:
    keep_measured("1356d7d31e99a84a", **RUN, uncommitted_changes=True)
    assert keep_page(here / "judged", STATE) == here / ".bakeoff/results/1356d7d31e99a84a.html"
    copy = (here / ".bakeoff/results/1356d7d31e99a84a.html").read_text(encoding="utf-8")
    facts = {"run": "a76d729e", "commit": "88beabe with uncommitted changes", "trained": "2026-11-22 23:43 UTC"}
    rows = "\n".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in facts.items())
    assert copy == f"<dl>{rows}</dl><p>{MARK}</p>"
    assert (here / "judged/report.html").read_text(encoding="utf-8") == PAGE
    assert (here / ".bakeoff/results/1356d7d31e99a84a.json").is_file()


def test_the_last_reported_note_is_on_the_copy(here: Path) -> None:
    keep_measured("1356d7d31e99a84a", **RUN)
    journal = Journal(RUN["run_id"])
    journal.run("a run")
    journal.tags({NOTE: "a first try"})
    journal.tags({NOTE: "boxes < 8 pixels"})
    journal.close()
    assert describe_run(STATE)["note"] == "boxes < 8 pixels"
    copy = keep_page(here / "judged", STATE)
    assert copy and "<div><dt>note</dt><dd>boxes &lt; 8 pixels</dd></div>" in copy.read_text(encoding="utf-8")


def test_a_run_that_is_not_tracked_has_the_note_that_it_was_rendered_with() -> None:
    keep_measured("1356d7d31e99a84a", **RUN)
    for folder in ("models/config", "models/train"):
        Path(folder).mkdir(parents=True)
    Path("models/train/state.json").write_text(STATE.as_text())
    Path("dvc.lock").write_text("stages: {train: {params: {models/config/run.yaml: {lr: {kind: cosine}}}, outs: []}}\n")
    for lr, notes in (("cosine", ["good"]), ("exponential", [])):  # then another variant was rendered
        Path("models/config/run.yaml").write_text(f"lr: {{kind: {lr}}}\nnote: good\n")
        assert [text for name, text in describe_run(STATE).items() if name == "note"] == notes


def test_of_a_run_that_was_trained_elsewhere_its_id_is_known_alone() -> None:
    assert list(describe_run(STATE)) == ["run"]
    assert describe_run(TrainedState()) == {}


def test_without_a_page_or_a_fingerprint_there_is_no_copy(here: Path) -> None:
    assert keep_page(here / "judged", TrainedState(weights_sha256="77ab")) is None
    assert keep_page(here, STATE) is None and report_page(here, STATE) == {}
    assert not (here / ".bakeoff/results").exists()


def test_a_clean_commit_is_shown_without_remarks() -> None:
    tags = {"bakeoff.git_commit": "88beabe1604d25a0", "bakeoff.git_dirty": "false"}
    keep_measured("1356d7d31e99a84a", **describe_source(tags))
    assert describe_run(STATE)["commit"] == "88beabe" and describe_run(STATE)["trained"].endswith(" UTC")
    keep_measured("1356d7d31e99a84a", **describe_source(tags | {"bakeoff.git_commit": "none"}))
    assert "commit" not in describe_run(STATE)
