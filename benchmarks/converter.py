"""Does memory grow with every file of TensorFlow Lite that a process makes? Prints its resident memory as it goes.

    python benchmarks/converter.py --count 50

`here` converts one small network again and again in one process: the converter of TensorFlow 2.21 keeps memory at each
(tensorflow#122598). `exported` exports it as often, as the stage `export` does: a process of its own converts it.
`asked` plans as many variants for a device in one process, as a page or a program does.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import linear_regression
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from trials import make_workspace

PARAMS = {
    "experiment": "demo", "data": {"use": "digits", "train_examples": 24, "validation_examples": 8},
    "model": "ssd_tiny", "train": {"steps": 10}, "export": "limelight_coral", "seed": 0,
}  # fmt: skip
EVERY = 10  # conversions between two lines
SETTLED = 5  # before the slope is taken: libraries fill their own stores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--ways", nargs="+", choices=[*WAYS], default=[*WAYS])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        make_workspace(Path(name), None, PARAMS)
        os.chdir(name)
        for way in arguments.ways:
            follow(way, WAYS[way](), arguments.count)


def follow(way: str, once: Callable[[int], None], count: int) -> None:
    """Print what the process holds as it does something again and again, and how much more each time."""
    process, held = psutil.Process(), []
    for number in range(count):
        once(number)
        held.append(process.memory_info().rss / 1e6)
        if (number + 1) % EVERY == 0:
            print(f"{way}: after {number + 1} files {held[-1]:.0f} MB", flush=True)
    settled = held[min(SETTLED, count - 2) :]
    slope = linear_regression(range(len(settled)), settled).slope
    print(f"{way}: {slope:+.2f} MB for each file, {settled[0]:.0f} to {settled[-1]:.0f} MB", flush=True)


def convert_here() -> Callable[[int], None]:
    from bakeoff.export.settings import Export
    from bakeoff.export.tflite_build import lite_module
    from bakeoff.export.tflite_worker import convert_saved

    network, task, noise = build()
    module, folder = lite_module(network, task, len(task.classes), Export(formats=("int8",))), tempfile.mkdtemp(dir=".")
    import tensorflow as tf

    tf.saved_model.save(module, folder, module.answer.get_concrete_function())

    def once(number: int) -> None:
        convert_saved(folder, "int8", noise, whole_outputs=False)

    return once


def export() -> Callable[[int], None]:
    from bakeoff.export.settings import Export
    from bakeoff.export.tflite_metadata import ModelMetadata
    from bakeoff.export.write_formats import write_files

    network, task, noise = build()
    folder, settings = Path(tempfile.mkdtemp(dir=".")), Export(formats=("int8",))

    def once(number: int) -> None:
        files = write_files(
            network, task.model, task, task.classes, settings,
            about=ModelMetadata("t"), representative=noise, folder=folder,
        )  # fmt: skip
        assert [*files] == ["int8"]

    return once


def build() -> tuple[Any, Any, Callable[[], Iterator[list[Any]]]]:
    """Return a network, its task, and images of noise to calibrate with."""
    from bakeoff.foundation.tf_loading import load_tensorflow

    load_tensorflow()
    import numpy as np

    from bakeoff.learning.tasks.task import make_task

    run, manifest = read()
    network = run.model.build(run.derived.num_classes)
    draw, sides = np.random.default_rng(0), (1, *network.input_shape[1:])
    task = make_task(run.model, manifest.classes, multi_label=manifest.multi_label)
    return network, task, lambda: ([draw.uniform(-1, 1, sides).astype(np.float32)] for _ in range(8))


def ask() -> Callable[[int], None]:
    from bakeoff.experiments.planning.device_estimate import look_ahead

    run, manifest = read()

    def once(number: int) -> None:
        other = replace(run, export=replace(run.export, max_detections=number + 1))
        look_ahead(other, manifest, Path("kept"))

    return once


def read() -> tuple[Any, Any]:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.foundation import workspace

    return read_variant().whole(), read_manifest(workspace.RECORDS)


WAYS = {"here": convert_here, "exported": export, "asked": ask}

if __name__ == "__main__":
    main()
