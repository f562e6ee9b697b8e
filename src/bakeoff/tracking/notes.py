"""What somebody wants to remember of a run. It is the run's description in MLflow, and decides nothing.

`note` in params.yaml reaches run.yaml; `--note` reaches the process that trains by a variable, and comes after it.
"""

import os
from collections.abc import Iterator

from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.workspace import EVALUATION, journals
from bakeoff.tracking.journal.entries import TagsEntry
from bakeoff.tracking.journal.journal import Journal, entries_of
from bakeoff.tracking.journal.journal_folder import LONGEST_TAG, NOTE, NOTE_VARIABLE
from bakeoff.tracking.report_copy import keep_page, report_page
from bakeoff.tracking.results.results import is_trained_here, result_here


def notes_of(rendered: str | None) -> Iterator[str]:
    """Yield the note that was rendered and the one of the command line. The last one counts."""
    yield from filter(None, (rendered, os.environ.get(NOTE_VARIABLE)))


def require_note(note: str) -> str:
    if not note.strip() or len(note) > LONGEST_TAG:
        raise ConfigError(f"--note: must be a text of at most {LONGEST_TAG:,} letters, got {len(note):,}")
    return note


def report_notes_here() -> None:
    """Write the note of the run whose result is in the workspace, unless another variant was rendered since."""
    here = result_here()
    if not here.run_id or not (journals() / here.run_id).is_dir() or not is_trained_here(here):
        return
    rendered = here.variant.get("note")
    before = {entry.values.get(NOTE) for entry in entries_of(journals() / here.run_id, TagsEntry)}
    for note in notes_of(rendered if isinstance(rendered, str) else None):
        if note not in before:
            journal = Journal(here.run_id)
            journal.tags({NOTE: note})
            if here.metrics:
                keep_page(EVALUATION, here.state)
                for name, page in report_page(EVALUATION, here.state).items():
                    journal.text(page, f"evaluation/{name}")
            journal.close()
