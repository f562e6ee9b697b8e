"""`bakeoff certify` and `bakeoff verify`: who vouches for a run, and whether a copy is still what was certified."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bakeoff.app.cli.card import print_missing, require_new
from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation import git, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import building, hash_file
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.certificate.run_statement import RunStatement

DIFFERS = 1
PUBLIC_KEY = Path("certificate.pub")  # of a team, in its repository
TAG, KEY_TAG = "bakeoff.certificate", "bakeoff.certificate_key"
SHOWN = 12  # characters of a digest or a commit


@dataclass(frozen=True)
class CertifyCommand(Command):
    which: str = argument(f"{RUN}; default: the result in this workspace", "RUN", default=".")
    key: Path = option("your private key, in PEM (docs/certificate.md says how to make one)", "FILE", required=True)
    out: Path = option("a new folder for the exported files, their card and the certificate", "FOLDER", required=True)

    def run(self) -> None:
        from bakeoff.experiments.certificate.certified_run import find_commit, state_run
        from bakeoff.experiments.certificate.folder_signature import CARD_SECTION, load_signer, name_key, sign_folder
        from bakeoff.experiments.certificate.folder_signature import FILE as SIGNATURE
        from bakeoff.experiments.certificate.run_statement import FILE
        from bakeoff.experiments.model_card.card_folder import fill_folder
        from bakeoff.experiments.model_card.card_texts import load_texts
        from bakeoff.experiments.model_card.run_facts import read_facts
        from bakeoff.tracking.find_run import find_run

        require_new(self.out)
        signer, texts = load_signer(self.key), load_texts()
        commit = find_commit(self.which)
        facts = read_facts(commit)
        tracked = find_run(facts.result.run_id) if facts.result.run_id else None
        statement = state_run(commit, facts, tracked)
        with building(self.out) as partial:
            missing = fill_folder(partial, facts, texts, CARD_SECTION)
            (partial / FILE).write_text(statement.text, encoding="utf-8", newline="\n")
            sign_folder(partial, signer)
        key = name_key(self.out)
        print_line(f"certify: {self.out}/: {FILE} and {SIGNATURE}, by the key {key[:SHOWN]}…")
        _print_run(statement)
        print_line("  states " + ", ".join(f"{part} ({len(files):,})" for part, files in statement.files.items()))
        if tracked and tracked.tag({TAG: hash_file(self.out / FILE), KEY_TAG: key}):
            print_line(f"  the run has its SHA-256 as the tag {TAG}")
        print_missing(missing)


@dataclass(frozen=True)
class VerifyCommand(Command):
    needs_workspace: ClassVar[bool] = False
    file: Path = argument("the certificate (certificate.json), or the folder that has it", "FILE")
    key: Path = option("the signer's public key, in PEM (certificate.pub)", "FILE", default=PUBLIC_KEY)
    other: Path | None = option(
        "the workspace to compare, by the code of this one; default: this one", "FOLDER", flags="--in"
    )
    folder_only: bool = flag("compare the files beside the certificate alone")

    def run(self) -> None:
        from bakeoff.experiments.certificate.compare_copy import compare_clone
        from bakeoff.experiments.certificate.folder_signature import explain_mismatch
        from bakeoff.experiments.certificate.run_statement import FILE, read_statement

        if not self.file.exists():
            raise WorkspaceError(f"{self.file}: no such file or folder; name the {FILE} that `bakeoff certify` wrote")
        folder, key = self.file if self.file.is_dir() else self.file.parent, self.key
        if self.other is not None:
            if not self.other.is_dir():
                raise WorkspaceError(f"--in: {self.other}: no such folder")
            folder, key = folder.absolute(), key.absolute()
            os.chdir(self.other)
        is_clone = not self.folder_only and (self.other is not None or workspace.find_above() is not None)
        if is_clone:
            workspace.enter()
        if text := explain_mismatch(folder, key):
            print_line(f"differs: {text}")
            sys.exit(DIFFERS)
        statement = read_statement(folder / FILE)
        print_line(f"verify: {folder}: all files are as {key} signed them")
        _print_run(statement)
        if not is_clone:
            print_line("  no workspace was compared" if self.folder_only else "  no workspace here to compare")
            return
        differing: list[str] = []
        for part in compare_clone(statement):
            absent = f", {part.absent:,} are not here: `dvc pull` brings them" if part.absent else ""
            print_line(f"  {part.name}: {format_count(part.here, 'file')}, {len(part.differing):,} differ{absent}")
            differing += part.differing
        if differing:
            _end(differing, statement)


def _end(differing: list[str], statement: "RunStatement") -> None:
    more = f", and {len(differing) - 1:,} more" if len(differing) > 1 else ""
    print_line(f"differs: {differing[0]}{more}")
    if (here := git.commit()) != statement.commit:
        print_line(
            f"  this clone is at {(here or 'no commit')[:SHOWN]}; `git checkout {statement.commit}` and `dvc pull`"
        )
    sys.exit(DIFFERS)


def _print_run(statement: "RunStatement") -> None:
    run, reproduction = statement.facts["run"], statement.facts["reproduction"]
    print_line(f"  {run['name']}, run {str(run['fingerprint'])[:8]}, commit {statement.commit[:SHOWN]}")
    at = f" ({reproduction['at']})" if reproduction["at"] else ""
    print_line(f"  bakeoff reproduce: {reproduction['verdict'] or 'no verdict is known'}{at}")
