from pathlib import Path

import pytest
import yaml

from bakeoff.evaluation.plots_tsv import BY_CLASS, FOLDER, write_plots
from support.imports import ROOT

CURVE = [{"recall": 0.0, "precision": 1.0}, {"recall": 1.0, "precision": 0.5}]


def drawn() -> list[str]:
    """What of an evaluation dvc.yaml says is to be drawn."""
    entries = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["plots"]
    paths = []
    for entry in entries:
        [(name, settings)] = entry.items() if isinstance(entry, dict) else [(entry, {})]
        paths += settings["y"] if isinstance(settings.get("y"), dict) else [name]
    return [path.removeprefix("models/evaluation/") for path in paths if path.startswith("models/evaluation/plots")]


@pytest.mark.parametrize("tables", [{}, {"calibration": [], "confusion": [{"actual": "a", "predicted": "b"}]}])
def test_all_that_is_drawn_is_there_so_that_dvc_misses_nothing(tables: dict, tmp_path: Path) -> None:
    write_plots(tmp_path, tables)
    assert len(drawn()) == 6 and all((tmp_path / path).exists() for path in drawn())
    assert (tmp_path / FOLDER / f"{BY_CLASS}/none.tsv").read_text() == "recall\tprecision\n"
    assert (tmp_path / FOLDER / "calibration.tsv").read_text() == "probability\taccuracy\texamples\n"


def test_a_heading_stands_only_where_there_is_no_row(tmp_path: Path) -> None:
    write_plots(tmp_path, {"precision_recall": CURVE, f"{BY_CLASS}/001-ant": CURVE})
    assert (tmp_path / FOLDER / "precision_recall.tsv").read_text() == "recall\tprecision\n0.0\t1.0\n1.0\t0.5\n"
    assert [file.name for file in (tmp_path / FOLDER / BY_CLASS).iterdir()] == ["001-ant.tsv"]
