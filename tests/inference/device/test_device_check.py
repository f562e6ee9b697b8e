"""Whether a device takes a file, by the file itself: its kind, its input, its outputs and its labels."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bakeoff.app import cli
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.export.write_formats import write_files
from bakeoff.foundation.errors import DataError
from bakeoff.inference.device.device_check import check_file
from support.colour_model import write_colour_model
from support.lite_files import CLASSES, MODELS, examples, opinionated
from support.messages import missing_in

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("converts_here")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for kind, formats in {"detection": ("int8", "float32"), "classification": ("int8",)}.items():
        network, task = opinionated(kind)
        (folder / kind).mkdir()

        def pixels(kind: str = kind) -> Iterator[list[np.ndarray]]:
            yield from ([image[None] / 127.5 - 1] for image in examples(kind, 2))

        list(write_files(
            network, MODELS[kind], task, CLASSES, Export(formats=formats),  # type: ignore[arg-type]
            about=ModelMetadata("test"), representative=pixels, folder=folder / kind,
        ))  # fmt: skip
    return folder


def test_a_device_takes_its_files_and_says_what_is_in_them(files: Path, tmp_path: Path) -> None:
    takes, chip = check_file(files / "detection/model.tflite", "limelight_coral")
    assert missing_in(takes, "uint8 1 x 64 x 64 x 3", "float32 1 x 10 x 4", "float32 1 x 10,") == []
    assert missing_in(chip, "Edge TPU", "38 of 44") == []
    assert len(list(check_file(files / "detection/model_float32.tflite", "ftc_sdk"))) == 1
    assert list(check_file(write_colour_model(tmp_path / "m.onnx"), "oak")) == [
        "takes float32 8 x 8 x 3, for classification"
    ]
    (tmp_path / "model.rknn").write_bytes(b"RKNN")
    [line] = check_file(tmp_path / "model.rknn", "photonvision_rk3588")
    assert line.startswith("no program")


@pytest.mark.parametrize(
    ("name", "device", "message"),
    [
        ("detection/model.tflite", "oak", r"model\.tflite: oak takes \.onnx, got \.tflite"),
        ("detection/model.tflite", "photonvision_rk3588", r"photonvision_rk3588 takes \.rknn, got \.tflite"),
        ("detection/labels", "raspberry_pi", r"raspberry_pi .*\.tflite .*\.onnx.*without an end"),
        ("detection/model_float32.tflite", "limelight_coral", r"limelight_coral .*8 bits.*float32.*int8"),
        (
            "detection/model.tflite", "photonvision_rubik",
            r"photonvision_rubik .*640 x 640.*uint8 1 x 64 x 64 x 3",
        ),
        (
            "classification/model.tflite", "limelight_coral",
            r"limelight_coral .*TFLite_Detection_PostProcess.*float32 1 x 3",
        ),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_or_layout_is_refused(name: str, device: str, message: str, files: Path) -> None:
    with pytest.raises(DataError, match=message):
        list(check_file(files / name, device))  # type: ignore[arg-type]


def test_an_onnx_file_for_another_task_is_refused(tmp_path: Path) -> None:
    path = write_colour_model(tmp_path / "clips.onnx", task="video")
    with pytest.raises(DataError, match=r"oak .*detection.*classification.*video"):
        list(check_file(path, "oak"))


def test_labels_beside_a_file_that_differ_from_its_own_are_refused(files: Path, tmp_path: Path) -> None:
    shutil.copy(files / "detection/model.tflite", tmp_path)
    (tmp_path / "labels.txt").write_text("ant\nwasp\nKäfer, großer\n", encoding="utf-8")
    rule = r"labels\.txt: line 2 .*'wasp'.*model\.tflite .*'bee'.*labels\.txt"
    with pytest.raises(DataError, match=rule):
        list(check_file(tmp_path / "model.tflite", "limelight_coral"))
    (tmp_path / "labels.txt").write_text("ant\nbee\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"labels\.txt: line 3 .*'nothing'.*model\.tflite .*'Käfer, großer'"):
        list(check_file(tmp_path / "model.tflite", "limelight_coral"))
    (tmp_path / "labels.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"labels\.txt: cannot be read"):
        list(check_file(tmp_path / "model.tflite", "limelight_coral"))


def test_the_command_needs_no_workspace(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bakeoff", "measure", str(files / "detection/model.tflite"), "--for", "ftc_sdk"])
    cli.main()
    first, second = capsys.readouterr().out.splitlines()
    assert missing_in(first, "measure: model.tflite", "ftc_sdk") == []
    assert second.startswith("  takes uint8 1 x 64 x 64 x 3, gives ")
