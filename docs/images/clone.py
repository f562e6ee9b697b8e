"""A clone of this repository in which pictures are made: edits, commands, and `bakeoff ui` in it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, env=environment(), check=True, stdout=sys.stderr)


def edit(params: Path, lines: dict[str, str]) -> None:
    text = params.read_text(encoding="utf-8")
    for key, line in lines.items():
        text = re.sub(rf"^{key}:.*$", line, text, flags=re.MULTILINE)
    params.write_text(text, encoding="utf-8")


@contextmanager
def ui(clone: Path) -> Iterator[str]:
    """Give the address of MLflow's pages, which is said once they answer."""
    command = [sys.executable, "-m", "bakeoff", "ui"]
    server = subprocess.Popen(command, cwd=clone, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DVC", "MLFLOW"))}
    return kept | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])}
