"""`bakeoff track`: what MLflow lacks of the runs that were made here, and sending it."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.terminal import print_columns
from bakeoff.foundation.progress import print_line
from bakeoff.tracking.results.run_id import SHOWN_OF_ID

if TYPE_CHECKING:
    from bakeoff.tracking.sync.sync_status import SyncStatus

NOT_ALL_SENT = 1


def add_track(commands: Any) -> None:
    track = commands.add_parser("track")
    verbs = track.add_commands()
    status = verbs.add_parser("status", help="show what has not been sent, and why")
    status.add_argument("--all", action="store_true", help="also show the runs that MLflow has in full")
    status.set_defaults(run=show_status)
    sync = verbs.add_parser("sync", help="send it now")
    sync.add_argument("--uri", help="send to another store, such as http://server:5000")
    sync.add_argument(
        "--anew",
        action="store_true",
        help="also send what was sent before, if the store was restored from a copy and lacks it",
    )
    sync.set_defaults(run=send_all)


def show_status(arguments: argparse.Namespace) -> None:
    from bakeoff.tracking.restored_results import reconcile
    from bakeoff.tracking.sync.sync_status import standings

    reconcile()
    known = standings()
    shown = [standing for standing in known if arguments.all or not standing.is_sent]
    if shown:
        print_columns([("run", "name", "store", "not sent", ""), *map(_row, shown)])
    print_line(_count(known))


def send_all(arguments: argparse.Namespace) -> None:
    from bakeoff.tracking.restored_results import reconcile
    from bakeoff.tracking.sync.sync_status import standings, sync

    reconcile()
    arrived = sync(arguments.uri, print_line, anew=arguments.anew)
    print_line(_count(standings(arguments.uri)))
    if not arrived:
        sys.exit(NOT_ALL_SENT)


def _row(standing: "SyncStatus") -> tuple[str, ...]:
    unsent = f"{standing.unsent:,} lines" if standing.unsent else "-"
    return (standing.run_id[:SHOWN_OF_ID], standing.name, standing.target.shown, unsent, standing.place.trouble or "")


def _count(known: list["SyncStatus"]) -> str:
    whole = sum(standing.is_sent for standing in known)
    return f"{len(known)} {'run' if len(known) == 1 else 'runs'}, {whole} sent whole"
