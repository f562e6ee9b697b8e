"""An empty folder to stand in, and jobs that run code of a test instead of stages."""

import sys
import textwrap
from collections.abc import Callable, Mapping

import pytest

from bakeoff.experiments.sweep import job as jobs
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.foundation import dvc

END = """
import json
def end(code):
    open({outcome!r}, "w").write(json.dumps({{"code": code, "ended": 0}}))
    sys.exit(code)
"""


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[int, str]], None]:
    """Give jobs code to run, by their numbers. A job that does not call `end` ends as if it were killed."""

    def given(codes: Mapping[int, str]) -> None:
        def command(files: JobFiles) -> list[str]:
            end = END.format(outcome=str(files.folder / f"{files.number}.outcome.json"))
            return [sys.executable, "-c", f"import os, sys, time\n{end}\n{textwrap.dedent(codes[files.number])}"]

        monkeypatch.setattr(jobs, "make_command", command)
        monkeypatch.setattr(dvc, "answer", lambda *arguments: "/nowhere")  # asked where its cache is

    return given
