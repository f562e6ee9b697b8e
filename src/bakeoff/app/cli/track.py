"""`bakeoff track`: what MLflow lacks of the runs that were made here, and sending it."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, flag, option
from bakeoff.app.cli.terminal import print_columns
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import print_line
from bakeoff.tracking.results.run_id import SHOWN_OF_ID

if TYPE_CHECKING:
    from bakeoff.tracking.sync.sync_status import SyncStatus

NOT_ALL_SENT = 1


@dataclass(frozen=True)
class TrackStatusCommand(Command):
    all: bool = flag("also show the runs that MLflow has in full")

    def run(self) -> None:
        from bakeoff.tracking.restored_results import reconcile
        from bakeoff.tracking.sync.sync_status import standings

        reconcile()
        known = standings()
        shown = [standing for standing in known if self.all or not standing.is_sent]
        if shown:
            print_columns([("run", "name", "store", "not sent", ""), *map(_row, shown)])
        print_line(_count(known))


@dataclass(frozen=True)
class SyncCommand(Command):
    uri: str | None = option("send to another store, such as http://server:5000")
    anew: bool = flag("also send what was sent before, if the store was restored from a copy and lacks it")

    def run(self) -> None:
        from bakeoff.tracking.restored_results import reconcile
        from bakeoff.tracking.sync.sync_status import standings, sync

        reconcile()
        arrived = sync(self.uri, print_line, anew=self.anew)
        print_line(_count(standings(self.uri)))
        if not arrived:
            sys.exit(NOT_ALL_SENT)


def _row(standing: "SyncStatus") -> tuple[str, ...]:
    unsent = f"{standing.unsent:,} lines" if standing.unsent else "-"
    return (standing.run_id[:SHOWN_OF_ID], standing.name, standing.target.shown, unsent, standing.place.trouble or "")


def _count(known: list["SyncStatus"]) -> str:
    whole = sum(standing.is_sent for standing in known)
    return f"{format_count(len(known), 'run')}, {whole} sent whole"
