"""What a network will be on `export.device`: the size of its file, what falls back to the processor, how long it takes.

Random weights show all three, before anything is trained. What was found is kept, for it takes seconds to find.
"""

import hashlib
import platform
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bakeoff.config.compose.network_facts import find_once
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.export.devices import DEVICES
from bakeoff.export.settings import ONNX, RKNN, Format
from bakeoff.foundation.result_code import deciding_digest
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.foundation.versions import library_version

CALLS = 20
EXAMPLES = 8  # images of noise that calibrate int8, for the timing alone


@dataclass(frozen=True)
class Outlook:
    device: str
    form: str  # the format whose file was measured
    bytes: int  # of that file
    latency_ms: float  # on this machine, with random weights
    threads: int
    calls: int
    edge_tpu: str  # what Coral's chip takes of it; empty on other devices


def look_ahead(run: Run, manifest: Manifest, kept_in: Path) -> Outlook | None:
    """Return what is kept of the network and its device, or find it; None where no device is named."""
    if run.export.device is None:
        return None
    asked = f"{run.model!r} {manifest.classes} {manifest.multi_label} {run.export!r} {platform.node()}"
    versions = " ".join(library_version(package) for package in ("tensorflow", "onnxruntime"))
    digest = hashlib.sha256(f"{asked} {versions} {deciding_digest('export')}".encode()).hexdigest()[:16]
    return find_once(kept_in / f"device-{digest}.json", lambda tree: Outlook(**tree), partial(_find, run, manifest))


def _find(run: Run, manifest: Manifest) -> Outlook:
    load_tensorflow()
    from bakeoff.export.accuracy_report import latency, open_file
    from bakeoff.export.edge_tpu import check_edge_tpu
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
        edge_tpu = str(check_edge_tpu(read_lite_file(path))) if device.is_edge_tpu else ""
        return Outlook(run.export.device, form, path.stat().st_size, milliseconds, settings.threads, calls, edge_tpu)
