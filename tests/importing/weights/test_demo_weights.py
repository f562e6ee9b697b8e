"""Weights that are made here are whole or not there, and a run that starts from them knows whose they are."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.app import cli
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.importing.weights.demo_weights import BEST, DETECTOR, make_drawn
from bakeoff.tracking.results.lineage import in_words, lineage_of
from support.messages import missing_in
from support.workspace_copy import tiny_workspace

TINY = {
    "experiment": "demo", "seed": 0, "data": {"use": "digits", "train_examples": 16, "validation_examples": 8},
    "model": {"use": "ssd_tiny"}, "train": {"use": "smoke"},
}  # fmt: skip


def test_a_training_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_workspace(tmp_path / "clone", {}).folder)
    broken = replace(DETECTOR, runs=({**TINY, "data": {"use": "digits", "train_examples": -1}},))
    with pytest.raises(WorkspaceError, match=r"build_records: .*exit code 2\b"):
        make_drawn(broken, tmp_path / "zoo")
    assert not (tmp_path / "zoo").exists() or not list((tmp_path / "zoo").iterdir())


def test_weights_that_are_there_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = tiny_workspace(tmp_path, {})
    (workspace.folder / "data/weights/zoo/drawn_ssd_small").mkdir(parents=True)
    monkeypatch.chdir(workspace.folder)
    monkeypatch.setattr(sys, "argv", ["bakeoff", "weights", "get", "drawn_ssd_small"])
    cli.main()
    assert missing_in(capsys.readouterr().out, "weights: data/weights/zoo/drawn_ssd_small/ ", "already") == []
    monkeypatch.setattr(sys, "argv", ["bakeoff", "weights", "list"])
    cli.main()
    assert missing_in(capsys.readouterr().out, "drawn_ssd_small  here: `get`", "3 minutes\n") == []


@pytest.mark.slow
def test_weights_are_made_with_whose_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_workspace(tmp_path / "clone", {}).folder)
    folder = make_drawn(replace(DETECTOR, runs=(TINY, TINY)), tmp_path / "zoo")
    assert folder == tmp_path / "zoo/drawn_ssd_small" and (folder / BEST).stat().st_size > 10_000
    starts = lineage_of("zoo/drawn_ssd_small", folder / BEST, "digest")
    assert missing_in(in_words(starts), "drawn_ssd_small", "scikit-learn's digits", "licence Apache-2.0") == []
