"""From a finished tiny run to the zips of six robots, in Chromium, by what is visible alone; each is read again.

python -m pytest -m slow tests/proofs/page/test_run_to_robots.py -rP      (`make proofs` runs it, too)

One training of two steps serves all. PICTURES=FOLDER draws each screen at 400 and 1,280 pixels, light and dark.
"""

import asyncio
import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image, ImageDraw

from bakeoff.export.devices import DeviceName
from proofs.page.person import HEIGHT, WIDTH, Person, Server, load_browser, served
from proofs.page.robot_zips import read_zip, take_zip

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
# All that one network fits and that need no program of a maker; the file for an Orange Pi needs Rockchip's.
ROBOTS: tuple[DeviceName, ...] = (
    "limelight_coral", "photonvision_rubik", "ftc_sdk", "raspberry_pi", "oak", "hailo8l",
)  # fmt: skip
PHOTOS, SIZE, SECONDS = 84, (320, 240), 900  # Hailo wants 64 to learn from
TRAINING = (
    "model=point_nano", "train.steps=2", "train.batch_size=2", "train.validate_every_epochs=null",
    "train.validate_every_steps=2", "lr.warmup_steps=0",
    "export=saved_model", "export.max_drop=1", "export.sample=2", "export.representative_examples=64",
    "export.latency_calls=1", "evaluate.interval_samples=100",
)  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a finished run of the queue, as the page starts it."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()

    def run(*command: str) -> None:
        words = [sys.executable, "-m", "bakeoff", *command[1:]] if command[0] == "bakeoff" else command
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    run("git", "init", "--quiet")
    run("git", "config", "user.name", "A")
    run("git", "config", "user.email", "a@example.org")
    run("bakeoff", "init", ".")
    draw_photos(folder / "data/raw/gym")
    (folder / "conf/data/gym.yaml").write_text(
        "kind: pascal_voc\npath: data/raw/gym\nunlabelled: skip\n", encoding="utf-8"
    )
    params = (folder / "params.yaml").read_text(encoding="utf-8")
    (folder / "params.yaml").write_text(params.replace("\ndata:", "\ndata: {use: gym}", 1), encoding="utf-8")
    run("dvc", "add", "--quiet", "data/raw/gym")
    run("git", "add", "--all")
    run("git", "commit", "--quiet", "-m", "Begin")
    run("bakeoff", "repro", "build_records")
    run("git", "add", "dvc.lock")
    run("bakeoff", "queue", "add", *TRAINING, "--note=from the gym", "--yes")
    run("bakeoff", "queue", "start", "--quiet")
    return folder


def draw_photos(folder: Path) -> None:
    rng = np.random.default_rng(3)
    for inside in ("images", "annotations"):
        (folder / inside).mkdir(parents=True)
    for number in range(PHOTOS):
        photo = Image.fromarray(rng.integers(60, 190, (6, 8, 3), np.uint8)).resize(SIZE, Image.Resampling.BICUBIC)
        left, top = int(rng.integers(10, 200)), int(rng.integers(10, 130))
        ImageDraw.Draw(photo).ellipse([left, top, left + 90, top + 90], fill=(230, 60, 40))
        photo.save(folder / f"images/IMG_{number:04d}.jpg")
        sides = zip(("xmin", "ymin", "xmax", "ymax"), (left, top, left + 90, top + 90), strict=True)
        box = "".join(f"<{side}>{value}</{side}>" for side, value in sides)
        text = f"<annotation><object><name>marker</name><bndbox>{box}</bndbox></object></annotation>"
        (folder / f"annotations/IMG_{number:04d}.xml").write_text(text, encoding="utf-8")


async def walk(browser: ModuleType, server: Server, downloads: Path) -> dict[DeviceName, Path]:
    zips: dict[DeviceName, Path] = {}
    async with browser.chromium(WIDTH, HEIGHT) as page:
        await page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        person, began = Person(page, server), time.monotonic()
        await person.open("/")
        await person.arrive("/robot")  # the next step: the model is there
        await person.click_words("Look at it first")
        await page.wait_for("document.querySelectorAll('#words p').length >= 3")
        words = await page.see("document.getElementById('words').innerText")
        print(words)
        assert "marker" in words and "Too few photos to be sure" in words
        await try_scores(person, server.folder)
        await person.shoot("run")
        await person.click_words("Take it along")
        await person.arrive("/robot")
        await person.shoot("robot")
        for robot in ROBOTS:
            zips[robot] = await take_zip(person, robot, downloads)
        await person.shoot("robot-done")
        print(f"from a finished run to {len(zips)} zips: {person.clicks} clicks, {time.monotonic() - began:.0f} s")
    return zips


async def try_scores(person: Person, folder: Path) -> None:
    """Move the slider by its keys, and let the model answer a photo of one's own."""
    page = person.page
    await page.wait_for("document.getElementById('tried').dataset.boxes !== undefined")
    before = await page.see("document.getElementById('score-words').textContent")
    await person.click("document.getElementById('score')")
    for _ in range(3):
        await page.press("ArrowLeft", 37)
    assert await page.see("document.getElementById('score-words').textContent") != before
    assert "marker" in await page.see("document.getElementById('at-score').innerText")
    await page.choose_files("#own-photo", folder / "data/raw/gym/images/IMG_0003.jpg")
    await page.wait_for("document.getElementById('photo-name').textContent === 'IMG_0003.jpg'")
    answered = await page.see("document.getElementById('at-score').innerText")
    assert "box" in answered, answered
    await person.click_words("Validation photos")
    await page.wait_for("document.getElementById('photo-name').textContent !== 'IMG_0003.jpg'")


def digest(folder: Path) -> dict[str, str]:
    """Return what a workspace's own files hold."""
    names = [folder / name for name in ("dvc.lock", "params.yaml", "dvc.yaml")]
    names += [path for path in (folder / "models").rglob("*") if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in names if path.is_file()}


def test_a_finished_run_reaches_six_robots_by_what_is_visible(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, downloads, before = load_browser(monkeypatch, SECONDS), tmp_path / "downloads", digest(workspace)
    downloads.mkdir()
    with served(workspace) as server:
        zips = asyncio.run(walk(browser, server, downloads))
    assert digest(workspace) == before
    assert [*zips] == [*ROBOTS]
    photo = np.asarray(Image.open(workspace / "data/raw/gym/images/IMG_0000.jpg").convert("RGB"))
    for robot, file in zips.items():
        read_zip(file, robot, tmp_path, photo, ("marker",))
