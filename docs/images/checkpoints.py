"""Draws checkpoints.png: MLflow's table of models while a training is under way, with steps and metrics.

It trains a classifier in a clone of this repository, starts `bakeoff ui` there meanwhile, and opens the models of the
experiment. What the page must show is asserted. It takes a minute, and Chromium.
Run it from the repository's root: `python docs/images/checkpoints.py [PICTURE]`.
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

LINES = {
    "data": "data: {use: digits_single, train_examples: 1200, validation_examples: 400}",
    "model": "model: {use: cnn_small}",
    "train": "train: {use: smoke, steps: 200000, batch_size: 16, log_every_steps: 20, validate_every_steps: 100, "
    "checkpoint_every_steps: 400}",
}
WIDTH, HEIGHT, MENU = 2100, 430, 48
SHOWN = 0.75  # of these pixels, in the picture
CHECKPOINTS = 6  # told by then, of which superseded ones are removed again


def main() -> None:
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
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
                asyncio.run(_draw(address, picture))
                assert training.poll() is None, "the training ended before the picture was made"
        finally:
            training.send_signal(signal.SIGINT)
            training.wait()
    print(f"{picture}: {picture.stat().st_size:,} bytes")


async def _draw(address: str, picture: Path) -> None:
    async with chromium(WIDTH, HEIGHT) as page:
        await page.call("Page.navigate", url=f"{address}/#/experiments/1/models")
        await page.click("document.querySelector('button[aria-label=\"Toggle sidebar\"]')")
        text = "document.body.innerText"
        await page.wait_for(f"{text}.match(/checkpoint-\\d+/) && {text}.includes('best-so-far')")
        await asyncio.sleep(2)
        image = await page.picture(x=MENU, y=0, width=WIDTH - MENU, height=HEIGHT)
        image.resize((round(image.width * SHOWN), round(image.height * SHOWN))).save(picture, optimize=True)


if __name__ == "__main__":
    main()
