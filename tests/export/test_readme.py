"""README.md beside exported files says what the variant decides, the same each time."""

from typing import get_args

import pytest

from bakeoff.export.device_guides import GUIDES
from bakeoff.export.devices import DEVICES, DeviceName
from bakeoff.export.photonvision import ARCHIVE, BACKENDS
from bakeoff.export.readme import GIVEN, KINDS, write_readme
from bakeoff.export.settings import Export, Format
from bakeoff.learning.input.view import View
from support.messages import missing_in

EVERY: tuple[Format, ...] = get_args(Format)


def test_every_format_and_every_device_is_described() -> None:
    assert set(KINDS) == set(EVERY)
    assert set(GUIDES) == set(DEVICES) == set(get_args(DeviceName))


def test_a_reader_learns_how_each_file_is_fed_and_where_the_labels_are() -> None:
    settings = Export(formats=("saved_model", "int8", "dynamic"), weights="final")
    lines = write_readme("ssd_small · cosine", "detection", ("ball", "cube"), View(160), settings).splitlines()
    assert missing_in(lines[0], "# ", "ssd_small · cosine") == [] and lines[1] == ""
    assert missing_in(lines[2], "detection", "2 classes", "final weights") == []
    assert "| `model.tflite` | TensorFlow Lite, weights and sums in 8 bits | uint8, pixels as they are |" in lines
    assert [line for line in lines if not missing_in(line, "- Size: the image ", "160 x 160 pixels", "not padded")]
    assert "$ bakeoff predict photo.jpg --model model.tflite --out found" in lines
    assert not any("device was at hand" in line for line in lines)
    cropped = View(96, frames=4, central_crop=0.875, resizing="legacy_bilinear")
    lines = write_readme("s3dg", "video", ("wave",), cropped, Export()).splitlines()
    assert [line for line in lines if not missing_in(line, "- Size: the middle 0.875 ", "96 x 96 pixels", "not padded")]
    assert [line for line in lines if not missing_in(line, "- Resizing: bilinear ", "without antialiasing")]


def test_the_layout_decides_what_is_fed_and_given() -> None:
    def lines_of(settings: Export) -> list[str]:
        return write_readme("net", "detection", ("ball",), View(64), settings).splitlines()

    formats: tuple[Format, ...] = ("onnx", "float32", "rknn")
    assert [*GIVEN] == ["detections", "yolov8", "yolov8_corners", "yolov8_levels", "heads"]
    own, points, corners, levels = (lines_of(Export(formats=formats, layout=layout)) for layout in [*GIVEN][:-1])
    maps = lines_of(Export(formats=("onnx",), layout="heads"))
    assert "| `model.onnx` | ONNX | float32, (pixel - 127.5) / 127.5 |" in own
    assert "| `model.onnx` | ONNX | float32, pixel / 255 |" in points
    assert "| `model.tflite` | TensorFlow Lite, weights as trained | float32, pixel / 255 |" in corners
    assert any(line.startswith("- `model.rknn`: boxes (ymin xmin ymax xmax") for line in own)
    assert any(line.startswith("- `.tflite`: 1 x (4 + classes) x points: ") for line in points)
    assert any(not missing_in(line, "- `.tflite`: ", "(x1 y1 x2 y2 in pixels)") for line in corners)
    assert "| `model.onnx` | ONNX | float32, (pixel - 127.5) / 127.5 |" in maps
    assert any(not missing_in(line, "- `model.onnx`: ", "last convolutions") for line in maps)
    assert any(not missing_in(line, "- `model.rknn`: ", "stride", "distances left, up") for line in levels)


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_gets_its_steps_with_the_name_of_its_file_and_where_they_come_from(device: DeviceName) -> None:
    formats = ("saved_model", *DEVICES[device].formats) if DEVICES[device].is_hailo else EVERY
    settings = Export(formats=formats, device=device, layout=DEVICES[device].layouts[0])
    text = write_readme("net", "detection", ("ball",), View(640), settings)
    taken = next(name for form, name in settings.files.items() if form in DEVICES[device].formats)
    file = ARCHIVE if device in BACKENDS else taken
    part = text.partition(f"## {GUIDES[device].title}")[2]
    assert file in part and "FILE" not in part and "SIZE" not in part
    assert all(source in part for source in GUIDES[device].sources)
    assert "none of this was run" in part
    assert text == write_readme("net", "detection", ("ball",), View(640), settings)


def test_it_says_which_files_compute_in_the_eight_bits_that_the_network_learnt_in() -> None:
    plain, eight = (
        write_readme("net", "detection", ("ball",), View(64), Export(), in_eight_bits=one) for one in (False, True)
    )
    assert set(eight.splitlines()) > set(plain.splitlines()) and "in the ranges that it learnt" in eight
