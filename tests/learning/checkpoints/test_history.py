"""The history of a run, and the tables that are drawn from it."""

import csv
from pathlib import Path

from bakeoff.learning.checkpoints.history import History, metrics_of, read_history, write_plots


def test_history_has_a_line_for_every_call_with_six_digits(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.add(20, {"train/loss": 1.23456789, "learning_rate": 0.000123456789})
        history.add(300, {"validation/mAP_50": 0.5})
    assert (tmp_path / "history.jsonl").read_text().splitlines() == [
        '{"step": 20, "train/loss": 1.23457, "learning_rate": 0.000123457}',
        '{"step": 300, "validation/mAP_50": 0.5}',
    ]
    assert read_history(tmp_path)[1] == {"step": 300, "validation/mAP_50": 0.5}


def test_history_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.add(1, {"train/loss": 2.0})
        assert read_history(tmp_path) == [{"step": 1, "train/loss": 2.0}]


def test_a_history_that_goes_on_begins_with_its_earlier_lines(tmp_path: Path) -> None:
    earlier = ['{"step": 1, "train/loss": 2.0}']
    with History(tmp_path, earlier) as history:
        assert read_history(tmp_path) == [{"step": 1, "train/loss": 2.0}]
        history.phase = "head"
        history.add(2, {"train/loss": 1.0})
        history.add(3, {"learning_rate": 0.5})
    assert read_history(tmp_path)[1] == {"step": 2, "phase": "head", "train/loss": 1.0}
    assert [metrics_of(line, ["body", "head"]) for line in history.lines] == [
        (1, {"train/loss": 2.0}), (2, {"train/loss": 1.0}), (3, {"learning_rate": 0.5, "phase": 2.0}),
    ]  # fmt: skip


def test_plots_have_a_row_a_step_and_a_column_a_metric(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        history.add(1, {"train/loss": 2.0, "train/loss_boxes": 0.5, "learning_rate": 0.1, "examples_per_second": 9.0})
        history.add(2, {"train/loss": 1.0, "train/loss_boxes": 0.25, "learning_rate": 0.2, "examples_per_second": 9.0})
        history.add(2, {"validation/mAP": 0.5, "validation/mAP_50": 0.75})
    write_plots(tmp_path, "mAP_50")

    def table(name: str) -> list[dict[str, str]]:
        with (tmp_path / "plots" / name).open(newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    assert table("training.tsv") == [
        {"step": "1", "loss": "2.0", "loss_boxes": "0.5", "learning_rate": "0.1"},
        {"step": "2", "loss": "1.0", "loss_boxes": "0.25", "learning_rate": "0.2"},
    ]
    assert table("validation.tsv") == [{"step": "2", "mAP": "0.5", "mAP_50": "0.75", "score": "0.75"}]
