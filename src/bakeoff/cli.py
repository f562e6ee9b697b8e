"""The `bakeoff` command."""

import argparse
import socket
import subprocess
import sys

from bakeoff import workspace
from bakeoff.errors import WorkspaceError, said_plainly
from bakeoff.progress import say

FIRST_PORT, PORTS = 5000, 20


def main() -> None:
    parser = argparse.ArgumentParser(prog="bakeoff", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    ui = commands.add_parser("ui", help="open MLflow's UI on this workspace's runs, for this machine only (127.0.0.1)")
    ui.add_argument("--port", type=int, help=f"default: the first free one from {FIRST_PORT}")
    ui.set_defaults(command=open_ui)
    arguments = parser.parse_args()
    with said_plainly():
        workspace.enter()
        arguments.command(arguments)


def open_ui(arguments: argparse.Namespace) -> None:
    """Runs MLflow's server until Ctrl-C."""
    from bakeoff.tracking.store import local_store_exists, ui_arguments

    if not local_store_exists():
        raise WorkspaceError(
            f"{workspace.main_workspace() / 'mlflow.db'}: no run has been tracked here yet; run `make repro`"
        )
    port = _free_port(arguments.port)
    say(f"MLflow's UI: http://127.0.0.1:{port}  (Ctrl-C ends it)")
    server = subprocess.Popen([sys.executable, "-m", "mlflow", *ui_arguments(port)])
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


if __name__ == "__main__":
    main()
