"""The real NetworkTables: a film through the reader, a robot's server, and a client that reads as robot code does."""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.inference.device import reader, robot_output
from support.doc_blocks import blocks_of
from support.drawing import write_video
from support.extra_packages import extra_packages
from support.messages import missing_in

pytestmark = pytest.mark.slow
PACKAGE = "pyntcore>=2026.2"
CAMERA = ("--camera-height", "0.6", "--camera-tilt", "20", "--camera-view", "70")


class Slow:
    """Finds the left half of every frame, as fast as a small computer."""

    task = "detection"
    labels = ("left", "right")

    def __init__(self, path: Path) -> None:
        self.path = path

    def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        time.sleep(0.02)
        boxes, scores = np.array([[0.25, 0, 0.75, 0.5]], np.float32), np.array([0.75], np.float32)
        return {"boxes": boxes, "classes": np.array([1]), "scores": scores}


@pytest.fixture
def ntcore(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(extra_packages(PACKAGE)))
    import ntcore

    return ntcore


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(reader, "Small", Slow)
    monkeypatch.setattr(sys, "argv", ["reader", "model.tflite", *arguments])
    reader.main()


def test_a_client_of_the_robots_server_has_what_the_camera_sees(
    ntcore: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 150)
    port = free_port()
    server, client = (ntcore.NetworkTableInstance.create() for _ in range(2))
    try:
        server.startServer("", "127.0.0.1", free_port(), port)
        client.setServer("127.0.0.1", port)
        client.startClient4("robot")
        monkeypatch.setattr(ntcore.NetworkTableInstance, "getDefault", lambda: client)
        [block] = [block for block in blocks_of("docs/robot.md") if block.language == "py"]
        example: dict[str, Any] = {}
        exec(block.text, example)
        table = client.getTable("bakeoff")
        every = ntcore.PubSubOptions(sendAll=True, keepDuplicates=True, pollStorage=1000)
        texts = table.getStringTopic("json").subscribe("", every)
        rows = table.getDoubleArrayTopic("objects").subscribe([], every)
        labels = table.getStringArrayTopic("labels").subscribe([])
        run(monkeypatch, str(tmp_path / "film.mp4"), "--networktables", f"127.0.0.1:{port}", *CAMERA)
        deadline = time.monotonic() + 5
        while not (got := texts.readQueue()) and time.monotonic() < deadline:
            time.sleep(0.05)
        objects = rows.readQueue()
        names = labels.get()
        printed = capsys.readouterr()
        exec(block.text.partition("\n\n")[2].partition("\n\n")[2], example)
        assert capsys.readouterr().out.startswith("left at 0.9")
    finally:
        client.stopClient()
        server.stopServer()
        for one in (client, server):
            ntcore.NetworkTableInstance.destroy(one)
    lines = [json.loads(line) for line in printed.out.splitlines()]
    frames = [json.loads(one.value) for one in got]
    print(f"{len(frames)} of {len(lines)} frames came")
    assert len(lines) == 150 and len(frames) > 50 and not printed.err
    assert all(frame == lines[frame["frame"]] for frame in frames)
    assert [frame["frame"] for frame in frames] == sorted(frame["frame"] for frame in frames)
    assert list(names) == ["left", "right"] and len(objects) > 50
    for one in objects:
        row = list(one.value)
        assert row[:7] == [0, 1, 0.75, 0.25, 0, 0.75, 0.5] and 0 < row[7] < 3 and row[8] < 0 < row[9]
    times = [one.time for one in got]
    assert times == sorted(times) and 0.01e6 < np.diff(times).mean() < 1e6  # microseconds, as frames were taken


def test_without_a_server_the_film_goes_to_its_end_and_one_line_says_so(
    ntcore: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 30)
    monkeypatch.setattr(robot_output, "SECONDS_TO_CONNECT", 0.1)
    run(monkeypatch, str(tmp_path / "film.mp4"), "--networktables", f"127.0.0.1:{free_port()}")
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 30
    assert missing_in(printed.err, "--networktables", "127.0.0.1", "no server", "goes on") == []
    assert printed.err.count("reader: ") == 1
