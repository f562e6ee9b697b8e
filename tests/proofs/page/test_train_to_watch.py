"""From labelled photos to a trained model in Chromium, by what is visible alone: start, watch, stop, resume, done.

python -m pytest -m slow tests/proofs/page/test_train_to_watch.py -rP      (`make proofs` runs it, too)
"""

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from bakeoff.foundation.machine import bind_port
from support.imports import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
PHOTOS, SIZE, STEPS = 16, (96, 96), 240
SECONDS = 600  # for a state to come, on a busy machine
PICTURES = os.environ.get("PICTURES")  # a folder that gets pictures of each screen
NOTE = "the new camera"
LABEL = (
    "<annotation><size><width>96</width><height>96</height><depth>3</depth></size><object><name>ball</name><bndbox>"
    "<xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox></object></annotation>"
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return one of `bakeoff init` with labelled photos, as the steps Photos and Labels leave it."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.syspath_prepend(ROOT / "docs/images")
    folder = tmp_path / "work"
    subprocess.run([sys.executable, "-m", "bakeoff", "init", str(folder)], check=True)
    for inside in ("images", "annotations"):
        (folder / "data/raw/field" / inside).mkdir(parents=True)
    for number in range(PHOTOS):
        x, y = 8 + 4 * (number % 8), 10 + 3 * number
        box = (x, y, x + 32, y + 28)
        image = Image.new("RGB", SIZE, (40, 90 + number, 60))
        ImageDraw.Draw(image).ellipse(box, fill="orange")
        image.save(folder / f"data/raw/field/images/{number}.jpg")
        (folder / f"data/raw/field/annotations/{number}.xml").write_text(LABEL.format(*box), encoding="utf-8")
    (folder / "conf/data/field.yaml").write_text("kind: pascal_voc\npath: data/raw/field\n", encoding="utf-8")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for command in (["add", "--all"], ["commit", "--quiet", "-m", "Begin"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with bind_port("127.0.0.1", 0, range(0)) as place:
        port = place.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "bakeoff", "web", "--no-token", "--port", str(port)], cwd=folder,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


class Watcher:
    """Who starts a training and looks at its page."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address, self.seen, self.clicks = page, address, list[str](), 0

    async def open(self, path: str) -> None:
        end = time.monotonic() + 60
        while True:
            await self.page.call("Page.navigate", url=f"{self.address}{path}")
            for _ in range(10):  # an answer takes a moment
                await asyncio.sleep(0.5)
                if await self.page.see("document.readyState === 'complete' && !!document.querySelector('h1')"):
                    return
            assert time.monotonic() < end, "bakeoff web does not start"

    async def click(self, element: str) -> None:
        await self.page.click(element)
        self.clicks += 1

    async def picture(self, name: str) -> None:
        for width in (400, 1280) if PICTURES else ():
            for colours in ("light", "dark"):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                await self.page.call("Emulation.setDeviceMetricsOverride", **size)
                media = [{"name": "prefers-color-scheme", "value": colours}]
                await self.page.call("Emulation.setEmulatedMedia", features=media)
                await asyncio.sleep(0.5)
                assert await self.page.see("document.documentElement.scrollWidth <= innerWidth"), (name, width)
                shot = await self.page.picture(x=0, y=0, width=width, height=900)
                shot.save(Path(str(PICTURES)) / f"{name}-{width}-{colours}.png")

    async def wait_for(self, *words: str) -> str:
        """Return which of the words the training's card has at last; each that it had before is noted."""
        end = time.monotonic() + SECONDS
        while True:
            doing = await self.page.see("document.querySelector('#run .big')?.innerText") or ""
            text = " ".join(doing.split())
            if text and (not self.seen or self.seen[-1] != text):
                self.seen.append(text)
            if found := next((word for word in words if word in text), None):
                return found
            assert time.monotonic() < end and "failed" not in text, (words, self.seen)
            await asyncio.sleep(0.2)

    async def count_rows(self) -> int:
        await self.open("/models")
        return int(await self.page.wait_for("document.querySelectorAll('#runs tr').length"))


def test_a_person_starts_a_training_watches_it_stops_it_and_resumes_it(workspace: Path) -> None:
    browser = importlib.import_module("browser")

    async def walk(address: str) -> Watcher:
        async with browser.chromium(1280, 900) as page:
            watcher = Watcher(page, address)
            await watcher.open("/train")
            await page.wait_for("!!document.querySelector('#plan table') && document.body.innerText.includes('field')")
            await watcher.picture("train")
            await watcher.click("document.querySelector('input[value=raspberry_pi]')")
            await watcher.click("document.querySelector('details summary')")
            await page.type_into("document.getElementById('f-steps')", str(STEPS))
            await page.type_into("document.getElementById('f-note')", NOTE)
            await page.wait_for("!!document.querySelector('#plan table')")
            is_gone = "(() => { const f = document.getElementById('f-note'); f.dispatchEvent(new Event('input'," \
                " {bubbles: true})); return !document.querySelector('#plan table') })()"  # fmt: skip
            assert await page.see(is_gone)  # nothing of an older plan stays
            await page.wait_for("!!document.querySelector('#plan table')")
            await watcher.click("document.querySelector('button.main')")
            await page.wait_for("location.pathname.startsWith('/runs/')")
            address_of_run = await page.see("location.pathname")
            await watcher.wait_for("pictures")
            assert NOTE in await page.see("document.querySelector('h1').innerText")
            assert await watcher.count_rows() == 1
            await watcher.open(address_of_run)
            await watcher.wait_for("step ")
            await watcher.picture("running")
            await watcher.click("document.querySelector('[data-what=stop]')")
            await watcher.wait_for("stops after", "stopped at", "evaluating")
            await watcher.click("document.querySelector('[data-what=resume]')")
            await page.wait_for("location.pathname.startsWith('/runs/')")
            assert await watcher.count_rows() == 1
            await watcher.open(address_of_run)
            assert await watcher.wait_for("done") and await watcher.count_rows() == 1
            await watcher.picture("models")
            name = await page.see("document.querySelector('#runs code').innerText")
            await watcher.open(f"/runs/{name}")
            await watcher.picture("done")
            text = await page.see("document.body.innerText")
            assert NOTE in text and f"{STEPS} of {STEPS}" in text and "field · ssd_small" in text
            return watcher

    with served(workspace) as address:
        watcher = asyncio.run(walk(address))
    states = " | ".join(watcher.seen)
    for words in ("checking pictures", "step ", "exporting", "done"):
        assert words in states, states
    print(f"{watcher.clicks} clicks; it said: {states}")
