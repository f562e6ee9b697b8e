"""The history of a run, and the tables that are drawn from it."""

import csv
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from bakeoff.learning.checkpoints.history import LogLine, read_history, write_plots
from bakeoff.learning.training.callbacks import HistoryFile


def write(folder: Path, lines: Sequence[LogLine], earlier: Sequence[LogLine] = ()) -> None:
    file = HistoryFile(folder)
    file.on_start(SimpleNamespace(history=earlier))  # type: ignore[arg-type]
    for line in lines:
        (file.on_validation(line, 0.1) if line.is_validation else file.on_log(line))
        assert read_history(folder)[-1]["step"] == line.step  # while it grows
    file.close()


def test_history_has_a_line_for_every_call_with_six_digits(tmp_path: Path) -> None:
    numbers = {"train/loss": 1.23456789, "learning_rate": 0.000123456789, "examples_per_second": 9.0}
    write(tmp_path, [LogLine.of(20, numbers, None), LogLine.of(300, {"validation/mAP_50": 0.5}, None)])
    assert (tmp_path / "history.jsonl").read_text().splitlines() == [
        '{"step": 20, "train/loss": 1.23457, "learning_rate": 0.000123457}',
        '{"step": 300, "validation/mAP_50": 0.5}',
    ]
    assert read_history(tmp_path)[1] == {"step": 300, "validation/mAP_50": 0.5}


def test_a_history_that_goes_on_begins_with_its_earlier_lines(tmp_path: Path) -> None:
    earlier = [LogLine.parse('{"step": 1, "train/loss": 2.0}')]
    lines = [LogLine(2, {"train/loss": 1.0}, "head"), LogLine(3, {"learning_rate": 0.5}, "head")]
    write(tmp_path, lines, earlier)
    assert read_history(tmp_path)[:2] == [
        {"step": 1, "train/loss": 2.0}, {"step": 2, "phase": "head", "train/loss": 1.0}
    ]  # fmt: skip
    assert [(line.step, line.metrics(["body", "head"])) for line in [*earlier, *lines]] == [
        (1, {"train/loss": 2.0}), (2, {"train/loss": 1.0}), (3, {"learning_rate": 0.5, "phase": 2.0}),
    ]  # fmt: skip


@pytest.mark.parametrize("phase", [None, "head"])
def test_a_line_is_read_as_it_was_written(phase: str | None) -> None:
    line = LogLine.of(7, {"train/loss": 1 / 3, "examples_per_second": 12.0}, phase)
    assert LogLine.parse(line.as_text()) == line


def test_plots_have_a_row_a_step_and_a_column_a_metric(tmp_path: Path) -> None:
    lines = [
        LogLine(1, {"train/loss": 2.0, "train/loss_boxes": 0.5, "learning_rate": 0.1, "examples_per_second": 9.0}),
        LogLine(2, {"train/loss": 1.0, "train/loss_boxes": 0.25, "learning_rate": 0.2, "examples_per_second": 9.0}),
        LogLine(2, {"validation/mAP": 0.5, "validation/mAP_50": 0.75}),
    ]
    write(tmp_path, lines)
    write_plots(tmp_path, "mAP_50")

    def table(name: str) -> list[dict[str, str]]:
        with (tmp_path / "plots" / name).open(newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    assert table("training.tsv") == [
        {"step": "1", "loss": "2.0", "loss_boxes": "0.5", "learning_rate": "0.1"},
        {"step": "2", "loss": "1.0", "loss_boxes": "0.25", "learning_rate": "0.2"},
    ]
    assert table("validation.tsv") == [{"step": "2", "mAP": "0.5", "mAP_50": "0.75", "score": "0.75"}]
