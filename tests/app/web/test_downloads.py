"""Downloads of a run: few at once, and nothing is held for browsers that went away or read nothing."""

import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from bakeoff.app.web.robot_zip import pack as pack_run
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.run_status import State
from support.asking import Page
from support.made_runs import NOBODY, made
from support.messages import missing_in

RUN, RUN_ID = "b" * 16, "0b9f1c2d3e4f5a6b7c8d9e0f1a2b3c4d"
PATH = f"/runs/{RUN}/download"
BYTES = 8_000_000  # more than what the system keeps for a reader


@pytest.fixture(autouse=True)
def _run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(folder / ".bakeoff/runs", RUN, State.SUCCEEDED, process=NOBODY, run_id=RUN_ID, metrics={"validation/mAP": 0.5})
    monkeypatch.setattr("bakeoff.app.web.runs.pack", pack)


def pack(run: KnownRun) -> tuple[IO[bytes], str]:
    """Stand in for the zip of a large model, which takes a while."""
    file = tempfile.TemporaryFile()
    file.write(bytes(BYTES))
    return file, "zip"


def begin(page: Page) -> socket.socket:
    """Ask for a download and read its first bytes."""
    connection = socket.socket()
    connection.settimeout(20)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", page.port))
    connection.sendall(f"GET {PATH} HTTP/1.1\r\nHost: {page.own}\r\n\r\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


def test_only_so_many_downloads_are_under_way_and_one_that_is_left_makes_room(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.app.web.downloads.MOST", 2)
    with begin(page), begin(page):
        refused = page.get(PATH)
        assert refused.code == 503 and not missing_in(refused.text, "2 downloads", "try again")
        assert page.get("/models").code == 200
    end = time.monotonic() + 20
    while page.get(PATH).code != 200:  # the server hears of it a moment later
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_download_that_cannot_be_packed_takes_no_place(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.app.web.downloads.MOST", 1)
    monkeypatch.setattr("bakeoff.app.web.runs.pack", pack_run)
    assert [page.get(PATH).code for _ in range(3)] == [400] * 3  # nothing was exported
    monkeypatch.setattr("bakeoff.app.web.runs.pack", pack)
    assert page.get(PATH).code == 200


def test_a_browser_that_takes_nothing_is_broken_off(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.app.web.app.SECONDS_TO_TAKE", 0.3)
    monkeypatch.setattr("bakeoff.app.web.downloads.MOST", 1)
    with begin(page) as connection:
        end = time.monotonic() + 20
        while page.get(PATH).code != 200:
            assert time.monotonic() < end
            time.sleep(0.1)
        taken = 0
        with suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                taken += len(piece)
    assert taken < BYTES
