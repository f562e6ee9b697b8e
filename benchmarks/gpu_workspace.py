"""A workspace for measurements on a machine that has no git, no DVC and no network: its stages run one by one.

space = Workspace(folder, train={"use": "demo", "steps": 100})
space.run("build_records", "render_config", "train")
space.kill("train", at_step=50)
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    seconds: float
    output: str

    @property
    def last_line(self) -> str:
        lines = self.output.strip().splitlines()
        return lines[-1] if lines else ""


class Workspace:
    """params.yaml and conf/ of the project in a folder of its own, without MLflow."""

    def __init__(self, folder: Path, **groups: Mapping[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("dvc.yaml", "params.yaml"):
            shutil.copy(ROOT / name, folder / name)
        shutil.copytree(ROOT / "conf", folder / "conf", dirs_exist_ok=True)
        self.change(track={"use": "none"}, **groups)

    def change(self, **groups: Mapping[str, Any]) -> None:
        """Replace groups of params.yaml."""
        file = self.folder / "params.yaml"
        params = yaml.safe_load(file.read_text(encoding="utf-8")) | groups
        file.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")

    def copy(self, folder: Path) -> "Workspace":
        """Return a workspace with the same records and config, in which nothing was trained."""
        shutil.rmtree(folder, ignore_errors=True)
        skipped = shutil.ignore_patterns(".bakeoff", "train", "evaluation")
        shutil.copytree(self.folder / "data", folder / "data")
        shutil.copytree(self.folder / "models", folder / "models", ignore=skipped)
        other = Workspace(folder)
        shutil.copy(self.folder / "params.yaml", folder / "params.yaml")
        return other

    def run(self, *stages: str, environment: Mapping[str, str] | None = None) -> Ended:
        """Run stages until one fails; return how the last one ended."""
        ended = Ended(0, 0.0, "")
        for stage in stages:
            ended = run_command(["-m", f"bakeoff.stages.{stage}"], self.folder, environment)
            if ended.code:
                break
        return ended

    @contextmanager
    def begin(self, stage: str) -> Iterator[subprocess.Popen[str]]:
        """Start a stage that runs beside; it is killed at the end if it still runs."""
        command = [sys.executable, "-m", f"bakeoff.stages.{stage}"]
        with open(self.folder / f"{stage}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=_environment({}), stdout=log, stderr=subprocess.STDOUT, text=True
            )
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                process.wait()

    def kill(self, stage: str, at_step: int, limit_seconds: float) -> int:
        """Kill a training by SIGKILL at a step, or at the next that is seen; return that step."""
        deadline = time.monotonic() + limit_seconds
        with self.begin(stage) as process:
            while process.poll() is None and self.step < at_step and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            return self.step

    @property
    def status(self) -> dict[str, Any]:
        """The status of the training in this folder, empty if none has begun."""
        for file in self.folder.glob(".bakeoff/runs/*/status.json"):
            return dict(json.loads(file.read_text(encoding="utf-8")))
        return {}

    @property
    def step(self) -> int:
        return int(self.status.get("steps_done") or 0)

    @property
    def measured(self) -> dict[str, Any]:
        """What the clock and the machine decided of the training."""
        for file in self.folder.glob(".bakeoff/results/*.json"):
            return dict(json.loads(file.read_text(encoding="utf-8")))
        return {}

    def digest(self, pattern: str = "models/train/*.weights.h5") -> str:
        """Return the SHA-256 of all files of a pattern, or "none"."""
        files = sorted(self.folder.glob(pattern))
        content = hashlib.sha256(b"".join(file.read_bytes() for file in files))
        return content.hexdigest() if files else "none"

    def metrics(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "models/evaluation/metrics.json").read_text(encoding="utf-8")))

    def config(self) -> dict[str, Any]:
        return dict(yaml.safe_load((self.folder / "models/config/run.yaml").read_text(encoding="utf-8")))


def run_command(
    arguments: list[str], folder: Path, environment: Mapping[str, str] | None = None, limit_seconds: float | None = None
) -> Ended:
    """Run Python with the project's code; a command that is over its time has the code 124."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=_environment(environment or {}), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ended(124, time.monotonic() - start, f"took over {limit_seconds} s")
    return Ended(done.returncode, time.monotonic() - start, done.stdout)


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | changes
