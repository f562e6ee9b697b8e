"""`bakeoff track` and `bakeoff ui`: what MLflow lacks of the runs that were made here, sending it, and MLflow's UI."""

import argparse
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from bakeoff.cli.terminal import end_as_by_ctrl_c, say_columns
from bakeoff.errors import WorkspaceError
from bakeoff.progress import say
from bakeoff.tracking.target import store_file, ui_arguments

if TYPE_CHECKING:
    from bakeoff.tracking.sync import Standing

NOT_ALL_SENT = 1
FIRST_PORT, PORTS = 5000, 20
UI_ENVIRONMENT = {  # of MLflow's server: what it need not say, and what it need not start
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "PYTHONWARNINGS": "ignore",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}


def add_track(commands: Any) -> None:
    track = commands.add_parser("track", help="what MLflow lacks of the runs that were made here, and sending it")
    verbs = track.add_subparsers(title="commands", metavar="COMMAND", required=True)
    status = verbs.add_parser("status", help="what has not been sent, and why")
    status.add_argument("--all", action="store_true", help="also the runs that MLflow has whole")
    status.set_defaults(run=show_status)
    sync = verbs.add_parser("sync", help="send it now")
    sync.add_argument("--uri", help="to another store than the runs were meant for, such as http://server:5000")
    sync.set_defaults(run=send_all)


def show_status(arguments: argparse.Namespace) -> None:
    from bakeoff.tracking.reconcile import reconcile
    from bakeoff.tracking.sync import standings

    reconcile()
    found = standings()
    shown = [standing for standing in found if arguments.all or not standing.is_sent]
    if shown:
        say_columns([("run", "name", "store", "not sent", ""), *map(_row, shown)])
    say(_count(found))


def send_all(arguments: argparse.Namespace) -> None:
    from bakeoff.tracking.reconcile import reconcile
    from bakeoff.tracking.sync import standings, sync

    reconcile()
    arrived = sync(arguments.uri, say)
    say(_count(standings(arguments.uri)))
    if not arrived:
        sys.exit(NOT_ALL_SENT)


def _row(standing: "Standing") -> tuple[str, ...]:
    unsent = f"{standing.unsent:,} lines" if standing.unsent else "-"
    return (standing.run_id[:12], standing.name, standing.target.shown, unsent, standing.place.trouble or "")


def _count(found: list["Standing"]) -> str:
    whole = sum(standing.is_sent for standing in found)
    return f"{len(found)} {'run' if len(found) == 1 else 'runs'}, {whole} sent whole"


def add_ui(commands: Any) -> None:
    ui = commands.add_parser("ui", help="open MLflow's UI on this workspace's runs, for this machine only (127.0.0.1)")
    ui.add_argument("--port", type=int, help=f"default: the first free one from {FIRST_PORT}")
    ui.set_defaults(run=open_ui)


def open_ui(arguments: argparse.Namespace) -> None:
    """Runs MLflow's server until Ctrl-C."""
    from bakeoff.tracking.reconcile import reconcile
    from bakeoff.tracking.sync import send_beside, sync

    reconcile()
    if store_file().is_file():
        send_beside()
    else:
        sync(None, say)  # before the server, or both would make the store
    if not store_file().is_file():
        raise WorkspaceError(f"{store_file()}: no run has been tracked here yet; run `make repro`")
    port = _free_port(arguments.port)
    say(f"MLflow's UI: http://127.0.0.1:{port}  (Ctrl-C ends it)")
    end_as_by_ctrl_c()  # and the server with it
    server = subprocess.Popen([sys.executable, "-m", "mlflow", *ui_arguments(port)], env=UI_ENVIRONMENT | os.environ)
    try:
        code = server.wait()
    except KeyboardInterrupt:
        server.terminate()
        server.wait()
        return
    if code:
        raise WorkspaceError(f"MLflow's server ended with code {code}; its own words stand above")


def _free_port(wanted: int | None) -> int:
    for port in [wanted] if wanted else range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except (OSError, OverflowError):
                continue
            return port
    tried = f"port {wanted} is" if wanted else f"ports {FIRST_PORT} to {FIRST_PORT + PORTS - 1} are"
    raise WorkspaceError(f"{tried} taken or not allowed; choose another with --port")
