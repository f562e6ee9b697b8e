"""`bakeoff ui`: MLflow's pages on this workspace's runs, opened where they are compared."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command, flag, option
from bakeoff.app.cli.terminal import end_as_by_ctrl_c
from bakeoff.foundation.errors import WorkspaceError, errors_in_one_line
from bakeoff.foundation.machine import bind_port
from bakeoff.foundation.progress import print_line
from bakeoff.tracking.store.ui_server import ENVIRONMENT, HOST, read_first_address, serve

FIRST_PORT, PORTS = 5000, 20
SERVER = (sys.executable, "-m", "bakeoff.app.cli.ui")
POLL_SECONDS, ANSWER_SECONDS, LAST_SECONDS = 0.2, 10, 3


@dataclass(frozen=True)
class UiCommand(Command):
    port: int | None = option(f"port (default: the first free one from {FIRST_PORT})")
    open: bool = flag("also open it in a browser, once the server answers")

    def run(self) -> None:
        """Run MLflow's server until Ctrl-C."""
        from bakeoff.foundation.child_process import wait_or_kill
        from bakeoff.tracking.restored_results import reconcile
        from bakeoff.tracking.store.target import store_file
        from bakeoff.tracking.sync.sync_status import send_beside, sync

        reconcile()
        if store_file().is_file():
            send_beside()
        else:
            sync(None, print_line)  # before the server, or both would make the store
        if not store_file().is_file():
            raise WorkspaceError(f"{store_file()}: no run has been tracked here yet; run `dvc repro`")
        with bind_port(HOST, self.port, range(FIRST_PORT, FIRST_PORT + PORTS)) as place:
            port = place.getsockname()[1]
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
            wait_or_kill(server, LAST_SECONDS)  # a question to a large store may take minutes
            return
        if code:
            raise WorkspaceError(f"MLflow's server ended with code {code}; its own words stand above")


def _wait_for(server: "subprocess.Popen[bytes]", port: int) -> str | None:
    """Return the table's address when the server answers; None if it ended before."""
    print_line("MLflow's server starts, which takes some seconds")
    while server.poll() is None:
        if address := read_first_address(port, seconds=ANSWER_SECONDS):
            return address
        time.sleep(POLL_SECONDS)
    return None


def main() -> None:
    """Be the server, at the port that is given."""
    from bakeoff.experiments.compare.mlflow_ui import prepare_first_page

    with errors_in_one_line():
        serve(int(sys.argv[1]), prepare_first_page())


if __name__ == "__main__":
    main()
