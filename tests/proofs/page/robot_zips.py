"""The zip of a robot: made and downloaded on the page, then read as the robot's program reads it."""

import asyncio
import json
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from bakeoff.export import hailo
from bakeoff.export.devices import DEVICES, DeviceName
from bakeoff.export.head_maps import Heads
from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.photonvision import BACKENDS, unpacked
from bakeoff.inference.device.device_check import check_file
from bakeoff.inference.predict.light_runtime import Small
from proofs.page.person import Person

MOST_S = 120.0  # until a download is there


async def wait_for_errand(person: Person) -> None:
    """Wait until the commands of a button have ended well."""
    page = person.page
    await page.wait_for("location.pathname.startsWith('/activity/')")
    await page.wait_for("!!document.querySelector('#errand .errand-done, #errand .errand-failed')")
    log = await page.see("document.querySelector('#errand .log').textContent")
    assert await page.see("!!document.querySelector('#errand .errand-done')"), log


async def take_zip(person: Person, robot: str, downloads: Path) -> Path:
    """Take the zip for a robot from the step Robot; make its file first, where it is not there yet."""
    card, page = f"document.getElementById({robot!r})", person.page
    await page.wait_for(f"!!{card}")
    if not await page.see(f"{card}.innerText.includes('Download the zip')"):
        await person.click_words("Make the file", card)
        await wait_for_errand(person)
        await person.click_words("Continue")
        await person.arrive("/robot")
    await person.click_words("Download the zip", card)
    end = time.monotonic() + MOST_S
    while not (found := list(downloads.glob(f"{robot}-*.zip"))):
        assert time.monotonic() < end, [path.name for path in downloads.iterdir()]
        await asyncio.sleep(0.3)
    return found[0]


def read_zip(file: Path, robot: DeviceName, folder: Path, photo: np.ndarray, labels: tuple[str, ...]) -> None:
    """Let the reader of a robot open the model of its zip, check it, and answer a photo."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / robot)
    [inside] = (folder / robot).iterdir()
    [model] = {path.name for path in inside.iterdir()} - {"labels.txt", "README.html", "reader.py", hailo.FOLDER}
    print(robot, model, *check_file(inside / model, robot), sep="\n  ")
    if DEVICES[robot].is_hailo:
        _answer_as_chip(inside, inside / model, photo, labels)
        return
    with _open_model(inside / model, robot) as read:
        reader = Small(read)
        answer = reader.answer(photo)
    assert reader.labels == labels and answer["boxes"].shape[1:] == (4,)
    assert len(answer["boxes"]) == len(answer["scores"]) == len(answer["classes"])


def _answer_as_chip(folder: Path, model: Path, photo: np.ndarray, labels: tuple[str, ...]) -> None:
    """Decode what the chip would answer by the file that goes with it; the compiler itself is Hailo's."""
    tree = json.loads((folder / hailo.FOLDER / hailo.POSTPROCESS).read_text(encoding="utf-8"))
    calibration = np.load(folder / hailo.FOLDER / "calibration.npy", mmap_mode="r")
    heads, chip, side = Heads.of(tree), OnnxModel(model), tree["view"]["size"]
    assert tree["labels"] == [*labels] and calibration.shape[1:] == (side, side, 3)
    chip.put(np.asarray(Image.fromarray(photo).resize((side, side)), np.float32))
    maps = (value[0] for value in chip.call())
    boxes, scores = heads.candidates(dict(zip(heads.names, maps, strict=True)))
    print(f"  {len(boxes):,} candidates, {len(calibration)} pictures to calibrate with")
    assert boxes.shape == (len(scores), 4) and scores.shape[1] == len(labels)


@contextmanager
def _open_model(file: Path, robot: str) -> Iterator[Path]:
    """Give the model, which for PhotonVision is in an archive."""
    if robot not in BACKENDS:
        yield file
        return
    with unpacked(file, robot) as (model, _):
        yield model
