"""How long `bakeoff diff` takes for two data sets, of which one has a hundred boxes elsewhere.

    python benchmarks/data_diff.py                    # 20,000 pictures of 320x240 on each side; needs 3 GB of disk
    python benchmarks/data_diff.py --pictures 1000

Whole processes are timed. The first time each picture is opened, and afterwards only what is known of it. Then one XML
file of a folder is edited.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from records import new_workspace
from result import describe_machine, print_result

from bakeoff.dataset.building.build import build
from bakeoff.dataset.sources.dataset import Part
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.foundation.machine import cores

SIZE, CELLS = (320, 240), (8, 6)
MOVED = 100
REPEATS = 3
BOX = "<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>"
XML = "<annotation><size><width>320</width><height>240</height></size>{}</annotation>"
COMMAND = (sys.executable, "-m", "bakeoff", "diff")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder unless given")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        compare(new_workspace(Path(folder)), arguments.pictures)
    print(describe_machine())


def compare(workspace: Path, pictures: int) -> None:
    os.chdir(workspace)
    write_set(Path("a"), pictures)
    shutil.copytree("a", "b")
    for number in range(MOVED):
        move_box(Path("b/annotations", f"{number:05d}.xml"))
    for name in ("a", "b"):
        build([Part("", PascalVoc(path=name))], Path(f"{name}-records"), cores())
    for what, one, other in (("folders of Pascal VOC", "a", "b"), ("folders of records", "a-records", "b-records")):
        first, *others = [timed(one, other) for _ in range(1 + REPEATS)]
        afterwards = f"{min(others):.1f} to {max(others):.1f} s"
        print_result(f"two {what}, {pictures:,} pictures each", f"{first:.1f} s", afterwards, other="afterwards")
    move_box(Path("b/annotations", f"{MOVED:05d}.xml"))
    print_result("two folders, after an edit of one XML file", f"{timed('a', 'b', MOVED + 1):.1f} s")


def write_set(folder: Path, pictures: int) -> None:
    """Write pictures that do not look alike, of about 15 kB, with two boxes each."""
    draw = np.random.default_rng(0)
    noise = draw.normal(0, 6, (*SIZE[::-1], 1))
    for name in ("images", "annotations"):
        (folder / name).mkdir(parents=True)
    for number in range(pictures):
        coarse = Image.fromarray(draw.integers(0, 256, (*CELLS[::-1], 3), np.uint8)).resize(
            SIZE, Image.Resampling.BICUBIC
        )
        buffer = io.BytesIO()
        Image.fromarray(np.clip(np.asarray(coarse) + noise, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=85)
        (folder / "images" / f"{number:05d}.jpg").write_bytes(buffer.getvalue())
        left = int(draw.integers(0, 100))
        boxes = (("cat", left, 20, left + 80, 90), ("dog", left + 100, 100, left + 180, 200))
        text = XML.format("".join(BOX.format(*box) for box in boxes))
        (folder / "annotations" / f"{number:05d}.xml").write_text(text)
    os.sync()


def move_box(file: Path) -> None:
    file.write_text(file.read_text().replace("<ymin>20</ymin>", "<ymin>40</ymin>").replace("<ymax>90<", "<ymax>110<"))


def timed(a: str, b: str, expected: int = MOVED) -> float:
    start = time.perf_counter()
    done = subprocess.run([*COMMAND, a, b], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    if f"{expected} changes" not in done.stdout:
        raise SystemExit(f"{expected} boxes were moved, got\n{done.stdout[:1000]}")
    return seconds


if __name__ == "__main__":
    main()
