"""An evaluation's page with what an output of DVC must not hold: the run, its commit, its date, its note.

`models/evaluation/report.html` repeats to the byte. Its copy is `.bakeoff/results/<fingerprint>.html`, and MLflow has
it among the run's artifacts.
"""

from pathlib import Path

from bakeoff.foundation.files import read_text, write_whole
from bakeoff.foundation.html.template import add_facts
from bakeoff.foundation.workspace import journals, results
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.journal.entries import TagsEntry
from bakeoff.tracking.journal.journal import entries_of
from bakeoff.tracking.journal.journal_folder import NOTE
from bakeoff.tracking.results.measurements import read_measured, run_id_of
from bakeoff.tracking.results.results import is_trained_here, result_here
from bakeoff.tracking.results.run_id import SHOWN_OF_ID

FILE = "report.html"
SHOWN_OF_COMMIT = 7
NO_COMMIT = "none"  # as `source_tags` have it, of a folder that git does not know


def report_page(folder: Path, state: TrainedState) -> dict[str, str]:
    """Return the page of an evaluation's folder by its name, with the run's facts; nothing if there is no page."""
    text = read_text(folder / FILE)
    return {} if text is None else {FILE: add_facts(text, describe_run(state))}


def keep_page(folder: Path, state: TrainedState) -> Path | None:
    """Write the page for people without MLflow, and return its path. Results of early versions have no fingerprint; for
    them it returns None.
    """
    fingerprint, page = state.lineage.fingerprint, report_page(folder, state)
    if not fingerprint or not page:
        return None
    place = results() / f"{fingerprint}.html"
    write_whole(place, page[FILE])
    return place


def describe_run(state: TrainedState) -> dict[str, str]:
    """Return the known facts of a run. Of a run that was trained elsewhere these are its id, and a note that was added
    here.
    """
    measured, run_id = read_measured(state.lineage.fingerprint), run_id_of(state)
    facts = {"run": run_id[:SHOWN_OF_ID]} if run_id else {}
    if (commit := measured.get("commit", NO_COMMIT)) != NO_COMMIT:
        changes = " with uncommitted changes" if measured.get("uncommitted_changes") else ""
        facts["commit"] = f"{commit[:SHOWN_OF_COMMIT]}{changes}"
    facts |= {"trained": str(measured["ended"])} if "ended" in measured else {}
    return facts | ({"note": note} if run_id and (note := _note_of(run_id)) else {})


def _note_of(run_id: str) -> str:
    """Return the last note in the run's journal; of a run that is not tracked, the note that was rendered with it."""
    notes = [entry.values[NOTE] for entry in entries_of(journals() / run_id, TagsEntry) if NOTE in entry.values]
    if notes:
        return str(notes[-1])
    here = result_here()
    return str(here.variant.get("note") or "") if here.run_id == run_id and is_trained_here(here) else ""
