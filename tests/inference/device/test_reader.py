"""The program for a robot, on a film whose objects are known."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from bakeoff.inference.device import reader
from support.drawing import write_video


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
