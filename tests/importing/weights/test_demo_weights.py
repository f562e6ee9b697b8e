"""Weights that are made here are whole or not there, and a run that starts from them knows whose they are."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.app import cli
from bakeoff.config.compose.compose import compose
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.importing.weights.demo_weights import BEST, DETECTOR, DRAWN, make_drawn
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.weight_source import origin_of
from bakeoff.learning.run_file.parse import parse_kind
from bakeoff.tracking.results.lineage import in_words, lineage_of
from support.imports import ROOT
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


@pytest.mark.parametrize("name", DRAWN)
def test_weights_that_are_made_fit_the_network_that_they_name(name: str, tmp_path: Path) -> None:
    """They may have been made at another side."""
    model, weights = DRAWN[name].model, tmp_path / BEST
    made = DRAWN[name].runs[-1].get("model", model)
    network_of(made).build(10).save_weights(weights)
    wanted = replace(network_of(model), input_size=64)
    init = Init(weights=str(weights), warm_start=("backbone", "neck"))
    network = wanted.build(3)
    report = load_first_weights(network, wanted, init, origin_of(init, Path))
    assert report["loaded"]
    assert {path.partition(".")[0].partition("/")[0] for path in report["left_random"]} == {"head"}


def network_of(choice: Any) -> Any:
    composed = compose(ROOT / "params.yaml", ROOT / "conf", groups=["model"], instead={"model": choice})
    return parse_kind(NETWORKS, composed.tree["model"], "model", composed.problems)


@pytest.mark.slow
def test_weights_are_made_with_whose_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_workspace(tmp_path / "clone", {}).folder)
    folder = make_drawn(replace(DETECTOR, runs=(TINY, TINY)), tmp_path / "zoo")
    assert folder == tmp_path / "zoo/drawn_ssd_small" and (folder / BEST).stat().st_size > 10_000
    starts = lineage_of("zoo/drawn_ssd_small", folder / BEST, "digest")
    assert missing_in(in_words(starts), "drawn_ssd_small", "scikit-learn's digits", "licence Apache-2.0") == []
