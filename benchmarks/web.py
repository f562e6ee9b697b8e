"""How long the pages of `bakeoff web` take with 200 runs and a dataset of 20,000 images.

    python benchmarks/web.py            # in the repository

Prints the median and the range of five requests for each page, and the first one, which finds nothing remembered. With
Chromium it also prints what a browser needs for the first page and the others: milliseconds until something is drawn
(First Contentful Paint), until its largest part is (Largest Contentful Paint) and until all has come, bytes, requests.
"""

import asyncio
import io
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

from PIL import Image

sys.path.append("docs/images")

import browser

from bakeoff.app.web.app import make_server
from bakeoff.app.web.security import ServerAddress
from bakeoff.experiments.runs.process_id import Process
from bakeoff.experiments.runs.run_status import State, Status, write_status
from bakeoff.foundation.machine import bind_port
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target

RUNS, IMAGES, METRIC_VALUES = 200, 20_000, 200
REPEATS = 5
PAGES = {
    "Models": "/models", "a run": f"/runs/{0:016x}", "Train": "/train", "Photos": "/photos",
    "counts": "/data/field/summary", "pictures": "/data/field", "one picture": "/data/field/pictures/19999",
    "Labels": "/labels",
    "frames to label": "/labels/field/frames",
}  # fmt: skip
SEEN = {name: PAGES[name] for name in ("Models", "Photos", "Train", "pictures", "Labels")}
OBSERVE = (
    "window.largest = 0; new PerformanceObserver(list => { for (const one of list.getEntries())"
    " window.largest = one.startTime; }).observe({type: 'largest-contentful-paint', buffered: true});"
)
FIGURES = """(() => {
    const [page] = performance.getEntriesByType('navigation'), rest = performance.getEntriesByType('resource');
    const [drawn] = performance.getEntriesByName('first-contentful-paint'), all = [page, ...rest];
    const size = all.reduce((sum, one) => sum + one.transferSize, 0);
    return [drawn.startTime, window.largest, page.loadEventEnd, size, all.length];
})()"""
LABEL = (
    "<annotation><filename>{0}.jpg</filename><object><name>ball</name><bndbox><xmin>1</xmin><ymin>1</ymin>"
    "<xmax>30</xmax><ymax>20</ymax></bndbox></object></annotation>"
)


def main() -> None:
    repository = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(repository / "conf", Path(folder) / "conf")
        shutil.copy(repository / "params.yaml", folder)
        os.chdir(folder)
        _make_runs()
        _make_images()
        _measure()
        os.chdir(repository)


def _make_runs() -> None:
    """All have ended but two."""
    for number in range(RUNS):
        run_id, now = f"{number:032x}", time.time() - number
        folder = Path(f".bakeoff/runs/{number:016x}")
        folder.mkdir(parents=True)
        state = State.RUNNING if number < 2 else State.SUCCEEDED
        metrics = {"train/loss": 0.5, "validation/mAP_50": number / RUNS}
        status = Status(
            state, folder.name, "ssd_small · cosine · medium", Process.current(), folder.as_posix(), now, now, now,
            run_id=run_id, steps=2000, steps_done=2000, metrics=metrics,
        )  # fmt: skip
        write_status(folder, status)
        journal = Journal(run_id)
        Target("local", "bakeoff").write(journal.folder)
        journal.params({"variant.data": "field", "variant.model": "ssd_small", "derived.train_examples": "16000"})
        for step in range(0, 10 * METRIC_VALUES, 10):
            journal.metrics(step, {"train/loss": 1.0, "validation/mAP_50": 0.5})
        journal.close()


def _make_images() -> None:
    root = Path("data/raw/field")
    for inside in ("images", "annotations"):
        (root / inside).mkdir(parents=True)
    jpeg = io.BytesIO()
    Image.effect_noise((64, 48), 40).convert("RGB").save(jpeg, "JPEG")
    for number in range(IMAGES):
        (root / f"images/{number:05d}.jpg").write_bytes(jpeg.getvalue())
        (root / f"annotations/{number:05d}.xml").write_text(LABEL.format(f"{number:05d}"), encoding="utf-8")
    Path("conf/data/field.yaml").write_text("kind: pascal_voc\npath: data/raw/field\n", encoding="utf-8")


def _measure() -> None:
    place = bind_port("127.0.0.1", 0, range(0))
    port = place.getsockname()[1]
    server = make_server(ServerAddress("127.0.0.1", port))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        _ask_often(port)
        if shutil.which("chromium"):
            asyncio.run(_look(port))
    finally:
        server.should_exit = True
        thread.join()


def _ask_often(port: int) -> None:
    print(f"{'page':16} {'first':>8} {'median':>8} {'least':>8} {'most':>8} {'kB':>8}")
    for name, path in PAGES.items():
        first, size = _ask(port, path)
        seconds = [_ask(port, path)[0] for _ in range(REPEATS)]
        row = (first, statistics.median(seconds), min(seconds), max(seconds))
        print(f"{name:16} " + " ".join(f"{one:7.3f}s" for one in row) + f" {size / 1000:8.1f}")


async def _look(port: int) -> None:
    """Print what a browser that has never been here needs for a page."""
    print(f"\n{'in a browser':16} {'first':>8} {'largest':>8} {'all':>8} {'kB':>8} {'requests':>8}")
    for name, path in {"the first page": "/", **SEEN}.items():
        async with browser.chromium(1280, 800) as page:
            await page.call("Page.enable")
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=OBSERVE)
            await page.call("Page.navigate", url=f"http://127.0.0.1:{port}{path}")
            await page.wait_for(
                "document.readyState === 'complete' && performance.getEntriesByType('paint').length > 1"
            )
            await asyncio.sleep(2)  # what the page asks for by itself
            first, largest, whole, size, count = await page.see(FIGURES)
            print(f"{name:16} {first:6.0f}ms {largest:6.0f}ms {whole:6.0f}ms {size / 1000:8.1f} {count:8}")


def _ask(port: int, path: str) -> tuple[float, int]:
    start = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    answer = connection.getresponse()
    size = len(answer.read())
    assert answer.status == 200, (path, answer.status)
    connection.close()
    return time.perf_counter() - start, size


if __name__ == "__main__":
    main()
