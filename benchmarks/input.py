"""Images per second and peak memory of the input pipeline, beside what one would write without it.

    python benchmarks/input.py [--images 4000] [--width 500] [--rounds 3] [--threads 2]
    python benchmarks/input.py --width 2048 --images 100 --arms full bakeoff        # large photographs

JPEGs (of about 38 kB, if 500 pixels wide) are made, built into records (as they are, with data.max_side, and with
data.square), and read by each arm in a process of its own; the arms take turns, and medians are reported. The machine
may be busy: look at the ratios, and at the CPU time that an image takes, which other programs hardly change.

    bakeoff     this pipeline, shuffled globally           plain        TFRecordDataset, map(decode), batch; unshuffled
    unchecked   the same without checksums                 encoded      plain behind shuffle(2048) of encoded records
    resized     the same on records resized at build       decoded      plain with shuffle(2048) of decoded images
    square      the same on squares of the network's size  keras        keras.utils.image_dataset_from_directory
    full        with train.augment.decode: full            buffer       memory.shuffle: buffer of 2,048
    first, late   seconds to the first batch at step 0     decoding     decoding alone, from memory: the ceiling
                  and at step 100,000
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from PIL import Image, ImageDraw
from result import print_result

ROOT = Path(__file__).resolve().parent.parent
ARMS = (
    "bakeoff", "full", "plain", "unchecked", "encoded", "decoded", "buffer", "resized", "square", "keras", "decoding",
    "first", "late",
)  # fmt: skip
OPTIONS = {"whole": {}, "small": {"max_side": 256}, "square": {"max_side": 224, "square": True}}
FOLDERS = {"resized": "small", "square": "square"}  # of the arms that do not read whole images
SIZE, BATCH, BUFFER = 224, 32, 2048
WIDTH = 500
CLASSES = 4
LATE_STEP = 100_000
WARM_UP_BATCHES = 10
SHARE_READ = 0.75  # of the images, after the warm-up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--width", type=int, default=WIDTH, help="of the JPEGs; they are three quarters as high")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--run", choices=ARMS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(measured(arguments.run, arguments.folder, arguments.images, arguments.threads)))
        return
    with TemporaryDirectory() as folder:
        needed = {FOLDERS.get(arm, "whole") for arm in arguments.arms}
        prepare(Path(folder), arguments.images, arguments.width, needed)
        results: dict[str, list[dict[str, float]]] = {arm: [] for arm in arguments.arms}
        for _ in range(arguments.rounds):
            for arm in arguments.arms:
                results[arm].append(in_a_child(arm, Path(folder), arguments))
                print(f"  {arm}: {results[arm][-1]}", file=sys.stderr, flush=True)
    report(results)
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def in_a_child(arm: str, folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--run", arm, "--folder", str(folder), "--images", str(arguments.images)]
    done = subprocess.run(
        [*command, "--threads", str(arguments.threads)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{arm}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def report(results: dict[str, list[dict[str, float]]]) -> None:
    middle = {
        arm: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for arm, runs in results.items()
        if runs
    }
    plain = middle.get("plain", {})
    names = ("images/s", "of plain", "CPU ms", "peak MB", "above plain", "first batch s")
    print(f"{'arm':<12}" + "".join(f"{name:>14}" for name in names))
    for arm, numbers in middle.items():
        ratio = f"{numbers['rate'] / plain['rate']:.2f}" if plain and numbers["rate"] else ""
        above = f"{(numbers['peak'] - plain['peak']) / 1e6:+.0f}" if plain else ""
        rate = f"{numbers['rate']:.0f}" if numbers["rate"] else ""
        cpu = f"{numbers['cpu']:.2f}" if numbers["rate"] else ""
        cells = (rate, ratio, cpu, f"{numbers['peak'] / 1e6:.0f}", above, f"{numbers['first']:.2f}")
        print(f"{arm:<12}" + "".join(f"{cell:>14}" for cell in cells))
    for arm, other in (("resized", "keras"), ("square", "keras"), ("bakeoff", "full")):
        if {arm, other} <= middle.keys():
            rate, cpu = middle[arm]["rate"] / middle[other]["rate"], middle[other]["cpu"] / middle[arm]["cpu"]
            print(f"{arm} is {rate:.2f} times {other} by the clock, {cpu:.2f} times by the processor")
    for arm, other, name in (
        ("bakeoff", "plain", "the same decoding, unshuffled"), ("unchecked", "bakeoff", "with checksums"),
        ("square", "keras", "image_dataset_from_directory"),
    ):  # fmt: skip
        if {arm, other} <= middle.keys():
            here, there = middle[arm]["cpu"], middle[other]["cpu"]
            print_result(
                f"an image read, {arm}", f"{here:.2f} ms of CPU", f"{there:.2f} ms", ratio=there / here, other=name
            )
    if {"first", "late"} <= middle.keys():
        print(f"a resume at step {LATE_STEP:,} costs {middle['late']['first'] - middle['first']['first']:+.2f} s")


def prepare(folder: Path, images: int, width: int, needed: set[str]) -> None:
    """Pictures in folders by class, and records of them by each of `OPTIONS`."""
    draw = np.random.default_rng(0)
    for number in range(images):
        path = folder / f"whole/data/raw/images/class{number % CLASSES}/{number:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(draw, width, width * 3 // 4).save(path, quality=80)
    for name in sorted(needed):
        workspace = folder / name
        (workspace / "data").mkdir(parents=True, exist_ok=True)
        if not (workspace / "data/raw").exists():
            (workspace / "data/raw").symlink_to(folder / "whole/data/raw")
        for link in ("src", "conf", "dvc.yaml"):
            (workspace / link).symlink_to(ROOT / link)
        data = {"use": "image_folders", "path": "data/raw/images", **OPTIONS[name]}
        (workspace / "params.yaml").write_text(yaml.safe_dump({"data": data}), encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "bakeoff.stages.build_records"], cwd=workspace, check=True, stdout=sys.stderr
        )


def picture(draw: np.random.Generator, width: int, height: int) -> Image.Image:
    """Shapes on clouds, with a little noise: about as many bytes as a photograph."""
    clouds = Image.fromarray(draw.integers(0, 256, (12, 16, 3), np.uint8)).resize(
        (width, height), Image.Resampling.BICUBIC
    )
    pen = ImageDraw.Draw(clouds)
    for _ in range(12):
        x, y = draw.integers(0, width), draw.integers(0, height)
        pen.ellipse([x, y, x + draw.integers(10, 90), y + draw.integers(10, 90)], fill=tuple(draw.integers(0, 256, 3)))
    noise = draw.normal(0, 9, (height, width, 3))
    return Image.fromarray(np.clip(np.asarray(clouds) + noise, 0, 255).astype(np.uint8))


# In the child.


def measured(arm: str, folder: Path, images: int, threads: int) -> dict[str, float]:
    from bakeoff.foundation.tf_loading import load_tensorflow

    load_tensorflow()
    if arm == "unchecked":
        from bakeoff.learning.input import record_reader

        record_reader.is_whole = lambda data, tail: True  # type: ignore[assignment]
    batches_of = {
        "plain": plain, "encoded": encoded, "decoded": decoded, "keras": by_keras, "decoding": decoding_alone
    }.get(arm, ours)  # fmt: skip
    wanted = max(1, int(images * SHARE_READ) // BATCH)
    begin = time.perf_counter()
    upcoming = iter(batches_of(arm, folder, threads, WARM_UP_BATCHES + wanted))
    next(upcoming)
    first = time.perf_counter() - begin
    if arm in ("first", "late"):
        return {"rate": 0.0, "cpu": 0.0, "peak": peak(), "first": first}
    for _ in range(WARM_UP_BATCHES - 1):
        next(upcoming)
    begin, computed = time.perf_counter(), time.process_time()
    for _ in range(wanted):
        next(upcoming)
    rate, computed = wanted * BATCH / (time.perf_counter() - begin), time.process_time() - computed
    return {"rate": rate, "cpu": 1000 * computed / (wanted * BATCH), "peak": peak(), "first": first}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def ours(arm: str, folder: Path, threads: int, batches: int) -> Iterable[Any]:
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.learning.input.augment import Augment
    from bakeoff.learning.input.batches import training_batches
    from bakeoff.learning.input.record_reader import RecordReader
    from bakeoff.learning.input.shuffle import ExampleOrder
    from bakeoff.learning.input.view import Shape

    records = folder / FOLDERS.get(arm, "whole") / "data/records"
    store = RecordReader(records, read_manifest(records).splits["train"])
    start = LATE_STEP if arm == "late" else 0
    return training_batches(
        store,
        Shape("classification", SIZE, 1, BATCH, threads, 2),
        order=ExampleOrder(store.examples, 0, (BUFFER,) if arm == "buffer" else ()),
        steps=range(start, start + batches),
        augment=Augment(decode="full" if arm == "full" else "fraction"),
        encode=lambda example: {"label": example["label"]},
    )


def plain(arm: str, folder: Path, threads: int, batches: int) -> Iterable[Any]:
    return _batched(_decoded(_serialized(folder), threads), batches)


def encoded(arm: str, folder: Path, threads: int, batches: int) -> Iterable[Any]:
    return _batched(_decoded(_serialized(folder).shuffle(BUFFER), threads), batches)


def decoded(arm: str, folder: Path, threads: int, batches: int) -> Iterable[Any]:
    return _batched(_decoded(_serialized(folder), threads).shuffle(BUFFER), batches)


def by_keras(arm: str, folder: Path, threads: int, batches: int) -> Iterable[Any]:
    import keras

    images = keras.utils.image_dataset_from_directory(
        folder / "whole/data/raw/images", image_size=(SIZE, SIZE), batch_size=BATCH, seed=0, verbose=False
    )
    return images.repeat().take(batches)


def decoding_alone(arm: str, folder: Path, threads: int, batches: int) -> Iterable[Any]:
    import tensorflow as tf

    files = sorted((folder / "whole/data/raw/images").glob("*/*.jpg"))[: 8 * BATCH]
    pixels = tf.data.Dataset.from_tensor_slices([file.read_bytes() for file in files]).repeat().map(
        lambda data: tf.io.decode_image(data, channels=3, expand_animations=False), num_parallel_calls=threads
    )  # fmt: skip
    return pixels.batch(BATCH).prefetch(2).take(batches)


def _serialized(folder: Path) -> Any:
    import tensorflow as tf

    shards = sorted(str(path) for path in (folder / "whole/data/records").glob("train-*"))
    return tf.data.TFRecordDataset(shards).repeat()


def _decoded(serialized: Any, threads: int) -> Any:
    """With the same decoding and resizing as ours."""
    from bakeoff.learning.input import augment_and_resize
    from bakeoff.learning.input.decode import parse_image
    from bakeoff.learning.input.view import View

    def prepare(data: Any) -> Any:
        example = augment_and_resize.fit(parse_image(data), View(SIZE))
        return example["image"], example["label"]

    return serialized.map(prepare, num_parallel_calls=threads)


def _batched(rows: Any, batches: int) -> Any:
    return rows.batch(BATCH).prefetch(2).take(batches)


if __name__ == "__main__":
    main()
