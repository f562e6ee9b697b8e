"""`bakeoff upgrade`: a workspace for the version of bakeoff that is installed now."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, flag
from bakeoff.app.cli.terminal import confirm
from bakeoff.app.cli.terminal_table import print_folded, print_wrapped
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.foundation.upgrade_files import FilePlan


@dataclass(frozen=True)
class UpgradeCommand(Command):
    yes: bool = flag("write without asking")

    def run(self) -> None:
        from bakeoff.experiments.planning.version_effect import list_effects
        from bakeoff.foundation.made_by import MadeBy
        from bakeoff.foundation.new_workspace import PIPELINE
        from bakeoff.foundation.upgrade_files import plan_files, write_files

        _require_installed()
        made_by = MadeBy.read()
        plan = plan_files(Path(), made_by)
        new = [change.content for change in plan.changes if change.name == PIPELINE.as_posix()]
        pipeline = new[0] if new else PIPELINE.read_text(encoding="utf-8")
        print_folded([*_list_versions(made_by.version if made_by else "unknown"), *_list_files(plan)])
        for place in plan.refused:
            print_wrapped(f"refused: {place}")
        if not plan.refused:
            print_folded(list_effects(pipeline))
        if not plan.changes and not plan.refused:
            print_line("nothing to write: this version made the workspace, or would write the same")
            return
        files = format_count(len(plan.changes), "file")
        if plan.refused or self.yes or confirm(f"write {files}? (yes/no) "):
            write_files(Path(), plan)
            print_line(f"{files} written; next: `git add --all && git commit -m Upgrade`, then `bakeoff repro`")
        else:
            print_line(f"nothing was written; --yes writes {files}")


def _require_installed() -> None:
    """Refuse a clone of the repository, and a workspace in which a run is under way."""
    from bakeoff.experiments.runs.list_runs import known_runs
    from bakeoff.foundation.shipped import code_stage

    if not code_stage():
        raise WorkspaceError("upgrade: this is a clone of bakeoff; `git merge` brings a new version into it")
    if live := [run.label for run in known_runs() if run.state.is_live]:
        raise WorkspaceError(f"upgrade: {live[0]} is under way with the code of before; `bakeoff stop` ends it")


def _list_versions(made_with: str) -> Iterator[tuple[str, str]]:
    from bakeoff.foundation.installed import NAME, installed_address
    from bakeoff.foundation.versions import installed_version

    address = installed_address()
    yield "installed", installed_version(NAME) + (f", from {address}" if address else "")
    yield "workspace made with", made_with


def _list_files(plan: "FilePlan") -> Iterator[tuple[str, str]]:
    for change in plan.changes:
        yield change.name, change.how
    for remark in plan.remarks:
        name, _, text = remark.partition(": ")
        yield name, text
