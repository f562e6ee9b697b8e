"""How fast images become records, against a plain TensorFlow loop and against only reading and checking them.

    python benchmarks/records.py                 # 3,000 and 20,000 images of 640x480; needs 3 GB of disk
    python benchmarks/records.py --memory        # peak memory for 1,000 and 100,000 tiny images

Whole processes are timed, from their start to their end, three runs each, with the files in the system's cache:

    plain      every file decoded in full by TensorFlow in threads, written with tf.io.TFRecordWriter
    ceiling    every file read and its whole stream checked in processes, nothing written
    bakeoff    python -m bakeoff.stages.build_records
"""

import argparse
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
from PIL import Image
from result import print_result
from sklearn.datasets import load_sample_images

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 3
PICTURES = 200  # different ones; each file is made unique by a comment in its header
OPTION = "kind: image_folders\npath: data/raw/images\n"

PLAIN = """
import glob, os, sys
from concurrent.futures import ThreadPoolExecutor
import tensorflow as tf
files = sorted(glob.glob(sys.argv[1] + "/*/*.jpg"))
threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
def feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
def number(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
def convert(shard):
    with tf.io.TFRecordWriter(f"{sys.argv[2]}/train-{shard:05d}") as writer:
        for file in files[shard::threads]:
            data = open(file, "rb").read()
            height, width, _ = tf.io.decode_jpeg(data, channels=3).shape
            label = file.split("/")[-2]
            features = {"image/encoded": feature(data), "image/height": number(height), "image/width": number(width),
                        "image/class/text": feature(label.encode()), "image/class/label": number(1),
                        "image/filename": feature(file.encode())}
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
with ThreadPoolExecutor(threads) as pool:
    list(pool.map(convert, range(threads)))
"""
CEILING = """
import glob, multiprocessing, os, sys
import simplejpeg
def check(files):
    for file in files:
        with open(file, "rb") as opened:
            data = opened.read()
        simplejpeg.decode_jpeg(data, "GRAY", min_height=1, min_width=1, min_factor=8, strict=True)
if __name__ == "__main__":
    files = sorted(glob.glob(sys.argv[1] + "/*/*.jpg"))
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        for _ in pool.imap_unordered(check, [files[place : place + 32] for place in range(0, len(files), 32)]):
            pass
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--images", type=int, nargs="+", default=[3000, 20000], help="of the first also the plain loop")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder unless given")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        memory(Path(folder)) if arguments.memory else speed(Path(folder), arguments.images)


def speed(folder: Path, counts: Sequence[int]) -> None:
    script = folder / "ceiling.py"  # a file, because its processes import it
    script.write_text(CEILING)
    print(f"{'images':>7} {'what':10} {'seconds':>8} {'least':>7} {'most':>7} {'images/s':>9}")
    medians: dict[tuple[int, str], float] = {}
    for count in counts:
        workspace = new_workspace(folder / str(count))
        images = workspace / "data/raw/images"
        write_images(images, count, (640, 480))
        commands = {
            "bakeoff": [sys.executable, "-m", "bakeoff.stages.build_records"],
            "ceiling": [sys.executable, str(script), str(images)],
        }
        if count == counts[0]:
            commands["plain"] = [sys.executable, "-c", PLAIN, str(images), str(workspace)]
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(REPEATS):  # one after the other in turn, so that a busy moment hits all alike
            for name, command in commands.items():
                seconds[name].append(timed(command, workspace))
        for name, runs in seconds.items():
            medians[count, name] = statistics.median(runs)
            rate = count / medians[count, name]
            print(f"{count:7,} {name:10} {medians[count, name]:8.2f} {min(runs):7.2f} {max(runs):7.2f} {rate:9,.0f}")
        shutil.rmtree(workspace)
    for count, arm, other in (
        (counts[0], "plain", "a plain TensorFlow loop"),
        (counts[-1], "ceiling", "only checking"),
    ):
        here, there = medians[count, "bakeoff"], medians[count, arm]
        what = f"`build_records` of {count:,} images"
        print_result(what, f"{here:.1f} s", f"{there:.1f} s", ratio=there / here, other=other)


def memory(folder: Path) -> None:
    print(f"{'images':>8} {'first process':>14} {'largest worker':>15} {'seconds':>8}")
    for count in (1000, 100000):
        workspace = new_workspace(folder / str(count))
        write_images(workspace / "data/raw/images", count, (32, 24))
        start = time.perf_counter()
        command = [sys.executable, "-m", "bakeoff.stages.build_records", "--workers", "2"]
        first, largest = watch_memory(subprocess.Popen(command, cwd=workspace, stdout=subprocess.DEVNULL))
        print(f"{count:8,} {first:11.0f} MB {largest:12.0f} MB {time.perf_counter() - start:8.1f}")


def watch_memory(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Return the most megabytes that the process had, and any one below it. Some are children of its child."""
    first = largest = 0.0
    while process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            whole = psutil.Process(process.pid)
            first = max(first, whole.memory_info().rss / 2**20)
            for child in whole.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    largest = max(largest, child.memory_info().rss / 2**20)
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"{process.args!r} ended with {process.returncode}")
    return first, largest


def new_workspace(folder: Path) -> Path:
    """The settings and the code of this repository, and a data set of its own."""
    (folder / "data/raw").mkdir(parents=True)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "dvc.yaml", folder)
    (folder / "conf/data/benchmark.yaml").write_text(OPTION)
    lines = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    params = ["data: {use: benchmark}" if line.startswith("data:") else line for line in lines]
    (folder / "params.yaml").write_text("\n".join(params) + "\n", encoding="utf-8")
    return folder


def write_images(folder: Path, count: int, size: tuple[int, int]) -> None:
    pictures = list(drawn(min(count, PICTURES), size))
    for number in range(count):
        path = folder / f"class_{number % 10}" / f"{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        comment = b"%08d" % number
        data = pictures[number % len(pictures)]
        path.write_bytes(data[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2) + comment + data[2:])
    os.sync()


def drawn(count: int, size: tuple[int, int]) -> Iterator[bytes]:
    """Parts of photographs with a little noise, about 60 kB each at 640x480."""
    photographs = [Image.fromarray(photograph) for photograph in load_sample_images().images]
    draw = np.random.default_rng(0)
    for number in range(count):
        photograph, width = photographs[number % 2], int(draw.integers(200, 400))
        left, top = int(draw.integers(0, 640 - width)), int(draw.integers(0, 427 - width * 3 // 4))
        part = photograph.crop((left, top, left + width, top + width * 3 // 4)).resize(size)
        noise = draw.normal(0, 4, (*size[::-1], 1))
        buffer = io.BytesIO()
        Image.fromarray(np.clip(np.asarray(part) + noise, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=85)
        yield buffer.getvalue()


def timed(command: list[str], workspace: Path) -> float:
    shutil.rmtree(workspace / "data/records", ignore_errors=True)
    # Python keeps the byte code that it compiles, as it does unless told otherwise.
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, cwd=workspace, capture_output=True, check=True, env=kept | {"TF_CPP_MIN_LOG_LEVEL": "3"})
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
