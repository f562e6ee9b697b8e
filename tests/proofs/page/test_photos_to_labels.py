"""From forty photos without labels to boxes, in Chromium, by what is visible alone; and kills on the way.

python -m pytest -m slow tests/proofs/page -rP      (`make proofs` runs it, too)

KILLS=30 kills the server more often.
"""

import asyncio
import os
import shutil
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bakeoff.dataset.sources.voc import read_voc
from proofs.page.person import CONTROL, HEIGHT, SHIFT, WIDTH, Person, Server, load_browser, served
from support.imports import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
PHOTOS, SIZE = 40, (640, 480)
KILLS = int(os.environ.get("KILLS", "10"))  # at random moments, other ones each time


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_browser(monkeypatch)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    for name in ("conf/data", "data/raw"):
        (tmp_path / "work" / name).mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    rng, folder = np.random.default_rng(7), tmp_path / "phone"
    folder.mkdir()
    for number in range(PHOTOS):
        blocks = rng.integers(0, 255, (12, 16, 3), np.uint8)
        Image.fromarray(blocks).resize(SIZE, Image.Resampling.NEAREST).save(folder / f"IMG_{number:04d}.jpg")
    return sorted(folder.iterdir())


async def label_all(browser: ModuleType, server: Server, photos: list[Path]) -> None:
    async with browser.chromium(WIDTH, HEIGHT) as page:
        person = Person(page, server)
        await person.bring_in(photos)
        assert await page.see("document.querySelectorAll('#tiles img').length") == PHOTOS
        began = time.monotonic()
        await person.click("document.getElementById('on')")
        await page.wait_for("!!document.getElementById('canvas')?.dataset.frame")
        assert await page.see("document.querySelector('[data-if=proposals]').offsetParent") is None
        await person.add_class("marker")
        for number in range(PHOTOS):
            await page.wait_for(f"document.getElementById('number').value === '{number + 1}'")
            await person.drag(100 + number, 120, 300 + number, 260)
            if number + 1 < PHOTOS:
                await person.press(" ", 32)
        await page.wait_for("document.getElementById('counter').textContent.startsWith('40 of 40')")
        seconds = time.monotonic() - began
        print(f"{PHOTOS} photos: {person.clicks} clicks, {person.keys} keys, {person.drags} drags, "
              f"{60 * PHOTOS / seconds:.0f} boxes a minute by a script that waits 0.3 s after each act")  # fmt: skip
        await person.open("/")
        assert await page.see("location.pathname") == "/train"


def test_forty_photos_without_labels_are_brought_in_and_labelled_by_what_is_visible(
    browser: ModuleType, workspace: Path, photos: list[Path]
) -> None:
    with served(workspace) as server:
        asyncio.run(label_all(browser, server, photos))
    for number, file in enumerate(sorted((workspace / "data/raw/photos/annotations").iterdir())):
        name, size, [(left, top, right, bottom, label)] = read_voc(file.read_bytes())
        assert (name, size, label) == (f"IMG_{number:04d}.jpg", SIZE, "marker")
        assert np.abs(np.array([left, top, right, bottom]) - [100 + number, 120, 300 + number, 260]).max() < 1.5
    assert number + 1 == PHOTOS


async def edit(browser: ModuleType, server: Server, photos: list[Path]) -> None:
    async with browser.chromium(WIDTH, HEIGHT) as page:
        person = Person(page, server)
        await person.bring_in(photos[:3])
        await person.open("/labels/photos")
        for label in ("marker", "cube"):
            await person.add_class(label)
        await page.wait_for("!!document.getElementById('canvas').dataset.frame")
        name = await person.frame()

        async def see(*expected: tuple[str, list[int]]) -> None:
            for _ in range(50):
                there = server.boxes(name)
                if [one[0] for one in there] == [one[0] for one in expected] and all(
                    np.abs(np.subtract(one[1], other[1])).max() <= 2 for one, other in zip(there, expected, strict=True)
                ):
                    return
                await asyncio.sleep(0.1)
            raise AssertionError((there, expected))

        await person.press("1", 49)
        await person.drag(100, 100, 200, 200)
        await see(("marker", [100, 100, 200, 200]))
        await person.drag(150, 150, 250, 180)  # it is chosen, and moves
        await see(("marker", [200, 130, 300, 230]))
        await person.drag(300, 180, 340, 180)  # the handle of one side
        await see(("marker", [200, 130, 340, 230]))
        await person.press("z", 90)
        await see(("marker", [200, 130, 300, 230]))
        await person.press("y", 89)
        await see(("marker", [200, 130, 340, 230]))
        await person.press("n", 78)
        await person.press("2", 50)
        await see(("cube", [200, 130, 340, 230]))
        await person.drag(220, 140, 260, 180, SHIFT)  # within another box
        await see(("cube", [200, 130, 340, 230]), ("cube", [220, 140, 260, 180]))
        await person.press("c", 67, CONTROL)
        await person.press("v", 86, CONTROL)
        await see(("cube", [200, 130, 340, 230]), ("cube", [220, 140, 260, 180]), ("cube", [232, 152, 272, 192]))
        await person.press("Delete", 46)
        await see(("cube", [200, 130, 340, 230]), ("cube", [220, 140, 260, 180]))
        await person.press("n", 78)
        await person.press("ArrowRight", 39, SHIFT)
        await see(("cube", [210, 130, 350, 230]), ("cube", [220, 140, 260, 180]))
        await by_touch(person, see)


async def by_touch(person: Person, see: Any) -> None:
    """Draw with a finger, and zoom with two."""
    await person.page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    await person.press("Escape", 27)
    start, middle, end = await person.place(400, 300), await person.place(450, 350), await person.place(500, 400)
    await person.touch("touchStart", start)
    await person.touch("touchMove", middle)
    await person.touch("touchMove", end)
    await person.touch("touchEnd")
    await see(("cube", [210, 130, 350, 230]), ("cube", [220, 140, 260, 180]), ("cube", [400, 300, 500, 400]))
    zoom = "JSON.parse(document.getElementById('canvas').dataset.view)[0]"
    before = await person.page.see(zoom)
    one, other = await person.place(200, 200), await person.place(300, 200)
    await person.touch("touchStart", one)
    await person.touch("touchStart", one, other)
    for step in range(1, 6):
        await person.touch("touchMove", (one[0] - 10 * step, one[1]), (other[0] + 10 * step, other[1]))
    await person.touch("touchEnd")
    assert await person.page.see(zoom) > 1.3 * before
    await see(("cube", [210, 130, 350, 230]), ("cube", [220, 140, 260, 180]), ("cube", [400, 300, 500, 400]))


def test_boxes_are_moved_resized_copied_deleted_and_undone_by_mouse_keys_and_touch(
    browser: ModuleType, workspace: Path, photos: list[Path]
) -> None:
    with served(workspace) as server:
        asyncio.run(edit(browser, server, photos))


async def kill_later(server: Server, seconds: float) -> None:
    await asyncio.sleep(seconds)
    server.kill()


async def kill_while_drawing(browser: ModuleType, server: Server, photos: list[Path], times: int) -> None:
    async with browser.chromium(WIDTH, HEIGHT) as page:
        person, moments = Person(page, server), np.random.default_rng()
        await person.bring_in(photos[:times])
        await person.open("/labels/photos")
        await person.add_class("marker")
        for number in range(times):
            await page.wait_for(f"document.getElementById('number').value === '{number + 1}'")
            name = await person.frame()
            kill = asyncio.create_task(kill_later(server, moments.uniform(0, 0.8)))
            await person.drag(100, 100, 200, 200)
            await kill
            server.start()
            await page.call("Page.navigate", url="about:blank")  # the tab dies, too
            await person.open("/labels/photos")
            for _ in range(100):
                if server.boxes(name):
                    break
                await asyncio.sleep(0.1)
            assert server.boxes(name) == [("marker", [100, 100, 200, 200])], name
        assert await page.see("Object.keys(localStorage).filter(key => key.startsWith('bakeoff-draft')).length") == 0


def test_no_box_is_lost_when_the_server_is_killed_and_the_tab_is_closed(
    browser: ModuleType, workspace: Path, photos: list[Path]
) -> None:
    with served(workspace) as server:
        asyncio.run(kill_while_drawing(browser, server, photos, KILLS))


async def break_off(browser: ModuleType, server: Server, photos: list[Path]) -> None:
    async with browser.chromium(WIDTH, HEIGHT) as page:
        person = Person(page, server)
        await person.open("/photos")
        await page.choose_files("#photos", *photos)
        await page.wait_for("document.querySelectorAll('#tiles img').length > 5")
        server.kill()
        await asyncio.sleep(1)
        server.start()
        await person.open("/photos")
        await page.see(
            "(() => { const send = window.fetch; window.sent = 0; window.fetch = (address, more) => {"
            " if (more?.method === 'PUT') window.sent += 1; return send(address, more); }; })()"
        )
        here = len(list((server.folder / "data/raw/photos/images").iterdir()))
        await page.choose_files("#photos", *photos)
        await page.wait_for("!document.getElementById('on').hidden")
        assert 5 < here < PHOTOS
        assert await page.see("window.sent") <= PHOTOS - here


def test_photos_that_came_before_a_kill_are_not_sent_again(
    browser: ModuleType, workspace: Path, photos: list[Path]
) -> None:
    with served(workspace) as server:
        asyncio.run(break_off(browser, server, photos))
    images = sorted((workspace / "data/raw/photos/images").iterdir())
    assert [path.name for path in images] == [path.name for path in photos]
