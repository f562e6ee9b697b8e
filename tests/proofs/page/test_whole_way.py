"""The whole way in Chromium, by what is visible alone: `bakeoff init`, forty photos without labels, five robots' zips.

python -m pytest -m slow tests/proofs/page/test_whole_way.py -rP      (`make page-proof`)

PHOTOS=FOLDER takes photographs with their Pascal VOC labels from FOLDER/images and FOLDER/annotations. The labels only
tell the person where to draw. Without it photos are drawn. PICTURES=FOLDER keeps each screen, as proofs/page/person.py
says. It takes about 20 minutes on two cores; a robot that the first training does not fit is trained for.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image, ImageDraw

from bakeoff.dataset.sources.voc import read_voc
from bakeoff.export.devices import DeviceName
from proofs.page.person import HEIGHT, KEY, SHIFT, WIDTH, Box, Person, Server, load_browser, served
from proofs.page.robot_zips import read_zip, take_zip

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
GIVEN = Path(os.environ["PHOTOS"]).resolve() if "PHOTOS" in os.environ else None
COUNT, SIZE = 40, (640, 480)
SECONDS = 1800  # for a training to end, on a busy machine
FIRST: DeviceName = "raspberry_pi"
OTHERS: tuple[DeviceName, ...] = ("limelight_coral", "ftc_sdk", "oak", "photonvision_rubik")
CLASS = "marker"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One as `bakeoff init` leaves it."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    folder = tmp_path / "work"
    subprocess.run([sys.executable, "-m", "bakeoff", "init", str(folder)], check=True, stdout=subprocess.DEVNULL)
    for key, value in (("user.name", "A"), ("user.email", "a@example.org")):
        subprocess.run(["git", "config", key, value], cwd=folder, check=True)
    return folder


@pytest.fixture
def photos(tmp_path: Path) -> dict[Path, list[Box]]:
    """Photos without labels, and where the objects are in each."""
    phone = tmp_path / "phone"
    phone.mkdir()
    return _copy_photos(GIVEN, phone) if GIVEN else _draw_photos(phone)


def _copy_photos(given: Path, phone: Path) -> dict[Path, list[Box]]:
    found: dict[Path, list[Box]] = {}
    seen = set[bytes]()  # of the raccoons, one is there twice
    for file in sorted((given / "annotations").glob("*.xml")):
        _, _, boxes = read_voc(file.read_bytes())
        photo = next((given / "images").glob(f"{file.stem}.*"))
        if len(found) == COUNT or photo.read_bytes() in seen:
            continue
        seen.add(photo.read_bytes())
        found[Path(shutil.copy(photo, phone))] = [(left, top, right, bottom) for left, top, right, bottom, _ in boxes]
    return found


def _draw_photos(phone: Path) -> dict[Path, list[Box]]:
    rng, found = np.random.default_rng(3), {}
    for number in range(COUNT):
        photo = Image.fromarray(rng.integers(60, 190, (6, 8, 3), np.uint8)).resize(SIZE, Image.Resampling.BICUBIC)
        side = int(rng.integers(110, 200))
        left, top = (int(rng.integers(10, most - side - 10)) for most in SIZE)
        box = (left, top, left + side, top + side)
        ImageDraw.Draw(photo).ellipse(box, fill=(230, 60, 40))
        file = phone / f"IMG_{number:04d}.jpg"
        photo.save(file)
        found[file] = [box]
    return found


class Walk:
    """One way through all screens, with the time of each."""

    def __init__(self, person: Person, downloads: Path) -> None:
        self.person, self.page, self.downloads = person, person.page, downloads
        self.zips: dict[DeviceName, Path] = {}
        self._began = self._since = self.clock()
        self._counted = (0, 0, 0)

    def clock(self) -> float:
        """Return seconds without those that pictures of screens took."""
        return time.monotonic() - self.person.shooting

    def note(self, what: str) -> None:
        """Print what the last part of the way took."""
        person, now = self.person, self.clock()
        counts = (person.clicks, person.keys, person.drags)
        clicks, keys, drags = (count - before for count, before in zip(counts, self._counted, strict=True))
        print(f"{what:<30} {clicks:3} clicks {keys:3} keys {drags:3} drags {(now - self._since) / 60:5.1f} min")
        self._counted, self._since = counts, now

    async def bring_in(self, photos: Mapping[Path, list[Box]]) -> None:
        await self.person.open("/")
        await self.person.shoot("1-photos-empty")
        await self.person.bring_in([*photos])
        self.note("bring in")
        await self.person.shoot("2-photos")

    async def label(self, photos: Mapping[Path, list[Box]]) -> None:
        person, page = self.person, self.page
        by_name = {photo.stem: boxes for photo, boxes in photos.items()}
        await person.click_words("Label them")
        await page.wait_for("!!document.getElementById('canvas')?.dataset.frame")
        await person.shoot("3-labels-first")
        await person.add_class(CLASS)
        for number in range(len(photos)):
            await page.wait_for(f"document.getElementById('number').value === '{number + 1}'")
            for box_number, box in enumerate(by_name[Path(await person.frame()).stem]):
                await person.draw_by_hand(box, SHIFT if box_number else 0)
            if number == 2:
                await person.shoot("4-labels")
            if number + 1 < len(photos):
                await asyncio.sleep(KEY)
                await person.press(" ", 32)
        await page.wait_for(f"document.getElementById('counter').textContent.startsWith('{COUNT} of {COUNT}')")
        self.note("label")
        await person.shoot("5-labels-all")
        await person.click_words("Train on them")
        await person.arrive("/train")

    async def train(self, robot: str, name: str) -> None:
        """Start the quick recipe for a robot, and watch it until it is done."""
        person, page = self.person, self.page
        await page.wait_for("!!document.querySelector('#plan table')")
        for field, value in (("robot", robot), ("length", "quick")):
            box = f"document.querySelector('input[name={field}][value={value}]')"
            if not await page.see(f"{box}.checked"):
                await person.click(f"{box}.closest('label')")
        await page.wait_for("!!document.querySelector('#plan table')")
        await person.shoot(f"{name}-train")
        await person.click_words("Start")
        await page.wait_for("location.pathname.startsWith('/runs/')")
        await person.shoot(f"{name}-begun")
        seen = await self._watch("step ")
        await person.shoot(f"{name}-running")
        seen += await self._watch("done")
        print(f"it said: {' | '.join(seen)}")
        self.note(f"train for {robot}")
        await page.wait_for("document.querySelectorAll('#words p').length >= 2")
        print(await page.see("document.getElementById('words').innerText"))
        await person.shoot(f"{name}-done")

    async def _watch(self, wanted: str) -> list[str]:
        """Return what the page said until it said this."""
        seen, end = list[str](), time.monotonic() + SECONDS
        while not seen or wanted not in seen[-1]:
            words = await self.page.see("document.querySelector('#run .big')?.innerText") or ""
            doing = " ".join(words.split())
            if doing and (not seen or seen[-1] != doing):
                seen.append(doing)
            assert time.monotonic() < end and "FAILED" not in doing.upper(), seen
            await asyncio.sleep(0.3)
        return [one for one in seen if "step" not in one][-8:]

    async def take_along(self) -> None:
        person, page = self.person, self.page
        await person.click_words("Take it along")
        await person.arrive("/robot")
        await person.shoot("7-robot")
        print(await page.see("document.getElementById('hailo8l').innerText"))  # forty photos are too few for it
        for robot in (FIRST, *OTHERS):
            if await page.see(f"document.getElementById({robot!r}).classList.contains('greyed')"):
                print(await page.see(f"document.getElementById({robot!r}).innerText"))
                await person.click_words("Train for it", f"document.getElementById({robot!r})")
                await person.arrive("/train")
                await self.train(robot, "8")
                await person.click_words("Take it along")
                await person.arrive("/robot")
            self.zips[robot] = await take_zip(person, robot, self.downloads)
            self.note(f"zip for {robot}")
        await person.shoot("9-robot-done")
        for path in ("/models", "/labels", "/photos", "/photos/photos", "/activity"):
            await person.open(path)
            await person.shoot(f"all{path.replace('/', '-')}")

    def sum_up(self) -> None:
        seconds = self.clock() - self._began
        print(f"{COUNT} photos without a label to {len(self.zips)} zips: {self.person}, {seconds / 60:.1f} min")


async def walk(browser: ModuleType, server: Server, photos: Mapping[Path, list[Box]], downloads: Path) -> Walk:
    async with browser.chromium(WIDTH, HEIGHT) as page:
        await page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        way = Walk(Person(page, server), downloads)
        await way.bring_in(photos)
        await way.label(photos)
        await way.train(FIRST, "6")
        await way.take_along()
        way.sum_up()
        return way


def test_forty_photos_without_labels_reach_five_robots_by_what_is_visible(
    workspace: Path, photos: dict[Path, list[Box]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, downloads = load_browser(monkeypatch, SECONDS), tmp_path / "downloads"
    downloads.mkdir()
    with served(workspace) as server:
        way = asyncio.run(walk(browser, server, photos, downloads))
    labels = {file.stem: read_voc(file.read_bytes())[2] for file in workspace.glob("data/raw/photos/annotations/*.xml")}
    assert len(labels) == COUNT
    for photo, boxes in photos.items():
        drawn = np.array([box[:4] for box in labels[photo.stem]])
        assert np.abs(drawn - np.array(boxes)).max() < 3, photo.name
    assert [*way.zips] == [FIRST, *OTHERS]
    photo = np.asarray(Image.open(next(iter(photos))).convert("RGB"))
    for robot, file in way.zips.items():
        read_zip(file, robot, tmp_path, photo, (CLASS,))
