import csv
from pathlib import Path

from bakeoff.tables import write_table


def test_columns_come_in_the_order_in_which_their_keys_first_occur(tmp_path: Path) -> None:
    write_table(tmp_path / "a.tsv", [{"step": 1, "loss": 0.5}, {"step": 2, "mAP": 0.25, "loss": 0.125}])
    assert (tmp_path / "a.tsv").read_text() == "step\tloss\tmAP\n1\t0.5\t\n2\t0.125\t0.25\n"


def test_rows_may_come_from_an_iterator(tmp_path: Path) -> None:
    write_table(tmp_path / "a.tsv", ({"square": number * number} for number in range(3)))
    assert (tmp_path / "a.tsv").read_text() == "square\n0\n1\n4\n"


def test_labels_with_tabs_quotes_and_accents_read_back_as_they_were(tmp_path: Path) -> None:
    labels = ["a\tb", 'say "hi"', "two\nlines", "œuf à la coque"]
    write_table(tmp_path / "a.tsv", [{"label": label, "count": 1} for label in labels])
    with (tmp_path / "a.tsv").open(newline="", encoding="utf-8") as file:
        assert [row["label"] for row in csv.DictReader(file, delimiter="\t")] == labels


def test_table_without_rows_holds_nothing_that_reads_as_a_row(tmp_path: Path) -> None:
    write_table(tmp_path / "a.tsv", [])
    assert (tmp_path / "a.tsv").read_text().strip() == ""
