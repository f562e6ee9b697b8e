"""A headless Chromium that is driven as a user drives it: real clicks, real keys, and a look at what is on the page."""

import asyncio
import base64
import io
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from PIL import Image

CHROMIUM = (
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
)  # fmt: skip
PORT = "DevToolsActivePort"  # a file in the profile
SECONDS = 120  # for anything to appear, on a busy machine
GIVES_WAY = "navigated or closed"  # words of Chromium's


class Refused(AssertionError):
    """What Chromium does not do, in its words."""


class Page:
    pid = 0  # of the browser

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._calls = socket, 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Of Chromium's DevTools protocol."""
        self._calls += 1
        await self._socket.send_json({"id": self._calls, "method": method, "params": parameters})
        while True:
            answer = await self._socket.receive_json(timeout=SECONDS)
            if answer.get("id") == self._calls:
                if "error" in answer:
                    raise Refused(answer["error"])
                return answer["result"]

    @property
    def port(self) -> int:
        """Return where Chromium listens."""
        port: int = self._socket.get_extra_info("peername")[1]
        return port

    async def see(self, script: str) -> Any:
        """The value of an expression of JavaScript; None while the page has nothing of it, or gives way to another."""
        try:
            answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        except Refused as error:
            if GIVES_WAY not in str(error):
                raise
            return None
        return None if "exceptionDetails" in answer else answer["result"].get("value")

    async def wait_for(self, script: str) -> Any:
        end = time.monotonic() + SECONDS
        while not (found := await self.see(script)):
            assert time.monotonic() < end, f"{script}: did not come; {await self.see('document.body.innerText')}"
            await asyncio.sleep(0.3)
        return found

    async def click(self, element: str) -> None:
        box = f"""(() => {{ const e = {element}; e.scrollIntoView({{block: "nearest"}});
            const r = e.getBoundingClientRect();
            return r.width ? [r.x + r.width / 2, r.y + r.height / 2] : null }})()"""
        x, y = await self.wait_for(box)
        for kind, button in (("mouseMoved", "none"), ("mousePressed", "left"), ("mouseReleased", "left")):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)
        await asyncio.sleep(0.5)

    async def type_into(self, element: str, text: str) -> None:
        await self.click(element)
        await self.see("document.activeElement.select()")
        await self.call("Input.insertText", text=text)
        await asyncio.sleep(0.5)

    async def choose_files(self, selector: str, *files: Path) -> None:
        """Choose files as a person does in the dialog of an input."""
        document = await self.call("DOM.getDocument")
        node = await self.call("DOM.querySelector", nodeId=document["root"]["nodeId"], selector=selector)
        await self.call("DOM.setFileInputFiles", files=[str(file) for file in files], nodeId=node["nodeId"])

    async def mouse(self, kind: str, x: float, y: float, modifiers: int = 0) -> None:
        buttons = 0 if kind == "mouseReleased" else 1
        await self.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1,
            modifiers=modifiers,
        )  # fmt: skip

    async def press(self, key: str, code: int, modifiers: int = 0) -> None:
        """Press a key; its code is that of Windows."""
        text = {"text": key} if len(key) == 1 and not modifiers else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers, **more
            )
        await asyncio.sleep(0.3)

    async def escape(self) -> None:
        await self.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
        await asyncio.sleep(1)

    async def picture(self, **clip: int) -> Image.Image:
        """Of a part of the page: x, y, width, height."""
        shot = await self.call("Page.captureScreenshot", format="png", clip=clip | {"scale": 1})
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")


@asynccontextmanager
async def chromium(width: int, height: int, profile: Path | None = None) -> AsyncIterator[Page]:
    """Start a browser. With a profile it has what an earlier one kept, also over a kill."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as empty:
        folder = profile or Path(empty)
        (folder / PORT).unlink(missing_ok=True)  # of a browser that was killed
        browser = subprocess.Popen([*CHROMIUM, f"--user-data-dir={folder}"], stderr=subprocess.DEVNULL)
        try:
            port = await _port(folder / PORT)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                    [tab] = [tab for tab in await answer.json() if tab["type"] == "page"]
                async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    page = Page(socket)
                    page.pid = browser.pid
                    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
                    await page.call("Emulation.setDeviceMetricsOverride", **size)
                    yield page
        finally:
            browser.terminate()
            browser.wait()


@asynccontextmanager
async def open_tab(page: Page) -> AsyncIterator[Page]:
    """Open another tab of the same browser."""
    target = (await page.call("Target.createTarget", url="about:blank"))["targetId"]
    async with aiohttp.ClientSession() as session:
        address = f"http://127.0.0.1:{page.port}/devtools/page/{target}"
        async with session.ws_connect(address, max_msg_size=0) as socket:
            yield Page(socket)


async def _port(file: Path) -> str:
    end = time.monotonic() + SECONDS
    while not (file.is_file() and file.read_text()):
        assert time.monotonic() < end, "Chromium does not start"
        await asyncio.sleep(0.2)
    return file.read_text().split()[0]
