"""Commands in another workspace, and their end."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from bakeoff.reproduce.child import run

GRANDCHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


def test_its_words_come_line_by_line_without_the_chatter_of_dvc(tmp_path: Path) -> None:
    script = "import os; print('Updating lock file x'); print(os.getcwd()); raise SystemExit(3)"
    shown: list[str] = []
    code, said = run([sys.executable, "-c", script], tmp_path, shown.append)
    assert (code, shown, said) == (3, [str(tmp_path)], ["Updating lock file x", str(tmp_path)])


def test_it_knows_nothing_of_an_experiment_around_it_and_dvc_leaves_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "outer")
    script = "import os; print([os.environ.get(k) for k in ('DVC_EXP_NAME', 'DVC_SITE_CACHE_DIR')])"
    _, said = run([sys.executable, "-c", script], tmp_path, lambda line: None)
    assert said == [str([None, str(tmp_path / ".dvc/tmp/site")])]


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")
def test_ctrl_c_ends_it_and_what_it_started(tmp_path: Path) -> None:
    pids: list[int] = []

    def interrupted(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-c", GRANDCHILD], tmp_path, interrupted)
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
