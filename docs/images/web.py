"""Draws web-*.png: the team's page from a film to a model, clicked through in Chromium as a person does it.

It makes a film of a ball and a cube, brings it in, draws boxes, lets the tracker carry them, trains, stops, goes on,
trains more and downloads the zip. What each page must show is asserted. It takes about ten minutes.
Run it from the repository's root, with OpenCV installed: `python docs/images/web.py [WORKSPACE]`. Without a workspace
it makes a clone of this repository.
"""

import asyncio
import io
import json
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append("tests")

import browser
from browser import Page, chromium
from clone import run
from PIL import Image

from support.moving_things import places, write_film

browser.SECONDS = 900  # for a training to end, on a busy machine
FILM_SECONDS, EVERY = 15, 0.5
WIDTH, HEIGHT = 1100, 800
STEPS, MORE = 200, 300
TEAM_MINUTES, MINUTES = 60, 20  # of the team, and the longest time of a training
NOTHING_RESERVED = "0.0 are reserved"
CHANGES = "train.validate_every_steps=50 train.log_every_steps=5 export.max_drop=0.5"
COLOURS = 128  # of a picture's palette


@dataclass
class Walk:
    """One way through all pages; `pictures` is where they are drawn, if anywhere."""

    page: Page
    address: str
    folder: Path  # the workspace
    pictures: Path | None = None
    drawn: int = 0
    keys: int = 0
    notes: list[str] = field(default_factory=list)

    async def open(self, path: str) -> None:
        await self.page.call("Page.navigate", url=f"{self.address}{path}")
        await self.page.wait_for("document.readyState === 'complete' && !!document.querySelector('h1')")

    async def shoot(self, name: str) -> None:
        if self.pictures is not None:
            await asyncio.sleep(0.5)
            image = await self.page.picture(x=0, y=0, width=WIDTH, height=HEIGHT)
            small = image.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
            self.pictures.mkdir(parents=True, exist_ok=True)
            small.save(self.pictures / f"web-{name}.png", optimize=True)

    async def fill(self, element: str, text: str) -> None:
        await self.page.wait_for(f"document.readyState === 'complete' && !!{element}")
        await self.page.see(
            f"(() => {{ const e = {element}; e.value = {json.dumps(text)}; "
            "for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
        )

    async def wait_for_errand(self) -> None:
        """Wait on an errand's page until its commands have ended well."""
        await self.page.wait_for("location.pathname.startsWith('/activity/')")
        await self.page.wait_for("!!document.querySelector('#errand .errand-done, #errand .errand-failed')")
        log = await self.page.see("document.querySelector('#errand .log').textContent")
        assert await self.page.see("!!document.querySelector('#errand .errand-done')"), log

    async def press(self, key: str, code: int) -> None:
        await self.page.press(key, code)
        self.keys += 1

    async def draw(self, left: float, top: float, right: float, bottom: float) -> None:
        """Draw a box with the mouse, in pixels of the picture."""
        place = """(() => { const c = document.getElementById('canvas'), r = c.getBoundingClientRect();
            const [zoom, x, y] = JSON.parse(c.dataset.view); return [r.left + x, r.top + y, zoom]; })()"""
        x, y, zoom = await self.page.wait_for(place)
        corners = [(x + left * zoom, y + top * zoom), (x + right * zoom, y + bottom * zoom)]
        await self.page.mouse("mousePressed", *corners[0])
        await self.page.mouse("mouseMoved", (corners[0][0] + corners[1][0]) / 2, (corners[0][1] + corners[1][1]) / 2)
        await self.page.mouse("mouseMoved", *corners[1])
        await self.page.mouse("mouseReleased", *corners[1])
        self.drawn += 1

    async def bring_in(self, film: Path) -> None:
        """Send a film, and wait for its pictures."""
        await self.open("/photos")
        await self.fill("document.getElementById('every')", str(EVERY))
        await self.page.choose_files("#file", film)
        await self.wait_for_errand()
        await self.open(f"/photos/{film.stem}")
        await self.shoot("photos")

    async def label(self, film: str) -> None:
        """Draw the boxes that nobody proposes, and accept those that the tracker carried."""
        await self.open(f"/labels/{film}")
        await self.page.wait_for("!!document.getElementById('canvas').dataset.frame")
        for label in ("ball", "cube"):
            await self.fill("document.querySelector('#new-class input')", label)
            await self.page.click("document.querySelector('#new-class button')")
        total = len(await self._frames(film))
        for number in range(total):
            await self._label_frame(film, number, is_last=number + 1 == total)
        left = [frame for frame in await self._frames(film) if not frame[1] or frame[2]]
        assert left == [], left
        self.notes.append(f"{total} frames: {self.drawn} boxes drawn, {self.keys} keys")

    async def _label_frame(self, film: str, number: int, *, is_last: bool) -> None:
        await self.page.wait_for(f"document.getElementById('number').value === '{number + 1}'")
        name = await self.page.see("document.getElementById('canvas').dataset.frame")
        truth = {place[0]: place[1:] for place in places(int(name.split("_")[-1].split("ms")[0]) / 1000)}
        state = await self._frame(film, name)
        proposed = {box["label"] for box in state["proposals"]}
        missing = [label for label in truth if label not in proposed]
        if number == 3:
            await self.shoot("proposals")
        for label in missing:
            await self.press("Escape", 27)
            await self.press(str(["ball", "cube"].index(label) + 1), 49)
            await self.draw(*truth[label])
            await self._see_saved(film, name, label)
        if number == 0:
            await self.shoot("labels")
        if proposed:
            await self.press("Escape", 27)
            await self.press("Enter", 13)
            if not is_last:
                await self.page.wait_for(f"document.getElementById('number').value === '{number + 2}'")
        if missing and not is_last:
            if proposed:
                await self.press("a", 65)
                await self.page.wait_for(f"document.getElementById('number').value === '{number + 1}'")
            await self.press("t", 84)
            await self.page.wait_for("/the tracker proposed|OpenCV/.test(document.getElementById('state').textContent"
                                     " + document.getElementById('problem').textContent)")  # fmt: skip
            await self.press("d", 68)
        elif not proposed and not is_last:
            await self.press("d", 68)

    async def _see_saved(self, film: str, name: str, label: str) -> None:
        for _ in range(60):
            if label in [box["label"] for box in (await self._frame(film, name))["boxes"]]:
                return
            await asyncio.sleep(0.5)
        raise AssertionError(f"{name}: {label} is not saved; {await self.page.see('document.body.innerText')}")

    async def _frames(self, film: str) -> list[list]:
        return json.loads(self.get(f"/labels/{film}/frames"))["frames"]

    async def _frame(self, film: str, name: str) -> dict:
        return json.loads(self.get(f"/labels/{film}/frame?name={name}"))

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"{self.address}{path}") as answer:
            return answer.read()

    async def train(self) -> str:
        """Make a dataset of the frames, and start a training; return the run's address once it takes steps."""
        await self.page.click("document.getElementById('train')")
        await self.page.wait_for("location.pathname === '/train'")
        await self.page.click("document.querySelector('#train details:not([open]) summary')")
        await self.fill("document.getElementById('f-steps')", "-5")
        await self.page.wait_for("document.getElementById('m-steps').textContent.includes('above 0')")
        await self.fill("document.getElementById('f-steps')", str(STEPS))
        await self.fill("document.getElementById('f-minutes')", str(TEAM_MINUTES + 1))
        refused = f"must be at most {TEAM_MINUTES}, got {TEAM_MINUTES + 1}"
        await self.fill("document.getElementById('f-others')", CHANGES)
        await self.page.wait_for(f"document.getElementById('m-minutes').textContent.includes('{refused}')")
        await self.fill("document.getElementById('f-minutes')", str(MINUTES))
        await self.fill("document.getElementById('f-note')", "from the film")
        await self.page.wait_for("!!document.querySelector('#plan table')")
        known = set(await self._runs())
        await self.page.click("document.querySelector('#train [type=submit]')")
        await self.page.wait_for("location.pathname.startsWith('/runs/')")
        name = await self._new_run(known)
        await self.open("/models")
        await self.page.wait_for(f"!document.getElementById('budget').innerText.includes('{NOTHING_RESERVED}')")
        return name

    async def _new_run(self, known: set[str]) -> str:
        for _ in range(300):
            new = [run for run in await self._runs() if run not in known and not run.startswith("sweep-")]
            if new:
                return new[0]
            await asyncio.sleep(1)
        raise AssertionError(await self.page.see("document.body.innerText"))

    async def _runs(self) -> list[str]:
        root = self.folder / ".bakeoff/runs"
        return [path.name for path in root.iterdir()] if root.is_dir() else []

    async def follow(self, name: str, *states: str) -> None:
        """Look at a run's page until it is in one of these states."""
        wanted = ", ".join(f".pill-{state}" for state in states)
        await self.page.wait_for(f"!!document.querySelector('#run :is({wanted})')")
        assert await self.page.see("location.pathname") == f"/runs/{name}"

    async def stop_and_go_on(self, name: str) -> None:
        await self.open(f"/runs/{name}")
        await self.page.wait_for("document.querySelectorAll('#run polyline').length > 1")  # a line for each number
        await self.shoot("live")
        await self.page.click("document.querySelector('#run [data-what=stop]')")
        await self.page.wait_for(f"location.pathname === '/runs/{name}'")
        await self.follow(name, "STOPPED", "SUCCEEDED")
        await self.page.wait_for("!!document.querySelector('#run .pill-STOPPED')")
        await self.page.click("document.querySelector('#run [data-what=\"resume\"]')")
        await self.page.wait_for("!!document.querySelector('#run :is(.pill-QUEUED, .pill-PREPARING)')")
        await self.follow(name, "SUCCEEDED")
        await self.shoot("run")

    async def _wait_for_the_queue(self) -> None:
        while any((self.folder / ".bakeoff/queue").glob("0*")):
            await asyncio.sleep(1)

    async def train_more(self, name: str) -> str:
        await self.page.click("document.querySelector('a[href^=\"/train?more\"]')")
        await self.page.wait_for("location.pathname === '/train' && !!document.getElementById('f-steps')")
        await self.fill("document.getElementById('f-steps')", str(MORE))
        await self.page.wait_for("!!document.querySelector('#plan table')")
        await self.shoot("train")
        known = set(await self._runs())
        await self.page.click("document.querySelector('#train [type=submit]')")
        await self.page.wait_for("location.pathname.startsWith('/runs/')")
        longer = await self._new_run(known)
        await self.open(f"/runs/{longer}")
        await self.follow(longer, "SUCCEEDED")
        await self._wait_for_the_queue()
        return longer

    async def apply(self, name: str) -> None:
        """Take a result into the workspace; then no minutes are reserved any more."""
        await self.open(f"/runs/{name}")
        await self.page.click("document.querySelector('#run [data-what=take]')")
        await self.wait_for_errand()
        await self.open("/models")
        minutes = await self.page.see("document.getElementById('budget').innerText")
        assert NOTHING_RESERVED in minutes and " 0.0 are spent" not in minutes, minutes
        self.notes.append(minutes)

    def download(self, name: str) -> zipfile.ZipFile:
        return zipfile.ZipFile(io.BytesIO(self.get(f"/runs/{name}/download")))


async def walk(address: str, folder: Path, pictures: Path | None = None) -> tuple[zipfile.ZipFile, list[str]]:
    """Go from a film to a model; return the zip, and what was counted."""
    with tempfile.TemporaryDirectory() as place:
        film = Path(place) / "match.mp4"
        write_film(film, FILM_SECONDS)
        async with chromium(WIDTH, HEIGHT) as page:
            way = Walk(page, address, folder, pictures)
            (folder / "conf/team.yaml").write_text(f"minutes: {TEAM_MINUTES}\n", encoding="utf-8")
            await way.bring_in(film)
            await way.label("match")
            name = await way.train()
            await way.stop_and_go_on(name)
            longer = await way.train_more(name)
            await way.open("/models")
            await way.shoot("models")
            await way.open(f"/compare?run={name}&run={longer}")
            await way.shoot("compare")
            archive = way.download(longer)
            await way.apply(longer)
            return archive, way.notes


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Run `bakeoff web` in a workspace; yield its address."""
    command = [sys.executable, "-m", "bakeoff", "web", "--no-token"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        with server.stdout:
            yield server.stdout.readline().split()[2].rstrip("/")
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as place:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(place) / "clone"
        if len(sys.argv) < 2:
            run(Path.cwd(), "git", "clone", "--quiet", ".", str(folder))
        with serve(folder) as address:
            archive, notes = asyncio.run(walk(address, folder.resolve(), Path(__file__).parent))
    print("\n".join([*notes, *archive.namelist()]))


if __name__ == "__main__":
    main()
