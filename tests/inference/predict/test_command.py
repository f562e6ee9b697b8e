"""The command from a user's folder: paths mean what they mean there, the exit code tells of what was passed over."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bakeoff.app import cli
from support.messages import missing_in


class Grey:
    task = "classification"
    labels = ("dark", "bright")

    def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        return {"probabilities": np.array([0.25, 0.75])}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("conf", "photos", "models/export/saved_model"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "dvc.yaml").write_text("", encoding="utf-8")
    Image.new("RGB", (30, 20)).save(tmp_path / "photos/a.png")
    monkeypatch.setattr("bakeoff.inference.predict.model_interface.opened", lambda source: Grey())
    monkeypatch.setattr("bakeoff.app.cli.predict.load_tensorflow", lambda: None)
    monkeypatch.chdir(tmp_path / "photos")
    return tmp_path


def ends_with(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bakeoff", "predict", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_paths_are_those_of_the_folder_that_the_user_stands_in(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends_with(monkeypatch, "a.png", "--out", "found") == 0
    assert (workspace / "photos/found/pictures/a.jpg").is_file()
    output = capsys.readouterr().out.splitlines()
    parts = ("predict: models/export/saved_model", "classification", "2 classes", "1 image", "1 answer")
    assert missing_in(output[0], *parts) == []


def test_a_file_that_was_passed_over_makes_the_exit_code_1(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "photos/b.jpg").write_bytes(b"no picture")
    assert ends_with(monkeypatch, ".", "--out", "../found") == 1
    output = capsys.readouterr()
    assert missing_in(output.err, "b.jpg: passed over", "no image", "b'no pictu'") == []
    assert output.out.splitlines()[-1] == "  1 of 2 files passed over"


def test_a_score_beyond_1_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends_with(monkeypatch, "a.png", "--out", "found", "--min-score", "50") == 2
    assert capsys.readouterr().err == "--min-score: must be between 0 and 1, got 50\n"


def test_a_folder_that_cannot_be_made_is_said_before_a_model_is_loaded(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bakeoff.app.cli.predict.load_tensorflow", lambda: pytest.fail("loaded for nothing"))
    assert ends_with(monkeypatch, "a.png", "--out", "a.png/found") == 2
    output = capsys.readouterr().err
    assert output.startswith("--out: ") and output.endswith("\n")
    assert missing_in(output, "a.png/found", "Not a directory", "another folder") == []


def test_a_long_film_is_announced_with_what_takes_fewer_frames(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bakeoff.inference.predict.run._frames_of", lambda path: 156_250)
    assert ends_with(monkeypatch, "a.png", "--out", "found") == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert missing_in(first, "a.png", "156,250 frames", "Ctrl-C keeps", "`bakeoff frames ", "a.png --every 1`") == []
