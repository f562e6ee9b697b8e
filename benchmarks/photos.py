"""Photos of 12 megapixels that a browser brings in on the team's page: seconds until all are there, and how many came.

python benchmarks/photos.py --count 1000

It needs Chromium, and runs from the repository's root. Each photo is a file of its own; of ten that follow each other,
nine are marked as alike.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from PIL import Image
from result import describe_machine

sys.path.append("docs/images")
sys.path.append("tests")

import browser

from proofs.page.person import Person, Server, served

SIZE, ALIKE = (4000, 3000), 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    print(describe_machine())
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as place:
        photos = draw(Path(place) / "phone", count)
        (Path(place) / "work/conf/data").mkdir(parents=True)
        for name in ("dvc.yaml", "params.yaml"):
            shutil.copy(name, Path(place) / "work")
        with served(Path(place) / "work") as server:
            asyncio.run(measure(server, photos))


async def measure(server: Server, photos: list[Path]) -> None:
    browser.SECONDS = 3600
    process = psutil.Process(server.process.pid)
    async with browser.chromium(1280, 800) as page:
        began, before = time.monotonic(), sum(process.cpu_times()[:4])
        await Person(page, server).bring_in(photos)
        seconds, busy = time.monotonic() - began, sum(process.cpu_times()[:4]) - before
    images = server.folder / "data/raw/photos/images"
    came = sum(path.stat().st_size == (images / path.name).stat().st_size for path in photos)
    print(f"{came:,} of {len(photos):,} photos in {seconds:.0f} s; the server used {busy:.0f} s of a processor")


def draw(folder: Path, count: int) -> list[Path]:
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(count):
        if number % ALIKE == 0:
            blocks = Image.fromarray(rng.integers(0, 255, (75, 100, 3), np.uint8))
            picture = blocks.resize(SIZE, Image.Resampling.BICUBIC)
        picture.save(folder / f"IMG_{number:04d}.jpg", quality=85, comment=str(number))
    return sorted(folder.iterdir())


if __name__ == "__main__":
    main()
