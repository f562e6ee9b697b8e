"""Results are brought home by one process, which may fail, be killed, or find nothing."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.experiments.cluster import fetch_process as module
from bakeoff.experiments.cluster.fetch_process import Bringing, Errand
from bakeoff.experiments.cluster.fetch_results import FAILED, NOTHING, carry_out

# It answers with what the order's log says, a code for each time it is asked.
CARRIER = """
import json, os, sys
for line in sys.stdin:
    order = json.loads(line)
    with open(order["log"]) as log:
        code, *left = log.read().split()
    with open(order["log"], "w") as log:
        log.write(" ".join([*left, "0"]))
    if code == "dies":
        os._exit(9)
    print(order["number"], code, flush=True)
"""


@pytest.fixture
def bringing() -> Iterator[Bringing]:
    carrier = Bringing((sys.executable, "-c", CARRIER))
    yield carrier
    carrier.close()


def end_of(bringing: Bringing, errand: Errand) -> int:
    while (code := bringing.code_of(errand)) is None:
        time.sleep(0.01)
    return code


def test_results_come_home_by_one_process_until_it_dies(
    bringing: Bringing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_TRIES", 0.0)
    answers = {"there": "0", "nothing": f"{NOTHING}", "fails": f"{FAILED} {FAILED} 0", "dies": "dies 0"}
    for name, text in answers.items():
        (tmp_path / name).write_text(text)
    errands = {name: bringing.send_for({"job": 1}, tmp_path / name) for name in answers}
    first = None
    ends = {}
    for name, errand in errands.items():
        ends[name] = end_of(bringing, errand)
        first = first or bringing._process
    assert ends == {"there": 0, "nothing": NOTHING, "fails": 0, "dies": 0}
    assert first is not None and first.wait() == 9 and bringing._process is not first


def test_what_fails_too_long_has_failed(bringing: Bringing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_TRY", -1.0)
    (tmp_path / "log").write_text(f"{FAILED} 0")
    assert end_of(bringing, bringing.send_for({}, tmp_path / "log")) == FAILED


def test_an_order_that_cannot_be_obeyed_says_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    order = {"folder": str(tmp_path / "sweep-1"), "job": 1, "attempt": 1, "remote": "r"}
    assert carry_out(order) == FAILED
    assert "sweep-1" in capfd.readouterr().err
