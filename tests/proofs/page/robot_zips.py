"""The zip of a robot: made and downloaded on the page, then read as the robot's program reads it."""

import asyncio
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

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


def read_zip(file: Path, robot: str, folder: Path, photo: np.ndarray, labels: tuple[str, ...]) -> None:
    """Let the reader of a robot open the model of its zip, check it, and answer a photo."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / robot)
    [inside] = (folder / robot).iterdir()
    [model] = {path.name for path in inside.iterdir()} - {"labels.txt", "README.html", "reader.py"}
    print(robot, model, *check_file(inside / model, robot), sep="\n  ")
    with _open_model(inside / model, robot) as read:
        reader = Small(read)
        answer = reader.answer(photo)
    assert reader.labels == labels and answer["boxes"].shape[1:] == (4,)
    assert len(answer["boxes"]) == len(answer["scores"]) == len(answer["classes"])


@contextmanager
def _open_model(file: Path, robot: str) -> Iterator[Path]:
    """Give the model, which for PhotonVision is in an archive."""
    if robot not in BACKENDS:
        yield file
        return
    with unpacked(file, robot) as (model, _):
        yield model
