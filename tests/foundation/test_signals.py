"""A signal that takes the machine away reaches what a command has started, which then ends with 75."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import suppress

import psutil
import pytest

from bakeoff.foundation.errors import STOPPED, TakenAway, errors_in_one_line
from bakeoff.foundation.signals import Relay, no_interrupt_lost
from support.messages import missing_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

PARENT = """
    import subprocess, sys
    from bakeoff.foundation.signals import Relay
    relay = Relay()
    with relay.listening():
        {start}
        print("ready", flush=True)
        code = {run}
    sys.exit(relay.exit_code(code))
"""
CHILD = (
    "import time, signal, sys; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), sys.exit(75))); "
    "print('begun', flush=True); time.sleep(60)"
)


def begin(start: str, run: str) -> subprocess.Popen[str]:
    """Return a process that listens, and has started what it starts."""
    code = textwrap.dedent(PARENT).format(start=start, run=run)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout
    assert process.stdout.readline(), process.communicate()
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
@pytest.mark.parametrize("shell", [False, True])
def test_it_waits_for_what_it_has_started_and_ends_with_75(number: int, shell: bool) -> None:
    """A shell between them ends at once, and what it has started is waited for all the same."""
    words = [sys.executable, "-c", CHILD, "bakeoff.stages.train"]
    command = ["sh", "-c", '"$@"; exit $?', "sh", *words] if shell else words
    process = begin(f"child = subprocess.Popen({command!r}, stdout=subprocess.PIPE); child.stdout.readline()",
                    "child.wait()")  # fmt: skip
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 75
    assert len(below) == 1 + shell and not any(map(psutil.Process.is_running, below))


def test_what_begins_after_the_signal_is_asked_as_well() -> None:
    again = [[sys.executable, "-c", "import sys, time; time.sleep(60)"]] * 3
    process = begin(
        "first = subprocess.Popen(['sleep', '60'])", f"[first.wait(), *map(subprocess.call, {again!r})][-1]"
    )
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 75


def test_what_leads_a_session_of_its_own_is_ended_last() -> None:
    process = begin(f"""child = subprocess.Popen([sys.executable, '-c', {CHILD!r}], stdout=subprocess.PIPE)
    child.stdout.readline(); subprocess.Popen(['sleep', '60'], start_new_session=True)""", "child.wait()")  # fmt: skip
    apart = [one for one in psutil.Process(process.pid).children() if os.getsid(one.pid) != process.pid]
    assert len(apart) == 1
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 75 and not apart[0].is_running()


def test_a_command_that_runs_nothing_ends_as_by_ctrl_c() -> None:
    process = begin("import time", "time.sleep(60)")
    process.terminate()
    _, printed = process.communicate(timeout=30)
    assert process.returncode != 0 and "KeyboardInterrupt" in printed


def test_without_a_signal_nothing_changes() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with (relay := Relay()).listening():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
    assert [relay.exit_code(code) for code in (0, 1, 255)] == [0, 1, 255]


def test_a_launcher_says_what_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        raise TakenAway("SIGUSR2", "`bakeoff queue start` resumes it")
    assert ended.value.code == 75
    assert capsys.readouterr().err == "stopped by SIGUSR2; `bakeoff queue start` resumes it\n"


def test_a_launcher_leaves_nothing_behind() -> None:
    listens = "from bakeoff.app.cli.terminal import *; from bakeoff.foundation.errors import errors_in_one_line; "
    listens += "end_as_by_ctrl_c()"
    child = "child = subprocess.Popen(['sleep', '60'], start_new_session=True)"
    code = f"import subprocess, time; {listens}; {child}\n"
    code += "with errors_in_one_line(): print('ready', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline()
        [below] = psutil.Process(process.pid).children()
        process.terminate()
        _, printed = process.communicate(timeout=30)
    [line] = printed.splitlines()
    assert process.returncode == 75 and missing_in(line, "SIGTERM", "run the same command") == []
    assert not below.is_running()


def test_a_dropped_interrupt_is_raised_at_the_end_of_the_block_and_handlers_are_as_before() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.raises(KeyboardInterrupt), no_interrupt_lost():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with no_interrupt_lost():
        assert signal.getsignal(signal.SIGINT) != before[signal.SIGINT]
    assert {number: signal.getsignal(number) for number in before} == before


def test_what_fails_because_of_a_dropped_interrupt_ends_as_by_the_signal() -> None:
    with pytest.raises(KeyboardInterrupt), no_interrupt_lost():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("half of it is loaded")


def test_other_threads_load_without_handlers() -> None:
    def load() -> None:
        with no_interrupt_lost():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers: list[object] = []
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


DROPS = """import signal, time, weakref
import bakeoff.stages
from bakeoff.foundation.errors import Canceled, TRY_AGAIN_LATER, errors_in_one_line
def end(number, frame):
    raise Canceled(signal.Signals(number).name, 70 + number)
{handler}
class Watched:
    pass
watched = Watched()
reference = weakref.ref(watched, lambda _: signal.raise_signal(signal.{name}))
with errors_in_one_line():
    del watched
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("name", "handler", "code", "line"),
    [
        ("SIGINT", "", 130, STOPPED),
        ("SIGTERM", "signal.signal(signal.SIGTERM, end)", 70 + signal.SIGTERM, "SIGTERM"),
    ],
)
def test_a_stage_gets_a_dropped_signal_again(name: str, handler: str, code: int, line: str) -> None:
    command = [sys.executable, "-c", DROPS.format(name=name, handler=handler)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, ended.stderr.splitlines()) == (code, [line])


def test_other_dropped_errors_are_printed_as_ever() -> None:
    code = "import bakeoff.stages, weakref\nclass A: pass\na = A()\nb = weakref.ref(a, lambda _: 1 / 0)\ndel a"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 0 and "ZeroDivisionError" in ended.stderr
