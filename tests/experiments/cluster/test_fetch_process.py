"""Results are fetched by one process, which may fail, be killed, or find nothing."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.experiments.cluster import fetch_process as module
from bakeoff.experiments.cluster.fetch_process import Fetch, FetchProcess
from bakeoff.experiments.cluster.fetch_results import FAILED, NOTHING, FetchOrder, carry_out

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
def fetches() -> Iterator[FetchProcess]:
    process = FetchProcess((sys.executable, "-c", CARRIER))
    yield process
    process.close()


def order(log: Path, folder: str = "sweep-1") -> FetchOrder:
    return FetchOrder(folder, job=1, attempt=1, remote="r", log=str(log))


def end_of(fetches: FetchProcess, fetch: Fetch) -> int:
    while (code := fetches.exit_code(fetch)) is None:
        time.sleep(0.01)
    return code


def test_results_come_home_by_one_process_until_it_dies(
    fetches: FetchProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_TRIES", 0.0)
    answers = {"there": "0", "nothing": f"{NOTHING}", "fails": f"{FAILED} {FAILED} 0", "dies": "dies 0"}
    for name, text in answers.items():
        (tmp_path / name).write_text(text)
    asked = {name: fetches.request(order(tmp_path / name)) for name in answers}
    first = None
    ends = {}
    for name, fetch in asked.items():
        ends[name] = end_of(fetches, fetch)
        first = first or fetches._process
    assert ends == {"there": 0, "nothing": NOTHING, "fails": 0, "dies": 0}
    assert first is not None and first.wait() == 9 and fetches._process is not first


def test_what_fails_too_long_has_failed(fetches: FetchProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_TRY", -1.0)
    (tmp_path / "log").write_text(f"{FAILED} 0")
    assert end_of(fetches, fetches.request(order(tmp_path / "log"))) == FAILED


def test_an_order_that_cannot_be_obeyed_says_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert carry_out(order(tmp_path / "log", str(tmp_path / "sweep-1"))) == FAILED
    assert "sweep-1" in capfd.readouterr().err


def test_an_order_is_a_line_that_can_be_read_again(tmp_path: Path) -> None:
    line = order(tmp_path / "log").as_line()
    assert line.endswith("}\n") and FetchOrder.parse(line) == order(tmp_path / "log")
