"""SIGKILL at random moments over the server, the queue and the browser: no photo, no box and no training is lost.

python -m pytest -m slow tests/proofs/page/test_kills.py -rP      (`make proofs` runs it, too)

KILLS=30 is how many, a third of them while photos come in, a third while boxes are drawn, a third in a training. SEED=7
repeats the moments and the victims of a run that printed it.
"""

import asyncio
import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import ModuleType

import numpy as np
import psutil
import pytest
from aiohttp import ClientError
from PIL import Image

from proofs.page.labelled_set import label_photos
from proofs.page.person import HEIGHT, WIDTH, Person, Server, load_browser, served

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
KILLS = int(os.environ.get("KILLS", "30"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(10_000)))
EACH = -(-KILLS // 3)
AT_ONCE = 12  # photos that one bring-in has
SIZE = (640, 480)
SERVER, BROWSER, BOTH, QUEUE = "the server", "the browser", "the server, then the browser", "the queue"
NOTICED_S = 0.1  # after the button of the mouse is up; earlier nobody has seen that the box is there
STEPS, SECONDS = 1500, 600


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One as `bakeoff init` leaves it."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    folder = tmp_path / "work"
    subprocess.run([sys.executable, "-m", "bakeoff", "init", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return folder


def draw_photos(folder: Path, count: int) -> list[Path]:
    folder.mkdir()
    rng = np.random.default_rng(SEED)
    for number in range(count):
        blocks = rng.integers(0, 255, (12, 16, 3), np.uint8)
        Image.fromarray(blocks).resize(SIZE, Image.Resampling.NEAREST).save(folder / f"IMG_{number:04d}.jpg")
    return sorted(folder.iterdir())


class Desk:
    """A server and a browser that are killed and started again. The browser keeps its profile."""

    def __init__(self, browser: ModuleType, server: Server, profile: Path, part: str) -> None:
        self.browser, self.server, self.profile = browser, server, profile
        self.chance = random.Random(f"{SEED} {part}")
        self.victims = Counter[str]()

    @asynccontextmanager
    async def person(self) -> AsyncIterator[Person]:
        async with self.browser.chromium(WIDTH, HEIGHT, self.profile) as page:
            yield Person(page, self.server)

    async def strike(self, victim: str, pid: int, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.victims[victim] += 1
        if victim in (SERVER, BOTH):
            self.server.kill()
        if victim == BOTH:
            await asyncio.sleep(self.chance.uniform(NOTICED_S, 1.0))
        if victim in (BROWSER, BOTH):
            kill_tree(pid)

    def restart(self) -> None:
        if self.server.process.poll() is not None:
            self.server.start()

    def print(self, part: str) -> None:
        victims = ", ".join(f"{victim} {count}" for victim, count in sorted(self.victims.items()))
        print(f"seed {SEED}, {part}: {sum(self.victims.values())} kills ({victims}), nothing lost")


def kill_tree(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):
                one.kill()


GONE = (AssertionError, ClientError, OSError, TypeError, asyncio.TimeoutError)  # of a browser that was killed


async def kill_while_bringing_in(desk: Desk, photos: list[Path]) -> None:
    for number in range(EACH):
        part, victim = photos[AT_ONCE * number : AT_ONCE * (number + 1)], desk.chance.choice([SERVER, BROWSER])
        with suppress(*GONE):
            async with desk.person() as person:
                await person.open("/photos")
                await person.choose_files("Choose photos", "#photos", part)
                await desk.strike(victim, person.page.pid, desk.chance.uniform(0, 1.0))
                desk.restart()
                if victim == SERVER:  # the page goes on by itself
                    await wait_until_here(person, part)
        if victim == BROWSER:
            async with desk.person() as person:
                await person.open("/photos")
                await person.choose_files("Choose photos", "#photos", part)
                await wait_until_here(person, part)


async def wait_until_here(person: Person, photos: list[Path]) -> None:
    words = f"'{len(photos)} of {len(photos)} photos'"
    await person.page.wait_for(f"document.getElementById('sent-words').textContent.startsWith({words})")
    await person.page.wait_for("!document.getElementById('on').hidden")
    assert not await person.page.see("document.querySelector('#troubles li')?.innerText")


def run(browser: ModuleType, workspace: Path, part: str, way: Callable[[Desk], object]) -> None:
    print(f"SEED={SEED} KILLS={KILLS}")  # also where something falls
    profile = workspace.parent / "profile"
    profile.mkdir()
    with served(workspace) as server:
        desk = Desk(browser, server, profile, part)
        asyncio.run(way(desk))  # type: ignore[arg-type]
        desk.print(part)


def digests(files: list[Path]) -> list[str]:
    return sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


def test_no_photo_is_lost_and_none_comes_twice(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = draw_photos(tmp_path / "phone", EACH * AT_ONCE)
    browser = load_browser(monkeypatch)
    run(browser, workspace, "bringing in", lambda desk: kill_while_bringing_in(desk, photos))
    here = [*(workspace / "data/raw/photos/images").iterdir()]
    assert digests(here) == digests(photos)


async def kill_while_drawing(desk: Desk, photos: list[Path]) -> None:
    async with desk.person() as person:
        await person.bring_in(photos)
        await person.click_words("Label them")
        await person.page.wait_for("!!document.getElementById('canvas')?.dataset.frame")
        await person.add_class("marker")
    for photo in photos:
        victim, name = desk.chance.choice([SERVER, BROWSER, BOTH]), f"images/{photo.name}"
        is_drawn = False
        with suppress(*GONE):
            async with desk.person() as person:
                await person.open(f"/labels/photos#{name.replace('/', '%2F')}")
                await person.page.wait_for(f"document.getElementById('canvas').dataset.frame === {name!r}")
                strike = asyncio.create_task(desk.strike(victim, person.page.pid, desk.chance.uniform(0, 0.8)))
                await person.drag(100, 100, 200, 200)  # it takes longer than NOTICED_S after the button is up
                is_drawn = True
                await strike
        desk.restart()
        async with desk.person() as person:
            await person.open("/labels/photos")
            await person.page.wait_for("!!document.getElementById('canvas')?.dataset.frame")
            for _ in range(50):
                if (boxes := person.server.boxes(name)) or not is_drawn:
                    break
                await asyncio.sleep(0.1)
            wanted = [("marker", [100, 100, 200, 200])]
            print(victim, "drawn" if is_drawn else "not drawn yet", boxes)
            assert boxes == wanted if is_drawn else boxes in ([], wanted), (victim, name, boxes)


def test_no_box_is_lost(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photos = draw_photos(tmp_path / "phone", EACH)
    run(load_browser(monkeypatch), workspace, "drawing", lambda desk: kill_while_drawing(desk, photos))


def list_workers(workspace: Path, server: int) -> list[psutil.Process]:
    """Return the processes that work for the queue: those below the workspace, without the server."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, FileNotFoundError):
            if process.pid != server and Path(process.cwd()).is_relative_to(workspace):
                found.append(process)
    return sorted(found, key=lambda one: one.pid)


async def kill_in_a_training(desk: Desk, workspace: Path) -> None:
    async with desk.person() as person:
        await person.open("/train")
        await person.click("document.querySelector('input[value=raspberry_pi]').closest('label')")
        await person.click("document.querySelector('details summary')")
        await person.type_into("document.getElementById('f-steps')", str(STEPS))
        await person.page.wait_for("!!document.querySelector('#plan table')")
        await person.click_words("Start")
        await person.page.wait_for("location.pathname.startsWith('/runs/')")
        address = await person.page.see("location.pathname")
    struck = 0
    while struck < EACH:
        victim, seconds = desk.chance.choice([SERVER, BROWSER, QUEUE, QUEUE]), desk.chance.uniform(0, 12)
        async with desk.person() as person:
            address = await open_training(person, address)
            words = await go_on(person)
            if "done" in words:
                break
            await asyncio.sleep(seconds)
            if victim == QUEUE:
                workers = list_workers(workspace, desk.server.process.pid)
                if not workers:
                    continue
                one = desk.chance.choice(workers)
                with suppress(psutil.Error):
                    print(f"   {words}, {seconds:.1f} s later ->", " ".join(one.cmdline())[-90:])
                    one.kill()
                desk.victims[victim] += 1
            else:
                print(f"   {words}, {seconds:.1f} s later -> {victim}")
                await desk.strike(victim, person.page.pid, 0)
            struck += 1
        desk.restart()
    async with desk.person() as person:
        address = await open_training(person, address)
        for _ in range(SECONDS):
            if "done" in (words := await go_on(person)):
                break
            await asyncio.sleep(1)
        assert "done" in words, words
        await person.open("/models")
        assert await person.page.wait_for("document.querySelectorAll('#runs tr').length") == 1
        text = await person.page.see("document.getElementById('runs').innerText")
        print("  ", " ".join(text.split()))
        await person.open("/robot")
        await person.page.wait_for("document.body.innerText.includes('Download the zip')")


async def open_training(person: Person, address: str) -> str:
    """Return the address of the only training. One that is tried again has a new one."""
    await person.open("/models")
    link = await person.page.wait_for("document.querySelector('#runs tr a')?.getAttribute('href')")
    await person.open(link)
    return str(link)


async def go_on(person: Person) -> str:
    """Press the button by which a training goes on, if the page offers one. Return what the page says."""
    await asyncio.sleep(1)
    for words in ("Run the queue", "Resume", "Try again"):
        button = f"[...document.querySelectorAll('#run button')].find(one => one.textContent.trim() === {words!r})"
        if await person.page.see(f"!!{button}"):
            print(
                "  ",
                words,
                "at",
                " ".join((await person.page.see("document.querySelector('#run .big').innerText")).split()),
            )
            await person.click(button)
            await asyncio.sleep(2)
            break
    return " ".join((await person.page.see("document.querySelector('#run .big')?.innerText") or "").split())


def test_no_training_is_lost(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    label_photos(workspace)
    browser = load_browser(monkeypatch, SECONDS)
    run(browser, workspace, "training", lambda desk: kill_in_a_training(desk, workspace))
