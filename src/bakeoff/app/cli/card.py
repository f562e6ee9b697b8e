"""`bakeoff card`: a folder to give away, with the exported files, a model card and a datasheet."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command, argument, option
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import building
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import print_line

CARD = "README.md"  # as Hugging Face and GitHub show it


@dataclass(frozen=True)
class CardCommand(Command):
    revision: str | None = argument(
        "a revision of git or a DVC experiment; default: what is in this workspace", "REV", default=None
    )
    out: Path = option("a new folder for the card, the datasheet and the exported files", "FOLDER", required=True)

    def run(self) -> None:
        from bakeoff.experiments.model_card.card_texts import FILE, load_texts
        from bakeoff.experiments.model_card.run_facts import read_facts
        from bakeoff.experiments.model_card.write_card import DATASHEET, README_OF_FILES, format_card
        from bakeoff.experiments.model_card.write_datasheet import format_datasheet

        if self.out.exists():
            raise WorkspaceError(f"--out: {self.out}: there already; choose another folder, or remove it")
        texts, facts = load_texts(), read_facts(self.revision)
        card, sheet = format_card(facts, texts), format_datasheet(facts, texts)
        with building(self.out) as partial:
            for name, path in facts.files.items():
                place = partial / (README_OF_FILES if name == CARD else name)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
            (partial / CARD).write_text(card, encoding="utf-8", newline="\n")
            (partial / DATASHEET).write_text(sheet, encoding="utf-8", newline="\n")
        print_line(f"card: {self.out}/: {CARD}, {DATASHEET} and {format_count(len(facts.files), 'exported file')}")
        if missing := (card + sheet).count("Nobody has written this"):
            print_line(f"  {format_count(missing, 'answer')} only people know; write them into {FILE.as_posix()}")
