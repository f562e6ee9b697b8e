"""Draws multirun.png, multirun-params.png and multirun-pictures.jpg: MLflow's comparison of the runs of a multirun.

It runs three short trainings of a small detector in a clone of this repository, starts `bakeoff ui` there and goes the
way of a user: ticks, Compare, another metric, only the params that differ, and a file of each run beside the others.
What the page must show is asserted. It takes ten minutes. Run it from the repository's root:
`python docs/images/multirun.py [WORKSPACE]`. A workspace with such runs is taken as it is.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from browser import Page, chromium
from clone import edit, run, ui
from PIL import Image
from runs import LINES

HERE = Path(__file__).parent
RATES = ("0.006", "0.003", "0.001")  # the best first, by mAP_50
WIDTH, HEIGHT, LEFT = 1300, 1000, 200
PLOT, PARAMS, PICTURES = 600, 330, 475
BUTTON = "[...document.querySelectorAll('button')].find(button => button.innerText.trim() === '{}')"
METRIC = "evaluation/mAP_50"
CHOSEN = "[...document.querySelectorAll('[class*=select-selection-item-content]')].map(item => item.innerText)"
ONLY_DIFFERENT = "document.querySelector('[aria-label=\"Parameters - Show diff only\"]')"
FILE = "document.evaluate(\"//*[text()='{}']\", document, null, 9, null).singleNodeValue"
IN_SIGHT = "[...document.querySelectorAll('img')].filter(image => image.src.startsWith('blob:') && image.clientWidth)"
BEST_FIRST = "[...document.querySelectorAll('.ag-row [col-id*=\"lr.peak\"]')].map(cell => cell.innerText.trim())"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as folder:
        clone = Path(sys.argv[1]) if len(sys.argv) > 1 else _train(Path(folder) / "clone")
        with ui(clone) as address:
            asyncio.run(_draw(address))


def _train(clone: Path) -> Path:
    run(Path.cwd(), "git", "clone", "--quiet", ".", str(clone))
    edit(clone / "params.yaml", LINES)
    run(clone, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-am", "Train less")
    run(clone, sys.executable, "-m", "dvc", "repro", "--quiet", "build_records")
    run(clone, sys.executable, "-m", "bakeoff.multirun", "--multirun", f"lr.peak={','.join(reversed(RATES))}")
    run(clone, sys.executable, "-m", "bakeoff", "track", "sync")
    return clone


async def _draw(address: str) -> None:
    async with chromium(WIDTH, HEIGHT) as page:
        await page.call("Page.navigate", url=f"{address}/")
        await page.wait_for(f"({BEST_FIRST}).length >= 3")
        await asyncio.sleep(3)  # the columns settle
        assert (await page.see(BEST_FIRST))[:3] == list(RATES)
        for row in range(len(RATES)):
            await page.click(f"document.querySelectorAll('.ag-row .ag-checkbox-input')[{row}]")
        await page.click(BUTTON.format("Compare"))
        await page.wait_for("document.body.innerText.includes('Comparing 3 Runs from 1 Experiment')")
        assert await page.wait_for(f"({CHOSEN}).length === 2 && {CHOSEN}[0]") == "lr.peak"  # what differs, by itself
        metrics = "document.querySelectorAll('input[role=combobox]')[1]"
        await page.click(metrics)
        await _press(page, "Backspace", 8)  # takes the metric away that MLflow chose
        await page.type_into(metrics, METRIC)
        await _press(page, "Enter", 13, text="\r")
        await page.escape()
        await page.wait_for(f"({CHOSEN}).includes('{METRIC}')")
        _save(await _picture(page, 0, PLOT), "multirun.png")
        await page.click(ONLY_DIFFERENT)
        await page.see(f"{ONLY_DIFFERENT}.scrollIntoView()")
        await asyncio.sleep(2)
        top = await page.see(f"{ONLY_DIFFERENT}.getBoundingClientRect().y")
        _save(await _picture(page, max(0, int(top) - 40), PARAMS), "multirun-params.png")
        await page.click(FILE.format("pictures.jpg"))
        await page.wait_for(f"{IN_SIGHT}.length === {len(RATES)}")
        first = FILE.format("headline.json")  # of the list
        await page.see(f"{first}.scrollIntoView({{block: 'start'}})")
        await asyncio.sleep(2)
        top = await page.see(f"{first}.getBoundingClientRect().y")
        sheet = await _picture(page, max(0, int(top) - 10), PICTURES)
        sheet.save(HERE / "multirun-pictures.jpg", quality=80, optimize=True)


async def _press(page: Page, key: str, code: int, **more: str) -> None:
    for kind in ("keyDown", "keyUp"):
        await page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)
    await asyncio.sleep(0.5)


async def _picture(page: Page, top: int, height: int) -> Image.Image:
    return await page.picture(x=LEFT, y=top, width=WIDTH - LEFT, height=height)


def _save(sheet: Image.Image, name: str) -> None:
    sheet.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(HERE / name, optimize=True)
    print(f"{name}: {(HERE / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
