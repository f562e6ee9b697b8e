"""A person in a browser in front of `bakeoff web`: who clicks, types and draws on what is visible, and is counted.

PICTURES=FOLDER keeps a picture of each screen at 400 and 1,280 pixels, light and dark.
"""

import asyncio
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bakeoff.foundation.machine import bind_port
from support.imports import ROOT

WIDTH, HEIGHT = 1280, 800
PICTURES = Path(os.environ["PICTURES"]).resolve() if "PICTURES" in os.environ else None
SHIFT, CONTROL = 8, 2  # as Chromium numbers modifiers
Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels of the photo
# Seconds of a hand. Pointing and dragging with a mouse: MacKenzie, Sellen and Buxton, "A comparison of input devices in
# elemental pointing and dragging tasks", CHI 1991. Thinking and keys: Card, Moran and Newell, "The keystroke-level
# model", CACM 23 (1980), of a good typist.
POINTING, DRAGGING = (-0.107, 0.223), (0.135, 0.249)  # a + b log2(distance / width + 1)
THINKING, KEY = 1.35, 0.2
CORNER = 10.0  # pixels of the screen within which a corner is hit
MOVES_A_SECOND = 25


def load_browser(monkeypatch: pytest.MonkeyPatch, seconds: float | None = None) -> ModuleType:
    """Return docs/images/browser.py, which waits so long for anything to appear."""
    monkeypatch.syspath_prepend(ROOT / "docs/images")
    browser = importlib.import_module("browser")
    if seconds is not None:
        monkeypatch.setattr(browser, "SECONDS", seconds)
    return browser


class Server:
    """`bakeoff web` as a process, which can be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        with bind_port("127.0.0.1", 0, range(0)) as place:
            self.port = place.getsockname()[1]
        self.folder, self.address = folder, f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "bakeoff", "web", "--no-token", "--port", str(self.port)]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}/photos", timeout=30):
                    return
            except OSError:
                assert time.monotonic() < end and self.process.poll() is None, "bakeoff web does not start"
                time.sleep(0.2)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def frame(self, name: str) -> Any:
        with urllib.request.urlopen(f"{self.address}/labels/photos/frame?name={name}") as answer:
            return json.load(answer)

    def boxes(self, name: str) -> list[tuple[str, list[int]]]:
        rows = self.frame(name)["boxes"]
        return [(row["label"], [round(row[side]) for side in ("xmin", "ymin", "xmax", "ymax")]) for row in rows]


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.kill()


class Person:
    """Who works on the page, and what that took."""

    def __init__(self, page: Any, server: Server) -> None:
        self.page, self.server, self.keys, self.drags, self.clicks = page, server, 0, 0, 0
        self._pointer = (0.0, 0.0)  # where the mouse is on the screen
        self.shooting = 0.0  # seconds that pictures took, and no person does

    def __str__(self) -> str:
        return f"{self.clicks} clicks, {self.keys} keys, {self.drags} drags"

    async def open(self, path: str) -> None:
        """Type an address."""
        await self.page.call("Page.navigate", url=f"{self.server.address}{path}")
        await self.page.wait_for("document.readyState === 'complete' && !!document.querySelector('h1')")

    async def arrive(self, path: str) -> None:
        await self.page.wait_for(f"location.pathname === {path!r} && document.readyState === 'complete'")

    async def click(self, element: str) -> None:
        await self.page.wait_for(f"!!{element}")
        await self.page.click(element)
        self.clicks += 1

    async def click_words(self, words: str, inside: str = "document") -> None:
        """Click a link, a button or a label by what it says."""
        every = f"[...{inside}.querySelectorAll('a, button, label.button')]"
        await self.click(f"{every}.find(one => one.textContent.trim() === {words!r} && one.offsetParent)")

    async def press(self, key: str, code: int, modifiers: int = 0) -> None:
        await self.page.press(key, code, modifiers)
        self.keys += 1

    async def type_into(self, element: str, text: str) -> None:
        await self.page.wait_for(f"!!{element}")
        await self.page.type_into(element, text)
        self.clicks, self.keys = self.clicks + 1, self.keys + len(text)

    async def choose_files(self, words: str, selector: str, files: Sequence[Path]) -> None:
        """Click a button that opens the system's dialog, mark all files there, and click Open."""
        await self.page.call("Page.setInterceptFileChooserDialog", enabled=True)
        await self.click_words(words)
        await self.page.choose_files(selector, *files)
        self.clicks, self.keys = self.clicks + 1, self.keys + 1

    async def place(self, x: float, y: float) -> tuple[float, float]:
        """Return where a pixel of the photo is on the screen."""
        left, top, zoom = await self.page.wait_for(
            "(() => { const c = document.getElementById('canvas'), r = c.getBoundingClientRect(); if (!c.dataset.view)"
            " return null; const [zoom, x, y] = JSON.parse(c.dataset.view); return [r.left + x, r.top + y, zoom]; })()"
        )
        return left + x * zoom, top + y * zoom

    async def drag(self, x1: float, y1: float, x2: float, y2: float, modifiers: int = 0) -> None:
        start, end = await self.place(x1, y1), await self.place(x2, y2)
        await self.page.mouse("mousePressed", *start, modifiers)
        for share in (0.3, 0.7, 1.0):
            x, y = (one + share * (other - one) for one, other in zip(start, end, strict=True))
            await self.page.mouse("mouseMoved", x, y, modifiers)
        await self.page.mouse("mouseReleased", *end, modifiers)
        self.drags += 1
        await asyncio.sleep(0.3)

    async def draw_by_hand(self, box: Box, modifiers: int = 0) -> None:
        """Look where the object is, go to its corner, and drag to the other one, as fast as a hand does."""
        start, end = await self.place(*box[:2]), await self.place(*box[2:])
        await asyncio.sleep(THINKING)
        await self._move_by_hand("mouseMoved", self._pointer, start, POINTING, modifiers)
        await self.page.mouse("mousePressed", *start, modifiers)
        await self._move_by_hand("mouseMoved", start, end, DRAGGING, modifiers)
        await self.page.mouse("mouseReleased", *end, modifiers)
        self._pointer, self.drags = end, self.drags + 1
        if modifiers:
            self.keys += 1

    async def _move_by_hand(
        self, kind: str, start: tuple[float, float], end: tuple[float, float], pace: tuple[float, float], modifiers: int
    ) -> None:
        seconds = max(0.1, pace[0] + pace[1] * math.log2(math.dist(start, end) / CORNER + 1))
        began, moves = time.monotonic(), max(3, round(MOVES_A_SECOND * seconds))
        for number in range(1, moves + 1):
            share = number / moves
            share = share * share * share * (10 - 15 * share + 6 * share * share)  # slow at both ends
            x, y = (one + share * (other - one) for one, other in zip(start, end, strict=True))
            is_dragging = pace is DRAGGING
            button = {"button": "left", "buttons": 1} if is_dragging else {"button": "none", "buttons": 0}
            await self.page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, modifiers=modifiers, **button)
            await asyncio.sleep(max(0.0, began + seconds * number / moves - time.monotonic()))

    async def touch(self, kind: str, *points: tuple[float, float]) -> None:
        fingers = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        await self.page.call("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)

    async def frame(self) -> str:
        name: str = await self.page.see("document.getElementById('canvas').dataset.frame")
        return name

    async def add_class(self, label: str) -> None:
        await self.type_into("document.querySelector('#new-class input')", label)
        await self.click("document.querySelector('#new-class button')")
        await self.page.wait_for(f"document.getElementById('classes').innerText.includes('{label}')")

    async def bring_in(self, photos: Sequence[Path]) -> None:
        """Choose photos on the page that the address itself leads to."""
        await self.open("/")
        assert await self.page.see("location.pathname") == "/photos"
        await self.choose_files("Choose photos", "#photos", photos)
        words = f"'{len(photos):,} of {len(photos):,} photos'"
        await self.page.wait_for(f"document.getElementById('sent-words').textContent.startsWith({words})")
        await self.page.wait_for("!document.getElementById('on').hidden")

    async def shoot(self, name: str, pictures: Path | None = PICTURES) -> None:
        """Keep a picture of the screen in each width and scheme. No page is wider than its screen."""
        if pictures is None:
            return
        pictures.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        for width in (400, 1280):
            for scheme in ("light", "dark"):
                media = [{"name": "prefers-color-scheme", "value": scheme}]
                await self.page.call("Emulation.setEmulatedMedia", features=media)
                await self._resize(width, HEIGHT)
                height = min(4000, await self.page.see("document.documentElement.scrollHeight"))
                assert await self.page.see("document.documentElement.scrollWidth") <= width, (name, width)
                await self._resize(width, height)
                await asyncio.sleep(0.5)
                image = await self.page.picture(x=0, y=0, width=width, height=height)
                image.save(pictures / f"{name}-{width}-{scheme}.png")
        await self.page.call("Emulation.setEmulatedMedia", features=[])
        await self._resize(WIDTH, HEIGHT)
        self.shooting += time.monotonic() - began

    async def _resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.page.call("Emulation.setDeviceMetricsOverride", **size)
