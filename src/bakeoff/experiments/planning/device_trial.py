"""A process that converts a network with random weights for its device, and says what the file is like.

$ python -m bakeoff.experiments.planning.device_trial models/config/run.yaml data/records
{"device": "limelight_coral", "form": "int8", "bytes": 835126, "latency_ms": 0.7, …}
"""

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bakeoff.config.compose.whole_run import Run, load
from bakeoff.dataset.records.manifest import Manifest, read_manifest
from bakeoff.experiments.planning.device_estimate import TRIAL, Outlook
from bakeoff.export.devices import DEVICES
from bakeoff.export.settings import ONNX, RKNN, Format
from bakeoff.foundation.child_process import die_with_parent
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.tf_loading import load_tensorflow

CALLS = 20
EXAMPLES = 8  # images of noise that calibrate int8, for the timing alone


def try_device(run: Run, manifest: Manifest) -> Outlook:
    load_tensorflow()
    from bakeoff.export.accuracy_report import latency, open_file
    from bakeoff.export.edge_tpu import check_edge_tpu
    from bakeoff.export.hailo_operations import check_hailo
    from bakeoff.export.tflite_metadata import ModelMetadata
    from bakeoff.export.tflite_operations import read_lite_file
    from bakeoff.export.write_formats import write_files
    from bakeoff.learning.tasks.task import make_task

    assert run.export.device
    device = DEVICES[run.export.device]
    taken: Format = next(form for form in run.export.formats if form in device.formats)
    form = ONNX if taken == RKNN else taken  # Rockchip's simulator takes minutes, and its times say nothing
    settings = replace(run.export, formats=(form,), device=None)
    network = run.model.build(run.derived.num_classes)
    task = make_task(run.model, manifest.classes, multi_label=manifest.multi_label)
    sides = tuple(network.input_shape[1:])
    noise = np.random.default_rng(0)

    def representative() -> Iterator[list[np.ndarray]]:
        for _ in range(EXAMPLES):
            yield [noise.uniform(-1, 1, (1, *sides)).astype(np.float32)]

    with TemporaryDirectory() as name:
        folder = Path(name)
        for _ in write_files(
            network, run.model, task, manifest.classes, settings,
            about=ModelMetadata(run.name), representative=representative, folder=folder,
        ):  # fmt: skip
            pass
        path = folder / settings.files[form]
        model: Any = open_file(form, path, settings.threads)  # one that takes pixels of its own size
        model.put(np.full(sides, 127, np.uint8))
        milliseconds, calls = latency(model.call, CALLS)
        taken_by_chip = str(check_edge_tpu(read_lite_file(path))) if device.is_edge_tpu else ""
        if device.is_hailo:
            taken_by_chip = check_hailo(path)
        size = path.stat().st_size
        return Outlook(run.export.device, form, size, milliseconds, settings.threads, calls, taken_by_chip)


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {TRIAL}", description=__doc__)
    parser.add_argument("variant", type=Path)
    parser.add_argument("records", type=Path)
    arguments = parser.parse_args()
    die_with_parent()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes to standard error from here on
    with errors_in_one_line():
        outlook = try_device(load(arguments.variant), read_manifest(arguments.records))
        print(json.dumps(asdict(outlook)), file=answers, flush=True)


if __name__ == "__main__":
    main()
