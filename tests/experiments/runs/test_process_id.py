"""Whether a process is still the one that wrote its number down."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import psutil  # noqa: F401  # before a test says that the system is another
import pytest

from bakeoff.experiments.runs import process_id
from bakeoff.experiments.runs.process_id import Process


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield child
    child.kill()
    child.wait()


def seen(child: subprocess.Popen[bytes]) -> Process:
    started = process_id._start_time(child.pid)
    assert started
    return replace(Process.current(), pid=child.pid, started=started)


def test_this_process_is_alive() -> None:
    assert Process.current().is_alive() is True


def test_a_killed_process_is_dead_at_once_also_before_its_parent_has_noticed(
    sleeper: subprocess.Popen[bytes],
) -> None:
    other = seen(sleeper)
    assert other.is_alive() is True
    sleeper.kill()
    for _ in range(1000):  # the kernel takes it down; nobody has waited for it yet
        if not other.is_alive():
            break
    assert other.is_alive() is False and sleeper.returncode is None
    sleeper.wait()
    assert other.is_alive() is False


def test_a_number_that_was_given_again_is_another_process(sleeper: subprocess.Popen[bytes]) -> None:
    assert replace(seen(sleeper), started="0").is_alive() is False


def test_no_process_survives_a_start_of_the_machine() -> None:
    assert replace(Process.current(), boot="another").is_alive() is False


def test_of_another_machine_or_container_nothing_is_known() -> None:
    assert replace(Process.current(), host="elsewhere").is_alive() is None
    assert replace(Process.current(), namespace="pid:[1]").is_alive() is None


def test_where_there_is_no_proc_psutil_tells_the_same(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_id.sys, "platform", "darwin")
    other = seen(sleeper)
    assert other.is_alive() is True and replace(other, started="1.00").is_alive() is False
    sleeper.kill()
    sleeper.wait()
    assert other.is_alive() is False
