"""A clone of this repository for a picture: its variant changed, commands run in it, its MLflow pages open."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browser import SECONDS


@contextmanager
def ui(clone: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "bakeoff.cli", "ui"]
    server = subprocess.Popen(command, cwd=clone, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        _wait_for(int(address.rpartition(":")[2]))
        yield address
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def _wait_for(port: int) -> None:
    """The address is said before the server listens."""
    for _ in range(SECONDS):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(1)
    raise SystemExit(f"nobody listens at port {port}")


def edit(params: Path, lines: dict[str, str]) -> None:
    text = params.read_text(encoding="utf-8")
    for key, line in lines.items():
        text = re.sub(rf"^{key}:.*$", line, text, flags=re.MULTILINE)
    params.write_text(text, encoding="utf-8")


def run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, env=environment(), check=True, stdout=sys.stderr)


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DVC", "MLFLOW"))}
    return kept | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])}
