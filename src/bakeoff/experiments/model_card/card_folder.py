"""Facts of a run -> a folder that can be given away: what was exported, the model card and the datasheet."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from bakeoff.experiments.model_card.card_texts import CardTexts
from bakeoff.experiments.model_card.run_facts import RunFacts
from bakeoff.experiments.model_card.write_card import DATASHEET, README_OF_FILES, format_card
from bakeoff.experiments.model_card.write_datasheet import format_datasheet

CARD = "README.md"  # as Hugging Face and GitHub show it


def fill_folder(folder: Path, facts: RunFacts, texts: CardTexts, certificate: Sequence[str] = ()) -> int:
    """Return how many answers only people know, and have not written."""
    for name, path in facts.files.items():
        place = folder / (README_OF_FILES if name == CARD else name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    card, sheet = format_card(facts, texts, certificate), format_datasheet(facts, texts)
    (folder / CARD).write_text(card, encoding="utf-8", newline="\n")
    (folder / DATASHEET).write_text(sheet, encoding="utf-8", newline="\n")
    return (card + sheet).count("Nobody has written this")
