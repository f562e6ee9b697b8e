"""The program for a robot, on a film whose objects are known."""

import json
import math
import re
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from bakeoff.foundation.errors import ConfigError
from bakeoff.inference.device import reader, robot_output
from bakeoff.inference.device.floor_position import Camera
from support.doc_blocks import blocks_of
from support.drawing import write_video
from support.fake_ntcore import make_ntcore
from support.messages import missing_in


class Halves:
    """Finds the left half of every frame, and a doubtful right one."""

    task = "detection"
    labels = ("left", "right")

    def __init__(self, path: Path) -> None:
        self.path = path

    def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        boxes = np.array([[0, 0, 1, 0.5], [0, 0.5, 1, 1]], np.float32)
        return {"boxes": boxes, "classes": np.array([1, 2]), "scores": np.array([0.75, 0.25], np.float32)}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(reader, "Small", Halves)
    monkeypatch.setattr(sys, "argv", ["reader", *arguments])
    try:
        reader.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_each_frame_is_a_line_with_the_sure_objects_and_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 4)
    assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4")) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["frame"] for line in lines] == [0, 1, 2, 3] and lines[1]["time_s"] > 0
    assert all(line["objects"] == [{"id": 1, "label": "left", "score": 0.75, "box": [0, 0, 1, 0.5]}] for line in lines)


def test_a_file_that_is_no_film_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "film.mp4").write_bytes(b"no film")
    for name in ("film.mp4", "absent.mp4"):
        assert run(monkeypatch, "model.tflite", str(tmp_path / name)) == 2
        error = capsys.readouterr().err
        assert f"{name}: cannot be read" in error and error.count("\n") == 1


CAMERA = ("--camera-height", "0.6", "--camera-tilt", "20", "--camera-view", "70")


def test_with_a_camera_each_object_has_its_place_on_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 1)
    assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4"), *CAMERA) == 0
    [line] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [found] = line["objects"]
    [(_, pixels)] = reader.read_frames(str(tmp_path / "film.mp4"))
    height, width, _ = pixels.shape
    place = Camera(0.6, 20, 70).locate(0.25, 1.0, width, height)
    assert place is not None and place.bearing < 0  # the left half of the picture
    assert found["distance_m"] == round(place.distance, 3) and found["bearing_deg"] == round(place.bearing, 3)
    assert found["distance_error_m"] == round(place.error, 3) and line["latency_ms"] >= 0


def test_above_the_horizon_there_is_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 1)
    given = ("--camera-height", "0.6", "--camera-tilt=-80", "--camera-view", "70")
    assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4"), *given) == 0
    [found] = json.loads(capsys.readouterr().out)["objects"]
    assert found["distance_m"] is found["bearing_deg"] is found["distance_error_m"] is None


def test_a_camera_is_described_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 1)
    assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4"), *CAMERA[:2]) == 2
    assert missing_in(capsys.readouterr().err, "--camera-height", "--camera-tilt", "--camera-view", "all three") == []


def test_each_line_is_a_packet_of_udp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 3)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(5)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4"), "--udp", address) == 0
        packets = [json.loads(listener.recv(65536)) for _ in range(3)]
    assert packets == [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_where_udp_cannot_go_the_reader_says_so_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "film.mp4", 3)
    assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4"), "--udp", "255.255.255.255:5800") == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 3
    assert printed.err.count("\n") == 1 and missing_in(printed.err, "--udp", "255.255.255.255:5800", "goes on") == []


def test_networktables_get_ten_numbers_for_each_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    network = make_ntcore(connected=True)
    monkeypatch.setitem(sys.modules, "ntcore", network.module)
    write_video(tmp_path / "film.mp4", 2)
    arguments = ("model.tflite", str(tmp_path / "film.mp4"), "--networktables", "10.12.34.2")
    assert run(monkeypatch, *arguments) == 0
    printed = capsys.readouterr()
    assert network.server == ("10.12.34.2", 5810) and network.is_stopped and not printed.err
    assert network.published["/bakeoff/labels"] == [(["left", "right"], 0)]
    lines = [json.loads(line) for line in printed.out.splitlines()]
    rows = [row for row, _ in network.published["/bakeoff/objects"]]
    assert [row[:7] for row in rows] == [[0, 1, 0.75, 0, 0, 1, 0.5]] * 2
    assert all(len(row) == len(robot_output.ROW) == 10 and all(map(math.isnan, row[7:])) for row in rows)
    taken = [network.time - round(line["latency_ms"] * 1000) for line in lines]
    assert [time for _, time in network.published["/bakeoff/objects"]] == taken
    assert [json.loads(text) for text, _ in network.published["/bakeoff/json"]] == lines


def test_a_server_that_is_not_there_is_complained_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ntcore", make_ntcore(connected=False).module)
    monkeypatch.setattr(robot_output, "SECONDS_TO_CONNECT", -1.0)
    write_video(tmp_path / "film.mp4", 3)
    assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4"), "--networktables", "127.0.0.1:1") == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 3 and printed.err.count("\n") == 1
    assert missing_in(printed.err, "--networktables", "127.0.0.1:1", "no server", "goes on") == []


def test_without_pyntcore_one_line_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ntcore", None)
    write_video(tmp_path / "film.mp4", 1)
    assert run(monkeypatch, "model.tflite", str(tmp_path / "film.mp4"), "--networktables", "10.12.34.2") == 2
    error = capsys.readouterr().err
    assert missing_in(error, "--networktables", "pyntcore", "bakeoff[networktables]") == [] and error.count("\n") == 1


@pytest.mark.parametrize("address", ["", ":5810", "robot:", "robot:x", "robot:0", "robot:65536", "robot:５"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"^--networktables: .*10\.12\.34\.2:5810"):
        robot_output.read_address(address, "--networktables", 5810)
    with pytest.raises(ConfigError, match=r"^--udp: .*10\.12\.34\.2:5800"):
        robot_output.read_address("10.12.34.2", "--udp", None)


@pytest.mark.parametrize("language", ["java", "py"])
def test_the_robot_code_of_the_docs_reads_the_topics_and_places_that_are_sent(language: str) -> None:
    """The Python block also runs, against a real server, in test_networktables.py; nothing here compiles Java."""
    [block] = [block for block in blocks_of("docs/robot.md") if block.language == language]
    assert len(block.text.strip().splitlines()) <= 11
    topics = re.findall(r'Topic\("(\w+)"\)', block.text)
    assert topics == ["objects", "labels"] and '"bakeoff"' in block.text
    places = {int(place) for place in re.findall(r"rows\[i \+ (\d)\]", block.text)}
    assert places == {robot_output.ROW.index(name) for name in ("distance_m", "bearing_deg")}
    assert "10" in re.findall(r"\b\d+\b", block.text) and len(robot_output.ROW) == 10
