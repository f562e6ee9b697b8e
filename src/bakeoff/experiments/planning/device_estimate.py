"""What a network will be on `export.device`: the size of its file, what falls back to the processor, how long it takes.

Random weights show all three, before anything is trained. What was found is kept, for it takes seconds to find.
"""

import hashlib
import json
import platform
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.config.compose.network_facts import find_once
from bakeoff.config.compose.whole_run import Run, write
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.foundation import workspace
from bakeoff.foundation.child_process import run_module
from bakeoff.foundation.result_code import deciding_digest
from bakeoff.foundation.versions import library_version

TRIAL = "bakeoff.experiments.planning.device_trial"


@dataclass(frozen=True)
class Outlook:
    device: str
    form: str  # the format whose file was measured
    bytes: int  # of that file
    latency_ms: float  # on this machine, with random weights
    threads: int
    calls: int
    operations: str  # what the device's own chip takes of them; empty on devices without one


def look_ahead(run: Run, manifest: Manifest, kept_in: Path) -> Outlook | None:
    """Return what is kept of the network and its device, or find it; None where no device is named."""
    if run.export.device is None:
        return None
    asked = f"{run.model!r} {manifest.classes} {manifest.multi_label} {run.export!r} {platform.node()}"
    versions = " ".join(library_version(package) for package in ("tensorflow", "onnxruntime"))
    digest = hashlib.sha256(f"{asked} {versions} {deciding_digest('export')}".encode()).hexdigest()[:16]
    return find_once(kept_in / f"device-{digest}.json", lambda tree: Outlook(**tree), partial(_ask, run))


def _ask(run: Run) -> Outlook:
    """Let a process of its own find it: what asks may be a page or a program that runs all day, without TensorFlow."""
    with TemporaryDirectory() as name:
        path = Path(name) / workspace.RUN.name
        write(run, path)
        return Outlook(**json.loads(run_module("export.device", TRIAL, str(path), str(workspace.RECORDS))))
