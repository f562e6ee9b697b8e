"""`bakeoff ui`: MLflow's pages on this workspace's runs, opened where they are compared."""

import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command, flag, option
from bakeoff.app.cli.terminal import end_as_by_ctrl_c
from bakeoff.foundation.errors import WorkspaceError, errors_in_one_line
from bakeoff.foundation.progress import print_line
from bakeoff.tracking.store.ui_server import ENVIRONMENT, FIRST_ADDRESS, HOST, serve

FIRST_PORT, PORTS = 5000, 20
SERVER = (sys.executable, "-m", "bakeoff.app.cli.ui")
POLL_SECONDS, ANSWER_SECONDS = 0.2, 10


@dataclass(frozen=True)
class UiCommand(Command):
    port: int | None = option(f"port (default: the first free one from {FIRST_PORT})")
    open: bool = flag("also open it in a browser, once the server answers")

    def run(self) -> None:
        """Run MLflow's server until Ctrl-C."""
        from bakeoff.tracking.restored_results import reconcile
        from bakeoff.tracking.store.target import store_file
        from bakeoff.tracking.sync.sync_status import send_beside, sync

        reconcile()
        if store_file().is_file():
            send_beside()
        else:
            sync(None, print_line)  # before the server, or both would make the store
        if not store_file().is_file():
            raise WorkspaceError(f"{store_file()}: no run has been tracked here yet; run `make repro`")
        port = _free_port(self.port)
        end_as_by_ctrl_c()  # and the server with it
        server = subprocess.Popen([*SERVER, str(port)], env=ENVIRONMENT | os.environ)
        try:
            if address := _wait_for(server, port):
                print_line(f"MLflow's UI: http://{HOST}:{port}  (Ctrl-C ends it)")
                print_line(f"  it begins with the table of the runs: http://{HOST}:{port}/{address}")
                if self.open:
                    import webbrowser

                    webbrowser.open(f"http://{HOST}:{port}/{address}")
            code = server.wait()
        except KeyboardInterrupt:
            server.terminate()
            server.wait()
            return
        if code:
            raise WorkspaceError(f"MLflow's server ended with code {code}; its own words stand above")


def _wait_for(server: "subprocess.Popen[bytes]", port: int) -> str | None:
    """Return the table's address when the server answers; None if it ended before."""
    from http.client import HTTPConnection

    print_line("MLflow's server starts, which takes some seconds")
    while server.poll() is None:
        page = HTTPConnection(HOST, port, timeout=ANSWER_SECONDS)
        try:
            page.request("HEAD", "/")
            if address := page.getresponse().getheader(FIRST_ADDRESS):
                return address
        except OSError:  # nobody listens yet
            pass
        finally:
            page.close()
        time.sleep(POLL_SECONDS)
    return None


def _free_port(wanted: int | None) -> int:
    for port in [wanted] if wanted else range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except (OSError, OverflowError):
                continue
            return port
    tried = f"port {wanted} is" if wanted else f"ports {FIRST_PORT} to {FIRST_PORT + PORTS - 1} are"
    raise WorkspaceError(f"{tried} taken or not allowed; choose another with --port")


def main() -> None:
    """Be the server, at the port that is given."""
    from bakeoff.experiments.compare.mlflow_ui import prepare_first_page

    with errors_in_one_line():
        serve(int(sys.argv[1]), prepare_first_page())


if __name__ == "__main__":
    main()
