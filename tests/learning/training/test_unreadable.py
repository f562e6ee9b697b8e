"""A checkpoint that cannot be read for now is as good as before: the system's own errors, injected into a process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.checkpoints.run_state import PhaseState, Position, RunState
from support.messages import missing_in
from support.workspace_copy import environment

SCRIPT = """
import sys
from pathlib import Path
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.learning.checkpoints.run_folder import RunFolder
with errors_in_one_line(), RunFolder(Path(sys.argv[1]), ["head"]) as work:
    print(work.newest().position.step)
"""


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    with RunFolder(tmp_path / "run", ["head"]) as work:
        for step in (100, 200):
            work.save(
                Position(0, step), RunState(phases=(PhaseState(),)), lambda step=step: {"w": np.full(9, step)}, now=True
            )
    return tmp_path / "run"


def newest(folder: Path, *tracer: str) -> subprocess.CompletedProcess[str]:
    command = [*tracer, sys.executable, "-c", SCRIPT, str(folder)]
    return subprocess.run(command, env=environment(), capture_output=True, text=True)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ("openat", "EMFILE", "Too many open files"),
        ("openat", "EIO", "Input/output error"),
        ("openat", "ESTALE", "Stale file handle"),
        ("openat", "EACCES", "Permission denied"),
        ("openat", "ENOMEM", "Cannot allocate memory"),
        ("read", "EIO", "Input/output error"),
    ],
)
def test_an_error_of_the_system_costs_no_checkpoint(call: str, error: str, words: str, trained: Path) -> None:
    file = trained / "1-head/00000200"
    tracer = ["strace", "-f", "-o", "/dev/null", "-P", str(file), "-e", f"inject={call}:error={error}"]
    try:
        if subprocess.run([*tracer[:4], "true"], capture_output=True).returncode:
            pytest.skip("needs the right to trace a process")
    except FileNotFoundError:
        pytest.skip("needs strace")
    before = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    done = newest(trained, *tracer)
    assert (done.returncode, done.stdout) == (2, "")
    assert missing_in(done.stderr, f"{file.as_posix()}: cannot be read", f"({words})", "same command", "delete") == []
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == before
    assert newest(trained).stdout == "200\n"


def test_without_any_checkpoint_that_is_whole_nobody_says_that_training_goes_on(trained: Path) -> None:
    for file in (trained / "1-head").iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    done = newest(trained)
    first, second = done.stderr.splitlines()
    assert done.stdout == "0\n" and missing_in(first, "damaged", "early", "resumes") == []
    assert missing_in(second, "damaged", "early", "starts over") == []
