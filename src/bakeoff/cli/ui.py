"""`bakeoff ui`: MLflow's UI on this workspace's store."""

import argparse
import os
import socket
import subprocess
import sys
from typing import Any

from bakeoff.cli.signals import end_as_by_ctrl_c
from bakeoff.errors import WorkspaceError
from bakeoff.progress import say

FIRST_PORT, PORTS = 5000, 20
UI_ENVIRONMENT = {  # of MLflow's server: what it need not say, and what it need not start
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "PYTHONWARNINGS": "ignore",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}


def add_to(commands: Any) -> None:
    ui = commands.add_parser("ui", help="open MLflow's UI on this workspace's runs, for this machine only (127.0.0.1)")
    ui.add_argument("--port", type=int, help=f"default: the first free one from {FIRST_PORT}")
    ui.set_defaults(run=open_ui)


def open_ui(arguments: argparse.Namespace) -> None:
    """Runs MLflow's server until Ctrl-C."""
    from bakeoff.tracking.reconcile import reconcile
    from bakeoff.tracking.sync import send_beside, sync
    from bakeoff.tracking.target import store_file, ui_arguments

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
