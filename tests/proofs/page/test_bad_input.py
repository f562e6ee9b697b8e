"""Bad input in Chromium: each is said on the page where the person is, in a sentence with a button that helps.

python -m pytest -m slow tests/proofs/page/test_bad_input.py -rP      (`make proofs` runs it, too)

It prints what the page says. The disk that is full is a small one in memory, which needs root.
"""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bakeoff.dataset.sources.voc import read_voc
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.importing.datasets.copying import KEPT_FREE
from proofs.page.person import HEIGHT, WIDTH, Person, load_browser, served
from support.imports import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
HEIC = b"\0\0\0\x18ftypheic" + b"\0" * 200
FILM = b"\0\0\0\x20ftypisom" + b"\0" * 200
PHOTOS, BYTES = 12, 3_000_000  # of a disk that has room for some of them
Way = Callable[[Person, Path], Awaitable[None]]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return fill_workspace(tmp_path / "work")


def fill_workspace(folder: Path) -> Path:
    for name in ("conf/data", "data/raw"):
        (folder / name).mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A workspace on a disk of its own, on which half of the photos have room."""
    place = tmp_path / "disk"
    place.mkdir()
    size = KEPT_FREE + PHOTOS * BYTES // 2
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield fill_workspace(place / "work")
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def draw(file: Path, seed: int = 0, size: tuple[int, int] = (640, 480), **how: Any) -> Path:
    blocks = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8)
    Image.fromarray(blocks).resize(size, Image.Resampling.NEAREST).save(file, **how)
    return file


def write(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


def act(browser: ModuleType, workspace: Path, way: Way) -> None:
    async def run() -> None:
        with served(workspace) as server:
            async with browser.chromium(WIDTH, HEIGHT) as page:
                person = Person(page, server)
                await person.open("/photos")
                await way(person, workspace)

    asyncio.run(run())


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_browser(monkeypatch)


async def bring(person: Person, *files: Path) -> None:
    """Choose files, and wait until the page has tried them all."""
    await person.choose_files("Choose photos", "#photos", files)
    await person.page.wait_for("document.querySelector('#bring').getAttribute('aria-disabled') === 'true'")
    await wait_until_tried(person)


async def wait_until_tried(person: Person) -> None:
    await person.page.wait_for("document.querySelector('#bring').getAttribute('aria-disabled') !== 'true'")
    print("  ", await person.page.see("document.getElementById('sent-words').textContent"))


async def list_troubles(person: Person) -> list[str]:
    script = "[...document.querySelectorAll('#troubles li')].map(one => one.innerText.replaceAll('\\n', ' '))"
    troubles: list[str] = await person.page.see(script)
    print("  ", *troubles, sep="\n   ")
    return troubles


def list_photos(workspace: Path) -> list[Path]:
    return sorted((workspace / "data/raw/photos/images").iterdir())


def test_photos_that_the_browser_cannot_read_say_once_how_an_iphone_sends_jpegs(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    files = [write(tmp_path / f"IMG_{number}.heic", HEIC + bytes([number])) for number in range(40)]

    async def way(person: Person, folder: Path) -> None:
        await bring(person, *files, draw(tmp_path / "good.jpg"))
        [trouble] = await list_troubles(person)
        assert all(word in trouble for word in ("HEIC", "39 more", "iPhone", "Choose JPEGs")), trouble
        assert [path.name for path in list_photos(folder)] == ["good.jpg"]

    act(browser, workspace, way)


def test_photos_of_108_megapixels_are_taken_or_made_smaller_by_a_button(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    """One can be decoded at an eighth of its size; the other one cannot."""
    size = (12_000, 9_000)
    files = [draw(tmp_path / "a.jpg", 1, size), draw(tmp_path / "wall.jpg", 2, size, progressive=True)]

    async def way(person: Person, folder: Path) -> None:
        await bring(person, *files)
        [trouble] = await list_troubles(person)
        assert "wall.jpg" in trouble and "pixels" in trouble
        await person.click_words("Convert it here")
        await person.page.wait_for("document.querySelectorAll('#tiles img').length === 2")
        assert not await list_troubles(person)
        sizes = []
        for photo in list_photos(folder):
            with quiet_pillow(), Image.open(photo) as opened:
                sizes.append(opened.size)
        assert sizes == [size, (4096, 3072)]
        began = time.monotonic()
        await person.open("/labels/photos#images%2Fa.jpg")
        await person.page.wait_for("!!document.getElementById('canvas')?.dataset.frame")
        print(f"   in the editor after {time.monotonic() - began:.1f} s")

    act(browser, workspace, way)


def test_a_film_with_the_name_of_a_photo_gives_its_pictures(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    async def way(person: Person, folder: Path) -> None:
        await bring(person, write(tmp_path / "match.jpg", FILM))
        [trouble] = await list_troubles(person)
        assert "match.jpg" in trouble and "video" in trouble
        await person.click_words("Take pictures out of it")
        await person.page.wait_for("location.pathname.startsWith('/activity/')")
        words = await person.page.wait_for(
            "document.querySelector('#errand .errand-failed') && document.body.innerText"
        )
        assert "match.mp4" in words  # this one is empty, or OpenCV is not here

    act(browser, workspace, way)


def test_forty_copies_of_a_photo_come_once_and_those_that_look_like_it_are_left_out_by_a_button(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    copies = [draw(tmp_path / f"copy_{number}.jpg") for number in range(40)]
    others = [draw(tmp_path / f"alike_{number}.jpg", quality=60 + number) for number in range(10)]

    async def way(person: Person, folder: Path) -> None:
        await bring(person, *copies)
        assert len(list_photos(folder)) == 1 and not await list_troubles(person)
        await bring(person, *others)
        assert len(list_photos(folder)) == 11
        await person.click_words("Look at those marked")
        await person.click_words("Leave out the 10 marked")
        await person.arrive("/photos/photos")
        await person.page.wait_for("document.body.innerText.includes('1 photo, 0 labelled, 10 left out')")
        assert len(list_photos(folder)) == 1

    act(browser, workspace, way)


def test_a_network_that_is_gone_for_a_while_loses_no_photo_and_asks_for_nothing(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    """As a phone that sleeps in an upload."""
    files = [draw(tmp_path / f"IMG_{number:04d}.jpg", number) for number in range(40)]

    async def way(person: Person, folder: Path) -> None:
        page = person.page
        await page.call("Network.enable")
        still = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        await person.choose_files("Choose photos", "#photos", files)
        await page.wait_for("document.querySelectorAll('#tiles img').length > 5")
        await page.call("Network.emulateNetworkConditions", offline=True, **still)
        said = await page.wait_for("document.getElementById('problem').innerText")
        print("  ", said)
        await asyncio.sleep(5)
        here = len(list_photos(folder))
        await page.call("Network.emulateNetworkConditions", offline=False, **still)
        await page.wait_for("document.getElementById('sent-words').textContent.startsWith('40 of 40 photos')")
        await wait_until_tried(person)
        assert not await list_troubles(person) and not await page.see("document.getElementById('problem').innerText")
        assert 5 < here < len(list_photos(folder)) == 40

    act(browser, workspace, way)


def test_photos_that_are_gone_before_they_were_sent_are_named_and_the_others_come(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    files = [draw(tmp_path / f"IMG_{number:04d}.jpg", number) for number in range(40)]

    async def way(person: Person, folder: Path) -> None:
        page = person.page
        await person.choose_files("Choose photos", "#photos", files)
        await page.wait_for("document.querySelectorAll('#tiles img').length > 2")
        for file in files[-5:]:
            file.unlink()
        await wait_until_tried(person)
        troubles = await list_troubles(person)
        assert len(troubles) == 40 - len(list_photos(folder)) == 5
        assert all("is gone" in trouble and "Choose another" in trouble for trouble in troubles)

    act(browser, workspace, way)


def test_a_disk_that_is_full_is_said_once_and_the_rest_is_sent_by_a_button(
    browser: ModuleType, small_disk: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    files = []
    for number in range(PHOTOS):
        files.append(tmp_path / f"IMG_{number:04d}.png")
        Image.fromarray(rng.integers(0, 255, (1000, 1000, 3), np.uint8)).save(files[-1])

    async def way(person: Person, folder: Path) -> None:
        await bring(person, *files)
        [trouble] = await list_troubles(person)
        assert all(word in trouble for word in ("no space", "free some", "Send the rest")), trouble
        assert 0 < len(list_photos(folder)) < PHOTOS
        subprocess.run(["mount", "-o", "remount,size=1g", str(small_disk.parent)], check=True)
        await person.click_words("Send the rest")
        await person.page.wait_for("document.getElementById('sent-words').textContent.includes(' of ')"
                                   " && !document.querySelector('#troubles li')")  # fmt: skip
        for _ in range(100):
            if len(list_photos(folder)) == PHOTOS:
                break
            await asyncio.sleep(0.3)
        assert len(list_photos(folder)) == PHOTOS

    act(browser, small_disk, way)


async def open_editor(person: Person, tmp_path: Path, count: int = 2) -> None:
    await bring(person, *(draw(tmp_path / f"IMG_{number}.jpg", number) for number in range(count)))
    await person.click_words("Label them")
    await person.page.wait_for("!!document.getElementById('canvas')?.dataset.frame")
    await person.add_class("marker")


def test_a_photo_without_the_object_has_a_button_and_counts_as_labelled(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    async def way(person: Person, folder: Path) -> None:
        await open_editor(person, tmp_path)
        await person.click_words("Nothing here")
        await person.page.wait_for("document.getElementById('counter').textContent.startsWith('1 of 2')")
        assert "nothing here" in await person.page.see("document.getElementById('state').textContent")
        [file] = (folder / "data/raw/photos/annotations").iterdir()
        assert not read_voc(file.read_bytes())[2]

    act(browser, workspace, way)


def test_a_class_that_is_misspelt_is_asked_about_and_joined(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    async def way(person: Person, folder: Path) -> None:
        page = person.page
        await open_editor(person, tmp_path, 3)
        for label in ("markr", "Marker"):
            await page.type_into("document.querySelector('#new-class input')", label)
            await person.click("document.querySelector('#new-class button')")
            said = await page.wait_for("document.getElementById('problem').innerText")
            print("  ", said)
            assert label in said
            await person.click_words("Use “marker”")
        assert await page.see("document.getElementById('classes').innerText.trim()") == "1 marker"
        for number, label in enumerate(("marker", "markr", "Marker")):  # as another program wrote them
            write_box(folder, f"IMG_{number}", label, (10, 10, 90, 90))
        await person.open("/photos/photos")
        for left in (1, 0):
            await page.wait_for("document.querySelectorAll('.troubles li').length > 0")
            print("  ", await page.see("document.querySelector('.troubles').innerText"))
            await person.click_words("Make all of them “marker”")
            await page.wait_for(f"document.querySelectorAll('.troubles li').length === {left}")
        await page.wait_for("!document.querySelector('.troubles')")
        files = (folder / "data/raw/photos/annotations").iterdir()
        assert {read_voc(file.read_bytes())[2][0][4] for file in files} == {"marker"}

    act(browser, workspace, way)


def write_box(folder: Path, stem: str, label: str, box: tuple[int, int, int, int]) -> None:
    sides = zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    inner = "".join(f"<{side}>{value}</{side}>" for side, value in sides)
    text = f"<annotation><object><name>{label}</name><bndbox>{inner}</bndbox></object></annotation>"
    (folder / "data/raw/photos/annotations").mkdir(exist_ok=True)
    (folder / f"data/raw/photos/annotations/{stem}.xml").write_text(text, encoding="utf-8")


def test_a_box_out_of_the_photo_is_named_and_cut_by_a_button(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    async def way(person: Person, folder: Path) -> None:
        await open_editor(person, tmp_path)
        write_box(folder, "IMG_0", "marker", (600, 10, 700, 90))
        await person.open("/photos")
        await person.open("/labels/photos#images%2FIMG_0.jpg")
        said = await person.page.wait_for(
            "document.getElementById('state').textContent.includes('out of the photo') && "
            "document.getElementById('state').textContent"
        )
        print("  ", said)
        await person.click_words("Cut at the edge")
        for _ in range(50):
            [*_, box] = read_voc((folder / "data/raw/photos/annotations/IMG_0.xml").read_bytes())
            if box[0][2] <= 640:
                break
            await asyncio.sleep(0.1)
        assert box[0][:4] == (600, 10, 640, 90)

    act(browser, workspace, way)


def test_two_tabs_with_one_photo_lose_neither_of_their_boxes(
    browser: ModuleType, workspace: Path, tmp_path: Path
) -> None:
    async def way(person: Person, folder: Path) -> None:
        await open_editor(person, tmp_path)
        name = await person.frame()
        async with browser.open_tab(person.page) as page:
            other = Person(page, person.server)
            await other.open(f"/labels/photos#{name}")
            await page.wait_for("!!document.getElementById('canvas')?.dataset.frame")
            await other.drag(100, 100, 200, 200)
            await wait_for_boxes(person, name, [[100, 100, 200, 200]])
            await person.page.call("Page.bringToFront")
            await person.drag(300, 300, 400, 400)
            said = await person.page.wait_for("document.getElementById('problem').innerText")
            print("  ", said)
            assert person.server.boxes(name) == [("marker", [100, 100, 200, 200])]
            await person.click_words("Undo")
            await wait_for_boxes(person, name, [[300, 300, 400, 400]])

    act(browser, workspace, way)


async def wait_for_boxes(person: Person, name: str, wanted: list[list[int]]) -> None:
    for _ in range(50):
        there = [box for _, box in person.server.boxes(name)]
        if len(there) == len(wanted) and np.abs(np.subtract(there, wanted)).max() < 3:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(there)
