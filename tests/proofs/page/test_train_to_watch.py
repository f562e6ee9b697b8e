"""From labelled photos to a trained model in Chromium, by what is visible alone: start, watch, stop, resume, done; and
a training that fails.

python -m pytest -m slow tests/proofs/page/test_train_to_watch.py -rP      (`make proofs` runs it, too)
"""

import asyncio
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proofs.page.labelled_set import label_photos
from proofs.page.person import HEIGHT, WIDTH, Person, Server, load_browser, served

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
STEPS = 240
SECONDS = 600  # for a state to come, on a busy machine
NOTE = "the new camera"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return one of `bakeoff init` with labelled photos, as the steps Photos and Labels leave it."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    folder = tmp_path / "work"
    subprocess.run([sys.executable, "-m", "bakeoff", "init", str(folder)], check=True)
    label_photos(folder)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for command in (["add", "--all"], ["commit", "--quiet", "-m", "Begin"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder


class Watcher(Person):
    """Who starts a training and looks at its page."""

    def __init__(self, page: Any, server: Server) -> None:
        super().__init__(page, server)
        self.seen = list[str]()

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
            assert time.monotonic() < end and ("failed" not in text or "failed" in words), (words, self.seen)
            await asyncio.sleep(0.2)

    async def count_rows(self) -> int:
        await self.open("/models")
        return int(await self.page.wait_for("document.querySelectorAll('#runs tr').length"))


def test_a_person_starts_a_training_watches_it_stops_it_and_resumes_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = load_browser(monkeypatch)

    async def walk(server: Server) -> Watcher:
        async with browser.chromium(WIDTH, HEIGHT) as page:
            watcher = Watcher(page, server)
            await watcher.open("/train")
            await page.wait_for("!!document.querySelector('#plan table') && document.body.innerText.includes('field')")
            await watcher.shoot("train")
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
            await watcher.shoot("running")
            await watcher.click("document.querySelector('[data-what=stop]')")
            await watcher.wait_for("stops after", "stopped at", "evaluating")
            await watcher.click("document.querySelector('[data-what=resume]')")
            await page.wait_for("location.pathname.startsWith('/runs/')")
            assert await watcher.count_rows() == 1
            await watcher.open(address_of_run)
            assert await watcher.wait_for("done") and await watcher.count_rows() == 1
            await watcher.shoot("models")
            name = await page.see("document.querySelector('#runs code').innerText")
            await watcher.open(f"/runs/{name}")
            await watcher.shoot("done")
            text = await page.see("document.body.innerText")
            assert NOTE in text and f"{STEPS} of {STEPS}" in text and "field · ssd_small" in text
            return watcher

    with served(workspace) as server:
        watcher = asyncio.run(walk(server))
    states = " | ".join(watcher.seen)
    for words in ("checking pictures", "step ", "exporting", "done"):
        assert words in states, states
    print(f"{watcher.clicks} clicks; it said: {states}")


def test_a_training_that_fails_says_why_and_its_form_is_changed_by_a_button(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = load_browser(monkeypatch)

    async def walk(server: Server) -> None:
        async with browser.chromium(WIDTH, HEIGHT) as page:
            watcher = Watcher(page, server)
            await watcher.open("/train")
            await page.wait_for("!!document.querySelector('#plan table') && document.body.innerText.includes('field')")
            await watcher.click("document.querySelector('details summary')")
            await page.type_into("document.getElementById('f-others')", "lr.peak=2000")  # more than is allowed
            await page.wait_for("!!document.querySelector('#plan table')")
            await watcher.click_words("Start")
            await page.wait_for("location.pathname.startsWith('/runs/')")
            await watcher.wait_for("failed")
            print(watcher.seen[-1])
            assert "lr.peak: must be at most 1,000" in watcher.seen[-1]
            await watcher.shoot("refused")
            await watcher.click_words("Change it first")
            await watcher.arrive("/train")
            others: str = await page.wait_for("document.getElementById('f-others').value")
            assert "lr.peak=2000" in others
            too_large = "lr.peak=900"  # so that it diverges
            await page.type_into("document.getElementById('f-others')", others.replace("lr.peak=2000", too_large))
            await page.wait_for("!!document.querySelector('#plan table')")
            await watcher.click_words("Start")
            await page.wait_for("location.pathname.startsWith('/runs/')")
            watcher.seen.clear()
            await watcher.wait_for("failed")
            print(watcher.seen[-1])
            assert "step" in watcher.seen[-1]
            await watcher.shoot("failed")
            await watcher.click_words("Change it, and train again")
            await watcher.arrive("/train")
            assert too_large in await page.wait_for("document.getElementById('f-others').value")
            assert await page.see("document.getElementById('f-data').value") == "field"

    with served(workspace) as server:
        asyncio.run(walk(server))
