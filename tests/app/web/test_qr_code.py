"""A QR code: its bytes against the standard's own example, and what a camera's program reads in it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bakeoff.app.web.qr_code import MOST_BYTES, draw_qr_code, find_correction, make_grid
from support.extra_packages import extra_packages, python_path

OPENCV = "opencv-contrib-python-headless>=4.10"
READ = "import cv2, numpy, sys; print(cv2.QRCodeDetector().detectAndDecode(numpy.load(sys.argv[1]))[0])"
# ISO/IEC 18004, the example of version 1-M: the data of "01234567", and the bytes that correct it.
DATA = [0x10, 0x20, 0x0C, 0x56, 0x61, 0x80, *(0xEC, 0x11) * 5]
CORRECTION = [0xA5, 0x24, 0xD4, 0xC1, 0xED, 0x36, 0xC7, 0x87, 0x2C, 0x55]


def test_the_correction_is_that_of_the_standards_example() -> None:
    assert find_correction(DATA, len(CORRECTION)) == CORRECTION


@pytest.mark.parametrize(("length", "side"), [(0, 21), (17, 21), (18, 25), (32, 25), (53, 29), (78, 33), (106, 37)])
def test_a_code_is_as_small_as_its_text_allows_and_has_no_empty_place(length: int, side: int) -> None:
    grid = make_grid("x" * length)
    assert [len(row) for row in grid] == [side] * side
    assert None not in [place for row in grid for place in row]
    eye = [
        [ring not in (2, 4) for ring in (max(abs(row - 3), abs(column - 3)) for column in range(8))] for row in range(8)
    ]
    assert [row[:8] for row in grid[:8]] == eye


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match=str(MOST_BYTES)):
        make_grid("x" * (MOST_BYTES + 1))


def test_the_drawing_says_the_address_without_its_token() -> None:
    drawing = str(draw_qr_code("http://192.168.1.7:8080/photos?token=secret"))
    assert "http://192.168.1.7:8080/photos" in drawing and "secret" not in drawing


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 30, 53, 74, 106])
def test_opencv_reads_it(tmp_path: Path, length: int) -> None:
    text = ("http://192.168.178.100:8080/photos?token=" + "Ab-_9" * 20)[:length]
    grid = np.pad(np.where(np.array(make_grid(text), bool), 0, 255).astype(np.uint8), 4, constant_values=255)
    np.save(tmp_path / "code.npy", np.kron(grid, np.ones((6, 6), np.uint8)))
    environment = {"PYTHONPATH": python_path(extra_packages(OPENCV))}
    command = [sys.executable, "-c", READ, str(tmp_path / "code.npy")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip("\n") == text
