"""`bakeoff next` with real networks: what it writes, and what bad input gets."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
from PIL import Image

from bakeoff.dataset.building.write_shards import write_split
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import TRAIN, Record
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.networks.network import Network
from conftest import Listed
from support.commands import run_bakeoff
from support.imports import ROOT
from support.messages import missing_in

LABELS = ("dark", "light")
Run = Callable[..., tuple[int, str, str]]


def draw_picture(file: Path, seed: int, side: int = 288) -> Path:
    pixels = np.random.default_rng(seed).integers(0, 255, (4, 4, 3), np.uint8)
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).resize((side, side), Image.Resampling.NEAREST).save(file)
    return file


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make two training examples, and five pictures in `new`: one is trained on, one is broken, two show the same."""
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "dvc.yaml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    known = [draw_picture(tmp_path / f"known/{seed}.png", seed) for seed in (0, 1)]
    records = [Record(file.name, (file.read_bytes(),), 288, 288, labels=("dark",)) for file in known]
    folder = tmp_path / "data/records"
    folder.mkdir(parents=True)
    split = write_split(Listed(LABELS, tuple(records)), TRAIN, folder)
    Manifest("classification", LABELS, {"train": split, "validation": split}).write(folder)
    draw_picture(tmp_path / "new/seen.png", 0, side=144)
    draw_picture(tmp_path / "new/deep/a.png", 10)
    draw_picture(tmp_path / "new/a_again.png", 10, side=144)
    draw_picture(tmp_path / "new/b.png", 11)
    (tmp_path / "new/broken.jpg").write_bytes(b"no picture")
    return tmp_path


def save_run(
    settings: Network, folder: Path, monkeypatch: pytest.MonkeyPatch, labels: tuple[str, ...] = LABELS
) -> None:
    """Make a network with its first weights the workspace's run."""
    weights = folder / "models/train/best.weights.h5"
    weights.parent.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(0)
    settings.build(len(labels)).save_weights(weights)
    trained = Trained(settings, weights, labels, multi_label=False)
    monkeypatch.setattr("bakeoff.inference.predict.select_model.find_run", lambda name: (trained, name))


def read_list(out: Path) -> list[dict[str, str]]:
    with (out / "next.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_new_pictures_are_listed_and_what_is_known_is_left_out(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_run(Cnn(input_size=16, width=0.25), workspace, monkeypatch)
    code, printed, errors = run_bakeoff(monkeypatch, capsys, "next", "new", "--count", "5")
    assert code == 0 and missing_in(errors, "broken.jpg: no image", "b'no pictu'", "passed over") == []
    head, fewer, alike, unread, written = printed.splitlines()
    assert missing_in(head, "2 of 5", "this workspace's run") == [] and missing_in(fewer, "--count", "5") == []
    assert alike.split()[0] == "2" and "left out" in alike and unread.split()[0] == "1" and "read" in unread
    assert missing_in(written, "next.csv", "contact.jpg", "images/", "data/next/new/") == []
    rows = read_list(workspace / "data/next/new")
    assert {row["image"] for row in rows} == {"a_again.png", "b.png"} and [row["rank"] for row in rows] == ["1", "2"]
    assert all(0.9 < float(row["uncertainty"]) <= 1 and row["answer"].split()[0] in LABELS for row in rows)
    copied = {file.name for file in (workspace / "data/next/new/images").iterdir()}
    assert copied == {"a_again.png", "b.png"}
    with Image.open(workspace / "data/next/new/contact.jpg") as sheet:
        assert sheet.width > 400
    for arguments, parts in REFUSED.items():
        code, _, errors = run_bakeoff(monkeypatch, capsys, "next", *arguments)
        assert code == 2 and missing_in(errors, *parts) == []
    (workspace / "films").mkdir()
    (workspace / "films/a.mp4").write_bytes(b"")
    errors = run_bakeoff(monkeypatch, capsys, "next", "films")[2]
    assert missing_in(errors, "films: ", "no image", "1 film", "`bakeoff frames`") == []
    save_run(ClipCnn(input_size=16, frames=2, width=0.25), workspace, monkeypatch)
    errors = run_bakeoff(monkeypatch, capsys, "next", "new", "--out", "x")[2]
    assert missing_in(errors, "this workspace's run: ", "images", "clips") == [] and errors.count("\n") == 1
    (workspace / "models/train/best.weights.h5").unlink()
    errors = run_bakeoff(monkeypatch, capsys, "next", "new", "--out", "x")[2]
    assert missing_in(errors, "models/train: nothing", "`dvc repro`", "name a run") == [] and errors.count("\n") == 1


def test_features_of_the_training_set_are_read_once_for_a_network(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_run(Cnn(input_size=16, width=0.25), workspace, monkeypatch)
    assert run_bakeoff(monkeypatch, capsys, "next", "new")[0] == 0
    for shard in (workspace / "data/records").glob("train-*"):
        shard.unlink()
    draw_picture(workspace / "later/c.png", 12)
    assert run_bakeoff(monkeypatch, capsys, "next", "later")[0] == 0
    assert [row["image"] for row in read_list(workspace / "data/next/later")] == ["c.png"]
    save_run(Cnn(input_size=16, width=0.5), workspace, monkeypatch)
    code, _, errors = run_bakeoff(monkeypatch, capsys, "next", "later", "--out", "other")
    assert (
        code == 2
        and missing_in(errors, "data/records/train-00000-of-00001: ", "No such file", "build the records") == []
    )


REFUSED = {
    ("new",): ("data/next/new: ", "empty", "--out"),
    ("nowhere",): ("nowhere: no such folder",),
    ("conf", "--out", "x"): ("conf: ", "no image"),
    ("new", "--count", "0"): ("--count: ", "1", "0"),
    ("new", "--out", "x", "--as", "voc"): ("--as: ", "detector", "this workspace's run", "classification"),
    ("new", "--out", "x", "--min-score", "2"): ("--min-score: ", "0", "1", "2"),
}


@pytest.mark.slow
def test_a_detectors_boxes_are_proposals_to_correct(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from support.lite_files import MODELS

    save_run(MODELS["detection"], workspace, monkeypatch)
    arguments = ("next", "new", "--count", "2", "--as", "coco", "--min-score", "0.011")
    code, printed, _ = run_bakeoff(monkeypatch, capsys, *arguments)
    assert code == 0
    out = workspace / "data/next/new"
    boxes = json.loads((out / "proposals.json").read_text(encoding="utf-8"))["annotations"]
    assert f"{len(boxes):,} proposed boxes" in printed and boxes
    assert len((out / "proposals.csv").read_text(encoding="utf-8").splitlines()) == len(boxes) + 1
