"""`bakeoff card`: a folder to give away, with the exported files, a model card and a datasheet."""

from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command, argument, option
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import building
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class CardCommand(Command):
    revision: str | None = argument(
        "a revision of git or a DVC experiment; default: what is in this workspace", "REV", default=None
    )
    out: Path = option("a new folder for the card, the datasheet and the exported files", "FOLDER", required=True)

    def run(self) -> None:
        from bakeoff.experiments.model_card.card_folder import CARD, fill_folder
        from bakeoff.experiments.model_card.card_texts import load_texts
        from bakeoff.experiments.model_card.run_facts import read_facts
        from bakeoff.experiments.model_card.write_card import DATASHEET

        require_new(self.out)
        texts, facts = load_texts(), read_facts(self.revision)
        with building(self.out) as partial:
            missing = fill_folder(partial, facts, texts)
        print_line(f"card: {self.out}/: {CARD}, {DATASHEET} and {format_count(len(facts.files), 'exported file')}")
        print_missing(missing)


def require_new(folder: Path) -> None:
    if folder.exists():
        raise WorkspaceError(f"--out: {folder}: there already; choose another folder, or remove it")


def print_missing(answers: int) -> None:
    from bakeoff.experiments.model_card.card_texts import FILE

    if answers:
        print_line(f"  {format_count(answers, 'answer')} only people know; write them into {FILE.as_posix()}")
