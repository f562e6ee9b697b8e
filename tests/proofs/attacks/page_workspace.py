"""A workspace for attacks on its page: runs in every state, a dataset, labels, an export, links that lead out.

What may not be read or written lies beside it in outside/, and in the environment.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from bakeoff.app.web import background_commands
from bakeoff.experiments.runs.run_status import State
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from support.exported_run import write_export
from support.imports import ROOT
from support.made_runs import NOBODY, made
from support.moving_things import draw

SECRET = "never-shown-71f3"  # of the disk and of the environment
RUN_ID = "0b9f1c2d3e4f5a6b7c8d9e0f1a2b3c4d"
RUNNING, DONE, LINKED = "a" * 16, "b" * 16, "d" * 16
ERRAND = "20260102-030405-abcdef"
FRAMES = tuple(f"images/match_{number:08d}ms.jpg" for number in (0, 500, 1000))
DATA = {"data": "data: {use: digits, train_examples: 12, validation_examples: 6}", "model": "model: {use: ssd_tiny}"}


def make_workspace(folder: Path) -> None:
    """Fill the folder, which is the current one, and the one beside it."""
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    draw(1.0).save(outside / "secret.jpg", comment=SECRET.encode())
    made(outside, LINKED, State.SUCCEEDED, run_id="4" * 32)
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "dvc.yaml", folder)
    lines = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(DATA.get(line.partition(":")[0], line) for line in lines)
    (folder / "params.yaml").write_text(f"{text}\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run([sys.executable, "-m", "bakeoff.stages.build_records"], cwd=folder, check=True)
    _make_runs(folder, outside)
    _make_dataset(folder, outside)
    _make_export(folder)
    place = background_commands.folder_of(ERRAND)
    place.mkdir(parents=True)
    (place / "log.txt").write_text("$ bakeoff status\nno run\n", encoding="utf-8")
    errand = {"id": ERRAND, "title": "A", "commands": [["bakeoff", "status"]], "began": 0, "state": "runs", "notes": []}
    (place / "errand.json").write_text(json.dumps(errand), encoding="utf-8")


def _make_runs(folder: Path, outside: Path) -> None:
    runs = folder / ".bakeoff/runs"
    for number, state in enumerate(State):
        made(runs, f"f{number:015x}", state, run_id=f"{number:032x}")
    run = made(runs, RUNNING, State.RUNNING, run_id="1" * 32)
    metrics = {"validation/mAP_50": 0.5}
    made(runs, DONE, State.SUCCEEDED, process=NOBODY, run_id=RUN_ID, metrics=metrics, checkpoint=True)
    made(runs, "c" * 16, State.SUCCEEDED, process=NOBODY, run_id="2" * 32, metrics=metrics)
    (run / "samples").mkdir()
    draw(0.0).save(run / "samples/00000500.jpg")
    (runs / LINKED).symlink_to(outside / LINKED)
    journal = Journal("1" * 32)
    Target("local", "bakeoff").write(journal.folder)
    for step in range(10, 60, 10):
        journal.metrics(step, {"train/loss": 20 / step, "validation/mAP_50": step / 400})
    journal.close()


def _make_dataset(folder: Path, outside: Path) -> None:
    root = folder / "data/raw/match"
    for inside in ("images", "annotations"):
        (root / inside).mkdir(parents=True)
    for number, frame in enumerate(FRAMES):
        draw(float(number)).save(root / frame)
    (root / "images/page.jpg").write_text("<script>", encoding="utf-8")
    (root / "images/link.jpg").symlink_to(outside / "secret.jpg")
    box = "<bndbox><xmin>210</xmin><ymin>90</ymin><xmax>270</xmax><ymax>150</ymax></bndbox>"
    text = f"<annotation><object><name>ball</name>{box}</object></annotation>"
    (root / "annotations/match_00000000ms.xml").write_text(text, encoding="utf-8")
    (folder / "data/raw/linked").symlink_to(outside)
    (folder / "conf/data/match.yaml").write_text("kind: pascal_voc\npath: data/raw/match\n", encoding="utf-8")


def _make_export(folder: Path) -> None:
    write_export(folder, DONE, RUN_ID, "ball\ncube\n")
    results = folder / ".bakeoff/results"
    (results / f"{DONE}.html").write_text("<!doctype html><title>a report</title>", encoding="utf-8")
