"""What a user of the server of docs/server.md reads when it refuses, is full, or a part of it is down.

    python tests/proofs/faults/team_refusals.py

makes the server in a temporary folder and breaks one part after the other. `bakeoff track sync` and `dvc push` meet
each fault, and meet the whole server in the end. Printed are their messages.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.postgresql import why_not
from proofs.faults.team import at_work
from proofs.faults.team_server import TeamServer
from proofs.faults.tracking import Clone, ended
from support.workspace_copy import Workspace

FULL = "-volume.minFreeSpace=100"  # per cent


def remote_of(folder: Path, server: TeamServer) -> Workspace:
    """Return a repository whose remote is the server's."""
    folder.mkdir()
    workspace = Workspace(folder)
    workspace.run("git", "init", "--quiet")
    workspace.run("dvc", "init", "--quiet")
    for words in [*server.commands("dvc remote add"), *server.commands("--local team")]:
        if words[0] == "dvc":
            workspace.run(*words)
    return workspace


@contextmanager
def wrong_password(server: TeamServer) -> Iterator[None]:
    with at_work(server, server.folder / "stranger", password="a wrong password"):
        yield


@contextmanager
def database_down(server: TeamServer) -> Iterator[None]:
    server.database.stop()
    yield
    server.database.start()


@contextmanager
def s3_down(server: TeamServer) -> Iterator[None]:
    server.stop("bakeoff-s3")
    yield
    server.start_s3()


@contextmanager
def keys_that_only_read(server: TeamServer) -> Iterator[None]:
    with _s3_with(server, "etc/bakeoff/s3.json", r'"Write:\w+", ', ""):
        yield


@contextmanager
def full(server: TeamServer) -> Iterator[None]:
    with _s3_with(server, "etc/systemd/system/bakeoff-s3.service", r"-volume.minFreeSpace=\d+", FULL):
        yield


@contextmanager
def _s3_with(server: TeamServer, name: str, old: str, new: str) -> Iterator[None]:
    file = server.folder / name
    text = file.read_text(encoding="utf-8")
    server.stop("bakeoff-s3")
    file.write_text(re.sub(old, new, text), encoding="utf-8")
    server.start_s3()
    yield
    server.stop("bakeoff-s3")
    file.write_text(text, encoding="utf-8")
    server.start_s3()


FAULTS: tuple[Callable, ...] = (wrong_password, keys_that_only_read, full, s3_down, database_down)


def messages(folder: Path, faults: tuple[Callable, ...] = FAULTS) -> dict[str, tuple[str, str]]:
    """Return what `bakeoff track sync` and `dvc push` say of each fault, and without one."""
    server = TeamServer(folder / "server")
    outputs = {}
    try:
        server.install()
        with at_work(server, folder / "home"):
            clone, remote = Clone(folder / "clone", server.uri), remote_of(folder / "remote", server)
            ended(clone.play("run", 20, 0.001))
            clone.sync()
            for fault in faults:
                (clone.folder / "checkpoint").unlink()  # or the next run has no steps
                ended(clone.play(fault.__name__, 20, 0.001, MLFLOW_TRACKING_PASSWORD="not yet"))
                for sender in clone.senders():  # which would wait for a minute before it ends
                    os.kill(sender, signal.SIGKILL)
                (remote.folder / "records").write_text(fault.__name__, encoding="utf-8")
                remote.run("dvc", "add", "--quiet", "records")
                with fault(server):
                    outputs[fault.__name__] = _met(clone, remote)
                    print(f"{fault.__name__}\n  {'  '.join(outputs[fault.__name__])}", flush=True)
            outputs["whole"] = _met(clone, remote)
    finally:
        server.close()
    return outputs


def _met(clone: Clone, remote: Workspace) -> tuple[str, str]:
    def last(done: "subprocess.CompletedProcess[str]") -> str:
        return f"{done.returncode}: {(done.stdout + done.stderr).strip()}\n"

    return last(clone.sync()), last(remote.run("dvc", "push", ok=False))


def main() -> None:
    if reason := why_not():
        sys.exit(reason)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        print(*messages(Path(folder))["whole"])


if __name__ == "__main__":
    main()
