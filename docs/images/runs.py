"""Draws runs.png: what a person sees who types `make ui`, opens the address and clicks nowhere.

It sweeps over twelve short trainings of a small detector in a clone of this repository, starts `bakeoff ui` there and
opens the plain address in Chromium. What the page must show is asserted. It takes a quarter of an hour.
Run it from the repository's root: `python docs/images/runs.py [PICTURE [WORKSPACE]]`. A workspace with such runs is
taken as it is.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from browser import Page, chromium
from clone import edit, run, ui
from PIL import Image

LINES = {
    "data": "data: {use: digits, train_examples: 400, validation_examples: 100}",
    "model": "model: {use: ssd_tiny}",
    "train": "train: {use: demo, steps: 240, validate_every_steps: 60}",
}
POINTS = ("lr=cosine,exponential,constant", "lr.peak=0.001,0.003", "seed=0,1")
RUNS = 12
WIDTH, HEIGHT = 1660, 790
BEST_FIRST = """[...document.querySelectorAll('.ag-center-cols-container [col-id*="evaluation/mAP_50"]')]
    .map(cell => parseFloat(cell.innerText)).filter(Number.isFinite)"""


def main() -> None:
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as folder:
        clone = Path(sys.argv[2]) if len(sys.argv) > 2 else _sweep(Path(folder) / "clone")
        with ui(clone) as address:
            asyncio.run(_draw(address, picture))
    print(f"{picture}: {picture.stat().st_size:,} bytes")


def _sweep(clone: Path) -> Path:
    run(Path.cwd(), "git", "clone", "--quiet", ".", str(clone))
    edit(clone / "params.yaml", LINES)
    run(clone, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-am", "Train less")
    run(clone, sys.executable, "-m", "dvc", "repro", "--quiet", "build_records")
    run(clone, sys.executable, "-m", "bakeoff", "sweep", *POINTS, "--until", "evaluate", "--yes")
    run(clone, sys.executable, "-m", "bakeoff", "track", "sync")
    return clone


async def _draw(address: str, picture: Path) -> None:
    async with chromium(WIDTH, HEIGHT) as page:
        await page.call("Page.navigate", url=f"{address}/")
        found = await page.wait_for(f"({BEST_FIRST}).length >= {RUNS - 2} && {BEST_FIRST}")
        await asyncio.sleep(3)  # the columns settle
        assert found == sorted(found, reverse=True), found
        await _require(page)
        sheet = await page.picture(x=0, y=0, width=WIDTH, height=HEIGHT)
    sheet.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(picture, optimize=True)


async def _require(page: Page) -> None:
    text = await page.see("document.body.innerText")
    assert "matching runs" in text and "evaluation/mAP_50" in text and "lr.peak" in text, text
    assert "Traces 0" not in text and "New to MLflow" not in text, text


if __name__ == "__main__":
    main()
