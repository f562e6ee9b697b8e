"""Draws MLflow's page of models while a training is under way: checkpoints.png, the table, and compared.png, charts.

It trains a classifier in a clone of this repository, starts `bakeoff ui` there meanwhile, and opens the models of the
experiment. What the page must show is asserted. It takes two minutes, and Chromium.
Run it from the repository's root: `python docs/images/checkpoints.py [FOLDER]`.
"""

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import chromium
from clone import edit, environment, run, ui
from PIL import Image

LINES = {
    "data": "data: {use: digits_single, train_examples: 1200, validation_examples: 400}",
    "model": "model: {use: cnn_small}",
    "train": "train: {use: smoke, steps: 200000, batch_size: 16, log_every_steps: 20, validate_every_steps: 100, "
    "checkpoint_every_steps: 400, keep_every_steps: 400}",
    "track": "track: {use: mlflow, checkpoints: kept}",
}
WIDTH, HEIGHT, MENU = 2100, 430, 48
SHOWN = 0.75  # of these pixels, in the picture
CHECKPOINTS = 6  # models by then, best weights among them, of which superseded ones are removed again
CHARTS = {"x": 200, "y": 90, "width": 1080, "height": 500}  # of a page of 1,280 pixels
BARS = "document.querySelectorAll('.plot-container .point').length"


def main() -> None:
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as folder:
        clone = Path(folder) / "clone"
        run(Path.cwd(), "git", "clone", "--quiet", ".", str(clone))
        edit(clone / "params.yaml", LINES)
        run(clone, sys.executable, "-m", "dvc", "repro", "--quiet", "render_config")
        training = subprocess.Popen(
            [sys.executable, "-m", "bakeoff.stages.train"], cwd=clone, env=environment(), stdout=sys.stderr
        )
        try:
            while len(list(clone.glob("mlartifacts/models/*"))) < CHECKPOINTS:
                time.sleep(1)
            with ui(clone) as address:
                asyncio.run(_draw(address, pictures / "checkpoints.png"))
                asyncio.run(_compare(address, pictures / "compared.png"))
                assert training.poll() is None, "the training ended before the picture was made"
        finally:
            training.send_signal(signal.SIGINT)
            training.wait()


async def _draw(address: str, picture: Path) -> None:
    async with chromium(WIDTH, HEIGHT) as page:
        await page.call("Page.navigate", url=f"{address}/#/experiments/1/models")
        await page.click("document.querySelector('button[aria-label=\"Toggle sidebar\"]')")
        text = "document.body.innerText"
        await page.wait_for(f"{text}.match(/checkpoint-\\d+/) && {text}.includes('best-so-far')")
        await asyncio.sleep(2)
        image = await page.picture(x=MENU, y=0, width=WIDTH - MENU, height=HEIGHT)
        image.resize((round(image.width * SHOWN), round(image.height * SHOWN))).save(picture, optimize=True)
        print(f"{picture}: {picture.stat().st_size:,} bytes")


async def _compare(address: str, picture: Path) -> None:
    async with chromium(1280, 700) as page:
        await page.call("Page.navigate", url=f"{address}/#/experiments/1/models")
        names = "new Set(document.body.innerText.match(/checkpoint-\\d+/g)).size"
        await page.wait_for(f"{names} >= 3")
        chart_view = "[...document.querySelectorAll('label')].find(label => label.innerText.includes('Chart view'))"
        await page.click(chart_view)
        await page.type_into("document.querySelector('input[placeholder=\"Search metric charts\"]')", "accuracy")
        await page.wait_for(f"{BARS} >= 3")
        await asyncio.sleep(2)
        image = await page.picture(**CHARTS)
        image.quantize(64, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(picture, optimize=True)
        print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
