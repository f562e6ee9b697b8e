"""`bakeoff suspects --folds`: a real sweep, each of whose models judges what it did not train on."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bakeoff.errors import DataError, WorkspaceError
from bakeoff.sources.dataset import Dataset, Split
from bakeoff.sources.folders import ImageFolders
from bakeoff.suspects import held_out
from drawing import write
from workspace_copy import tiny_workspace

EACH = 24  # pictures of a class
LINES = {
    "experiment": "experiment: demo_images",
    "data": "data: {use: image_folders, path: data/raw/set, split: {test: 0.1}}",
    "model": "model: {use: cnn_small, input_size: 32}",
    "lr": "lr: {use: constant, peak: 0.003, warmup_steps: 0}",
    "optimizer": "optimizer: {use: adam}",
    "train": "train: {use: smoke, steps: 60, batch_size: 16}",
    "export": "export: {use: saved_model}",
}


def coloured(label: int, seed: int) -> bytes:
    """Return a noisy picture, red or blue."""
    noise = np.random.default_rng(seed).integers(0, 90, (32, 32, 3), np.uint8)
    noise[..., 2 * label] += 150
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.slow
def test_folds_find_the_one_wrong_label_of_all_examples(tmp_path: Path) -> None:
    workspace = tiny_workspace(tmp_path, LINES)
    for number in range(2 * EACH):
        label = number % 2
        write(tmp_path / f"data/raw/set/{('red', 'blue')[label]}/{number:02d}.png", coloured(label, number))
    write(tmp_path / "data/raw/set/red/wrong.png", coloured(1, 999))
    workspace.run("dvc", "add", "data/raw/set")
    workspace.repro("build_records")
    workspace.commit()
    first = workspace.run("bakeoff", "suspects", "--folds", "2", "--csv", "rows.csv").stdout
    assert "suspects: 1 in 49 examples, 2 folds, sweep-" in first
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as lines:
        [row] = csv.DictReader(lines)
    assert (row["name"], row["label"], row["proposal"]) == ("red/wrong.png", "red", "blue")
    sweep = first.partition("2 folds, ")[2].partition(":")[0]
    again = workspace.run("bakeoff", "suspects", sweep).stdout
    assert again.startswith(f"suspects: 1 in 49 examples, 2 folds, {sweep}: accuracy 0.980")


@pytest.mark.parametrize(
    ("split", "words"),
    [
        (Split(), ["+data.split.fold=1/3,2/3,3/3"]),
        (Split(by="fraction", test=0.1), ["+data.split.fold=1/3,2/3,3/3", "++data.split.test=0"]),
        (Split(by="given"), ["+data.split.fold=1/3,2/3,3/3", "++data.split.by=fraction"]),
        (Split(validation_list="val.txt"), ["+data.split.fold=1/3,2/3,3/3", "++data.split.validation_list=null"]),
    ],
)
def test_the_words_of_folds_keep_no_example_out(
    split: Split, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _choose(monkeypatch, ImageFolders(path="set", split=split))
    assert list(held_out.words_of_folds(3)) == words


def test_data_without_folds_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _choose(monkeypatch, ImageFolders(path="set", split=Split(by="blocks")))
    with pytest.raises(DataError, match="--folds: data.split.by: blocks has none; set data.split.by: fraction, and"):
        held_out.words_of_folds(3)
    with pytest.raises(WorkspaceError, match="--folds: must be between 2 and 100, got 1"):
        held_out.words_of_folds(1)
    _choose(monkeypatch, [])
    with pytest.raises(DataError, match="needs one folder of files to split, got several folders or options"):
        held_out.words_of_folds(3)


def _choose(monkeypatch: pytest.MonkeyPatch, source: Dataset | list) -> None:
    chosen = type("Chosen", (), {"source": source})
    monkeypatch.setattr(held_out, "choose_source", lambda params, conf: chosen)
