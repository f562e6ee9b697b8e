"""A module in a process of its own: what it prints, how it fails, and that it never outlives who asked."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bakeoff.foundation.child_process import run_module
from bakeoff.foundation.errors import ConfigError, TryAgainLater, WorkspaceError
from support.messages import missing_in

Write = Callable[[str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write the module `there`, which processes of this one find."""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return lambda program: (tmp_path / "there.py").write_text(program, encoding="utf-8") and None


def test_it_is_given_its_arguments_and_what_is_fed_and_its_answer_returns(write: Write) -> None:
    write("import sys; print('notice', file=sys.stderr); print(sys.argv[1:], len(sys.stdin.buffer.read()))")
    assert run_module("a thing", "there", "a", "b", feed=lambda given: given.write(bytes(10**6)) and None) == (
        "['a', 'b'] 1000000\n"
    )


@pytest.mark.parametrize(
    ("program", "kind", "parts"),
    [
        ("import sys; sys.exit('key: value is wrong')", ConfigError, ("key: value is wrong",)),
        ("import sys; print('no room', file=sys.stderr); sys.exit(75)", TryAgainLater, ("no room",)),
        ("import sys; sys.exit(3)", WorkspaceError, ("a thing", "code 3")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", WorkspaceError, ("a thing", "SIGKILL", "memory")),
        ("import os; os.abort()", WorkspaceError, ("a thing", "SIGABRT")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", KeyboardInterrupt, ()),
        ("import sys; sys.exit(130)", KeyboardInterrupt, ()),
    ],
)
def test_how_it_ends_is_the_error_also_while_it_is_fed(
    write: Write, program: str, kind: type[BaseException], parts: tuple[str, ...]
) -> None:
    write(program)
    with pytest.raises(kind) as raised:
        run_module("a thing", "there", feed=lambda given: given.write(bytes(10**6)) and None)
    assert missing_in(str(raised.value), *parts) == [] and "\n" not in str(raised.value)


def test_what_goes_wrong_as_it_is_fed_ends_it(write: Write) -> None:
    write("import sys, time; sys.stdin.buffer.read(); time.sleep(600)")
    others = set(psutil.Process().children())
    children: set[psutil.Process] = set()

    def feed(given: object) -> None:
        children.update(set(psutil.Process().children()) - others)
        raise KeyboardInterrupt

    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_module("a thing", "there", feed=feed)
    assert time.monotonic() - before < 60
    assert children and not any(child.is_running() for child in children)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_it_ends_with_the_process_that_asked_even_if_that_is_killed(write: Write, tmp_path: Path) -> None:
    write(
        "import os, time; from pathlib import Path\n"
        "from bakeoff.foundation.child_process import die_with_parent; die_with_parent()\n"
        f"Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid())); time.sleep(600)"
    )
    ask = "from bakeoff.foundation.child_process import run_module; run_module('a thing', 'there')"
    asking = subprocess.Popen([sys.executable, "-c", ask])
    file, deadline = tmp_path / "pid", time.monotonic() + 60
    while not (file.is_file() and file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child = psutil.Process(int(file.read_text()))
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    psutil.wait_procs([child], timeout=60)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
