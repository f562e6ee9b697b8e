"""The team's page in Chromium: axe-core finds no fault, nothing is cut off, and a film becomes a model by clicks.

AXE=node_modules/axe-core/axe.min.js python -m pytest -m slow tests/app/web

PICTURES=docs/images draws the pictures of docs/web.md on the way.
"""

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bakeoff.app.web import background_commands
from bakeoff.app.web.security import ServerAddress, write_entry
from bakeoff.experiments.runs.run_status import State, read_status, write_status
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from support.asking import Page, served
from support.extra_packages import extra_packages, python_path
from support.imports import ROOT
from support.made_runs import NOBODY, made
from support.moving_things import draw, overlap, places

PICTURES = Path(os.environ["PICTURES"]).resolve() if "PICTURES" in os.environ else None
AXE = Path(os.environ.get("AXE", "")).resolve()
WIDTHS, HEIGHT = (400, 800, 1500, 2000), 900
ID = "0b9f1c2d3e4f5a6b7c8d9e0f1a2b3c4d"
OPENCV = "opencv-contrib-python-headless>=4.10"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")]
PAGES = (
    "/models", "/robot", f"/runs/{'a' * 16}", f"/runs/{'b' * 16}/remove", "/train", f"/train?more={'b' * 16}",
    "/photos", "/photos/match", "/data/match",
    f"/compare?run={'b' * 16}&run={'c' * 16}", "/labels", "/labels/match", "/activity",
    "/activity/20260102-030405-abcdef", "/nothing",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _finds_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/images")


def load(name: str) -> ModuleType:
    """Return a script of docs/images."""
    return importlib.import_module(name)


@pytest.fixture
def workspace(folder: Path) -> Path:
    """With runs in every state, a dataset with a label, and something that was done."""
    shutil.copytree(ROOT / "conf", folder / "conf", dirs_exist_ok=True)
    shutil.copy(ROOT / "params.yaml", folder)
    for number, state in enumerate(State):
        made(folder / ".bakeoff/runs", f"f{number:015x}", state, run_id=f"{number:032x}")
    run = made(folder / ".bakeoff/runs", "a" * 16, State.RUNNING, run_id=ID)
    ended = {"process": NOBODY, "run_id": "1" * 32, "metrics": {"validation/mAP_50": 0.5}}
    made(folder / ".bakeoff/runs", "b" * 16, State.SUCCEEDED, checkpoint=True, **ended)
    made(folder / ".bakeoff/runs", "c" * 16, State.SUCCEEDED, **(ended | {"run_id": "2" * 32}))
    (folder / "conf/team.yaml").write_text("minutes: 600\npeople: {ann: 120}\n", encoding="utf-8")
    (run / "samples").mkdir()
    draw(0.0).save(run / "samples/00000500.jpg")
    journal = Journal(ID)
    Target("local", "bakeoff").write(journal.folder)
    for step in range(10, 200, 10):
        journal.metrics(step, {"train/loss": 20 / step, "validation/loss": 25 / step, "validation/mAP_50": step / 400})
    journal.close()
    root = folder / "data/raw/match"
    for inside in ("images", "annotations"):
        (root / inside).mkdir(parents=True)
    draw(0.0).save(root / "images/match_00000000ms.jpg")
    (root / "images/bad.jpg").write_text("<script>", encoding="utf-8")
    box = "<bndbox><xmin>210</xmin><ymin>90</ymin><xmax>270</xmax><ymax>150</ymax></bndbox>"
    text = f"<annotation><object><name>ball</name>{box}</object></annotation>"
    (root / "annotations/match_00000000ms.xml").write_text(text, encoding="utf-8")
    (folder / "conf/data/match.yaml").write_text("kind: pascal_voc\npath: data/raw/match\n", encoding="utf-8")
    place = background_commands.folder_of("20260102-030405-abcdef")
    place.mkdir(parents=True)
    (place / "log.txt").write_text("$ bakeoff status\nno run\n", encoding="utf-8")
    tree = (
        '{"id": "20260102-030405-abcdef", "title": "A", "commands": [["bakeoff", "status"]], "began": 0, "notes": []}'
    )
    (place / "errand.json").write_text(tree.replace('"notes"', '"state": "runs", "notes"'), encoding="utf-8")
    return folder


async def find_faults(address: str, scheme: str) -> dict[str, Any]:
    """Return the faults that axe-core finds, by page and width, and pages that are wider than the screen."""
    faults_by_page: dict[str, Any] = {}
    async with load("browser").chromium(WIDTHS[0], HEIGHT) as page:
        await page.call("Page.setBypassCSP", enabled=True)
        await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for path in PAGES:
            await page.call("Page.navigate", url=f"{address}{path}")
            await page.wait_for("document.readyState === 'complete' && !!document.querySelector('h1')")
            await page.wait_for(
                "!document.querySelector('#canvas') || !!document.querySelector('#canvas').dataset.frame"
            )
            await page.call("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
            for width in WIDTHS:
                size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
                await page.call("Emulation.setDeviceMetricsOverride", **size)
                root = "document.documentElement"
                if beyond := await page.see(f"{root}.scrollWidth - {root}.clientWidth"):
                    faults_by_page[f"{path} {width}"] = f"{beyond} pixels too wide"
                script = "axe.run().then(f => f.violations.flatMap(v => v.nodes.map(n => `${v.id} ${n.target}`)))"
                answer = await page.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
                if faults := answer["result"]["value"]:
                    faults_by_page[f"{path} {width}"] = faults
    return faults_by_page


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core at $AXE")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_and_no_page_is_wider_than_the_screen(workspace: Path, scheme: str) -> None:
    with served() as page:
        assert asyncio.run(find_faults(f"http://{page.own}", scheme)) == {}


async def leave_open(address: str, run: Path, serve: Callable[[], AbstractContextManager[Page]]) -> None:
    """Leave two pages open while the server ends and begins anew."""
    async with load("browser").chromium(WIDTHS[0], HEIGHT) as page:
        with serve():
            await page.call("Page.navigate", url=f"{address}/runs/{run.name}")
            await page.wait_for("document.readyState === 'complete' && document.getElementById('lost').hidden")
        await page.wait_for("!document.getElementById('lost').hidden")
        await page.click("document.querySelector('#run [data-what=stop]')")
        await page.wait_for("document.getElementById('problem').innerText.includes('Nothing was changed')")
        status = read_status(run)
        write_status(run, replace(status, steps_done=77))
        with serve():
            await page.wait_for("document.getElementById('lost').hidden")
            await page.wait_for("document.getElementById('run').innerText.includes('77 of')")  # without a reload


def test_a_page_that_is_left_open_over_a_restart_continues(workspace: Path) -> None:
    with served() as page:
        port = page.port
    run = workspace / ".bakeoff/runs" / ("a" * 16)
    asyncio.run(leave_open(f"http://127.0.0.1:{port}", run, lambda: served(port=port)))


async def follow(entry: Path) -> None:
    """Open the file that leads to the page, as `bakeoff web --open` does, and come back later without the token."""
    async with load("browser").chromium(WIDTHS[0], HEIGHT) as page:
        await page.call("Page.navigate", url=entry.as_uri())
        await page.wait_for("location.pathname === '/labels' && document.readyState === 'complete'")
        assert await page.see("location.search") == ""
        await page.click("document.querySelector('nav a[href=\"/train\"]')")
        await page.wait_for("document.querySelector('h1')?.innerText === 'Train'")


def test_a_link_on_another_page_leads_in(workspace: Path) -> None:
    """A browser keeps the cookie to itself while it follows a redirection from elsewhere."""
    with served(token="t" * 32) as page:
        write_entry(ServerAddress("127.0.0.1", page.port, "t" * 32))
        asyncio.run(follow(workspace / ".bakeoff/web/open.html"))


async def press_long(address: str, change: Callable[[], object]) -> None:
    """Press the mouse on a step, and let it go after the steps have changed on the server."""
    async with load("browser").chromium(WIDTHS[1], HEIGHT) as page:
        await page.call("Page.navigate", url=f"{address}/models")
        await page.wait_for("document.readyState === 'complete' && document.getElementById('lost').hidden")
        steps = "document.getElementById('steps').innerText"
        box = "document.querySelector('#steps a[href=\"/train\"]').getBoundingClientRect()"
        place, before = await page.see(f"[{box}.x + 10, {box}.y + 10]"), await page.see(steps)
        await page.mouse("mousePressed", *place)
        change()
        await asyncio.sleep(3)
        assert await page.see(steps) == before
        await page.mouse("mouseReleased", *place)
        await page.wait_for("location.pathname === '/train'")


def test_a_click_finds_its_link_while_the_steps_change(workspace: Path) -> None:
    with served() as page:
        runs = workspace / ".bakeoff/runs"
        asyncio.run(press_long(f"http://{page.own}", lambda: made(runs, "d" * 16, State.SUCCEEDED, process=NOBODY)))


async def press_often(address: str) -> None:
    """Press Start twice on one tab, then once more after Back, and once on another tab."""
    start = "document.querySelector('#train [type=submit]')"
    async with load("browser").chromium(WIDTHS[1], HEIGHT) as page:
        for times in (2, 1):
            await page.call("Page.navigate", url=f"{address}/train")
            await page.wait_for("document.readyState === 'complete' && !!document.querySelector('#plan :is(p, table)')")
            await page.see(f"{start}.click();" * times)
            await page.wait_for("location.pathname.startsWith('/runs/')")
            if times == 2:
                first = await page.see("location.pathname")
                await page.see("history.back()")
                await page.wait_for(f"document.readyState === 'complete' && !!{start}")
                await page.wait_for("!!document.querySelector('#plan :is(p, table)')")
                await page.see(f"{start}.click()")
                await page.wait_for("location.pathname.startsWith('/runs/')")
            assert await page.see("location.pathname") == first


def test_a_double_click_back_and_another_tab_start_nothing_twice(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first command of Start is DVC's; here it lasts as long as the test."""
    hold, slow = workspace / "hold", workspace / "programs/sitecustomize.py"  # each Python begins with it
    hold.touch()
    slow.parent.mkdir()
    slow.write_text(
        "import os, sys, time\n"
        f"while 'bakeoff.foundation.dvc' in sys.orig_argv and os.path.exists({str(hold)!r}): time.sleep(0.2)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(slow.parent), os.environ.get("PYTHONPATH", "")]))
    with served() as page:
        asyncio.run(press_often(f"http://{page.own}"))
    started = background_commands.list_recent()
    hold.unlink()
    assert [errand.title for errand in started] == ["Train on match", "A"]  # A is of before


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A clone of this repository with the environment of the tests, and OpenCV."""
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    for key, value in (("user.name", "Team"), ("user.email", "team@example.org")):
        subprocess.run(["git", "config", key, value], cwd=folder, check=True)
    path = os.pathsep.join([str(folder / "src"), python_path(extra_packages(OPENCV))])
    monkeypatch.setenv("PYTHONPATH", path)
    yield folder


WRITTEN = [
    " M dvc.lock", " M models/config/run.yaml", " M models/evaluation/headline.json",
    " M models/evaluation/metrics.json", " M params.yaml", "?? conf/data/match.yaml", "?? conf/team.yaml",
    "?? data/raw/match.dvc",
]  # fmt: skip


def list_changes(clone: Path) -> list[str]:
    """Return the files that git lists as changed."""
    done = subprocess.run(["git", "status", "--porcelain"], cwd=clone, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def type_in(clone: Path, *arguments: str) -> str:
    """Return what a command of the environment prints."""
    module = {"dvc": "bakeoff.foundation.dvc", "bakeoff": "bakeoff"}[arguments[0]]
    command = [sys.executable, "-m", module, *arguments[1:]]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_lite(model: Path) -> Any:
    """Open a .tflite as programs on a robot do: by nothing of ours."""
    import tensorflow as tf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a successor in another package
        net = tf.lite.Interpreter(model_path=str(model))
    net.allocate_tensors()
    return net


def test_a_film_becomes_a_model_by_clicks(clone: Path, tmp_path: Path) -> None:
    web = load("web")
    with web.serve(clone) as address:
        archive, notes = asyncio.run(web.walk(address, clone, PICTURES))
    print(*notes)  # 30 frames: 4 boxes drawn, 74 keys
    assert list_changes(clone) == WRITTEN  # all that a command line would have written
    assert "up to date" in type_in(clone, "dvc", "repro")
    archive.extractall(tmp_path)
    [model] = tmp_path.glob("*/model.tflite")
    labels = next(tmp_path.glob("*/labels.txt")).read_text(encoding="utf-8").split()
    net = open_lite(model)
    [given] = net.get_input_details()
    _, height, width, _ = given["shape"]
    picture = draw(13.2)
    pixels = (np.asarray(picture.resize((width, height)), np.float32)[None] - 127.5) / 127.5
    net.set_tensor(given["index"], pixels)
    net.invoke()
    boxes, classes, scores, _ = (net.get_tensor(output["index"])[0] for output in net.get_output_details())
    sides = (picture.height, picture.width, picture.height, picture.width)
    best: dict[str, float] = {}
    for box, label, score in zip(boxes, classes, scores, strict=True):
        top, left, bottom, right = (share * side for share, side in zip(box, sides, strict=True))
        truth = next(place[1:] for place in places(13.2) if place[0] == labels[int(label)])
        if score >= 0.3:
            best[labels[int(label)]] = max(
                best.get(labels[int(label)], 0.0), overlap((left, top, right, bottom), truth)
            )
    assert max(best.values()) >= 0.5, best  # the object is found where it is
