"""Draws checkpoints.jpg: MLflow's page of models while a run trains, with its checkpoints, their steps and metrics.

It begins a training in a clone of this repository, waits until the store has three checkpoints or best weights, opens
`bakeoff ui` there and takes the picture; then it stops the training. It takes a few minutes, and Chromium. Run it from
the repository's root: `python docs/images/checkpoints.py [PICTURE]`.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import SECONDS, chromium
from clone import edit, environment, run, ui

LINES = {
    "data": "data: {use: digits_single, train_examples: 400, validation_examples: 100}",
    "model": "model: {use: cnn_small}",
    "train": "train: {use: smoke, steps: 20000, batch_size: 16, log_every_steps: 20, validate_every_steps: 40, "
    "checkpoint_every_steps: 60}",
}
WIDTH, HEIGHT, MENU = 1300, 400, 48
SHOWN = ("checkpoint-", "best-so-far-", "validation/accuracy")


def main() -> None:
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".jpg")
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as folder:
        clone = Path(folder) / "clone"
        run(Path.cwd(), "git", "clone", "--quiet", ".", str(clone))
        edit(clone / "params.yaml", LINES)
        words = [sys.executable, "-m", "bakeoff.cli", "repro", "train"]
        training = subprocess.Popen(words, cwd=clone, env=environment(), stdout=sys.stderr)
        try:
            _wait_for_checkpoints(clone)
            with ui(clone) as address:
                asyncio.run(_draw(address, picture))
        finally:
            run(clone, sys.executable, "-m", "bakeoff.cli", "stop")
            training.wait()
    print(f"{picture}: {picture.stat().st_size:,} bytes")


def _wait_for_checkpoints(clone: Path) -> None:
    end = time.monotonic() + 5 * SECONDS
    while sum(path.is_file() for path in clone.glob("mlartifacts/models/*/artifacts/*0*")) < 3:
        assert time.monotonic() < end, "no checkpoints come"
        time.sleep(1)


async def _draw(address: str, picture: Path) -> None:
    async with chromium(WIDTH, 900) as page:
        await page.call("Page.navigate", url=f"{address}/#/experiments/1/models")
        for text in SHOWN:
            await page.wait_for(f"document.body.innerText.includes('{text}')")
        await page.click("document.querySelector('button[aria-label=Close]')")  # of the assistant
        await page.click("document.querySelector('button[aria-label=\"Toggle sidebar\"]')")
        await asyncio.sleep(3)
        image = await page.picture(x=MENU, y=0, width=WIDTH - MENU, height=HEIGHT)
    image.save(picture, quality=82, optimize=True)


if __name__ == "__main__":
    main()
