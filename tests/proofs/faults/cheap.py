"""A pipeline with the shape of this project's, whose stages take as long as their writing, and what it must come to.

python cheap.py train        in such a workspace, as its dvc.yaml calls it
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from bakeoff.foundation.files import building, write_whole

PIPELINE = """
stages:
  records:
    cmd: python cheap.py records
    params: [seed]
    deps: [cheap.py]
    outs: [{records: {persist: true}}]
  config:
    cmd: python cheap.py config
    params: [seed]
    deps: [records/0]
    outs: [{config/run.yaml: {cache: false, persist: true}}, {config/lr.svg: {persist: true}}]
  train:
    cmd: python cheap.py train
    deps: [config/run.yaml, records]
    outs: [models/train]
  evaluate:
    cmd: python cheap.py evaluate
    deps: [models/train]
    metrics: [{models/evaluation/metrics.json: {cache: false}}]
    outs: [models/evaluation/plots, models/evaluation/report.html, models/evaluation/examples.parquet]
  export:
    cmd: python cheap.py export
    deps: [models/train]
    outs: [models/export]
"""
FOLDERS = {
    "records": ("records", {"0": 200_000, "1": 200_000, "index": 4_096, "labels.txt": 20}),
    "train": ("models/train", {"best": 90_000, "final": 90_000, "history": 12_345, "none": 0, "plots/a": 5_000}),
    "evaluate": (
        "models/evaluation",
        {"metrics.json": 300, "plots/f1": 9_000, "plots/pr": 9_000, "report.html": 70_000, "examples.parquet": 30_000},
    ),
    "export": ("models/export", {"saved_model.pb": 50_000, "model.tflite": 40_000, "variables/0": 100_000}),
}
CONFIG = {"config/run.yaml": 2_000, "config/lr.svg": 3_000}


def content(name: str, seed: int, size: int) -> bytes:
    """Return what no other file and no other seed has; most of it changes with the seed, the labels do not."""
    start = hashlib.sha256(f"{name} {seed if name != 'records/labels.txt' else 0}".encode()).hexdigest()
    return f"{start}\n".encode().ljust(size, b".")[:size]


def write_stage(stage: str) -> None:
    seed = int(yaml.safe_load(Path("params.yaml").read_text())["seed"])
    if stage == "config":
        for name, size in CONFIG.items():
            write_whole(Path(name), content(name, seed, size).decode(), lasting=True)
        return
    folder, files = FOLDERS[stage]
    with building(Path(folder)) as partial:
        for name, size in files.items():
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_bytes(content(f"{folder}/{name}", seed, size))


def expected(seed: int) -> dict[str, bytes]:
    files = {f"{folder}/{name}": size for folder, names in FOLDERS.values() for name, size in names.items()}
    return {name: content(name, seed, size) for name, size in (files | CONFIG).items()}


def make_cheap(folder: Path) -> None:
    """Make a workspace of it, in which nothing ran yet."""
    folder.mkdir(parents=True)
    (folder / "dvc.yaml").write_text(PIPELINE)
    (folder / "params.yaml").write_text("seed: 0\n")
    (folder / "cheap.py").write_bytes(Path(__file__).read_bytes())
    (folder / ".gitignore").write_text("/records\n/config/lr.svg\n/models\n")
    commands = (
        ["git", "init", "--quiet"],
        [sys.executable, "-m", "dvc", "init", "--quiet"],
        # What DVC notes of files is on this disk, too, as with a disk that has all of a machine.
        [sys.executable, "-m", "dvc", "config", "--local", "core.site_cache_dir", str(folder / ".dvc/tmp/site")],
        [sys.executable, "-m", "dvc", "config", "core.analytics", "false"],
        ["git", "add", "--all"],
        ["git", "commit", "--quiet", "--message", "cheap"],
    )
    for command in commands:
        subprocess.run(command, cwd=folder, check=True, env=os.environ | AUTHOR)


AUTHOR = {f"GIT_{role}_{part}": "t@localhost" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}


def find_faults(folder: Path, seed: int) -> Iterator[str]:
    """Yield what is wrong, asked of the files themselves and then of DVC."""
    for name, wanted in expected(seed).items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != wanted:
            yield f"{name}: {path.stat().st_size if path.is_file() else 'missing'}, wanted {len(wanted)} bytes"
    for path in (folder / ".dvc/cache/files/md5").glob("??/*"):
        is_trusted = path.stat().st_mode & 0o777 == 0o444
        if is_trusted and hashlib.md5(path.read_bytes()).hexdigest() != path.parent.name + path.stem:
            yield f"{path.relative_to(folder)}: {path.stat().st_size} bytes, not what its name says"
    status = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "--json"], cwd=folder, capture_output=True, text=True, check=False
    )
    if status.returncode or json.loads(status.stdout) != {}:
        yield f"dvc status: {status.stdout.strip()} {status.stderr.strip()}"


if __name__ == "__main__":
    write_stage(sys.argv[1])
