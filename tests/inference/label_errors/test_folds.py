"""Suspects of folds: each of the models judges what it did not train on."""

import csv
from pathlib import Path

import pytest

from support.coloured import SMALL, coloured
from support.drawing import write
from support.messages import missing_in
from support.workspace_copy import tiny_workspace

EACH = 24  # pictures of a class
LINES = SMALL | {"data": "data: {use: image_folders, path: data/raw/set, split: {test: 0.1}}"}


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
    printed = workspace.run("bakeoff", "suspects", "--folds", "2", "--quiet", "--csv", "rows.csv").stdout
    assert missing_in(printed, "suspects: 1 in 49", "2 runs", "accuracy 0.980") == []
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as lines:
        [row] = csv.DictReader(lines)
    assert (row["name"], row["label"], row["proposal"]) == ("red/wrong.png", "red", "blue")
    again = workspace.run("bakeoff", "suspects", "--sweep").stdout
    assert missing_in(again, "suspects: 1 in 49", "2 runs", "accuracy 0.980") == []
