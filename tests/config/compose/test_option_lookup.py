"""Hydra's words on a command line mean what the same choice means in params.yaml."""

import shutil
from pathlib import Path

import pytest

from bakeoff.config.compose import hydra_compose
from bakeoff.config.compose.compose import Composed, compose
from bakeoff.config.compose.overrides import apply_overrides
from bakeoff.foundation.errors import ConfigError
from support.imports import ROOT
from support.messages import missing_in

GROUPS = ["data", "model", "lr"]
PARAMS = {
    "experiment": "demo",
    "data": {"use": "digits"},
    "model": "ssd_small",
    "lr": {"use": "cosine", "peak": 0.1},
    "seed": 0,
}


@pytest.mark.parametrize(
    ("overrides", "key", "value"),
    [
        (["lr=constant"], "lr", {"use": "constant", "peak": 0.1}),
        (["lr.peak=1e-3"], "lr", {"use": "cosine", "peak": 1e-3}),
        (["+lr.warmup_steps=5"], "lr", {"use": "cosine", "peak": 0.1, "warmup_steps": 5}),
        (["++lr.warmup_steps=5", "lr.use=exponential"], "lr", {"use": "exponential", "peak": 0.1, "warmup_steps": 5}),
        (["~lr.peak"], "lr", {"use": "cosine"}),
        (["model.loss.focal_gamma=1"], "model", {"use": "ssd_small", "loss": {"focal_gamma": 1}}),
        (["model=ssd_tiny"], "model", {"use": "ssd_tiny"}),
        (
            ["model.anchors.aspect_ratios=[1,2.5]"],
            "model",
            {"use": "ssd_small", "anchors": {"aspect_ratios": [1, 2.5]}},
        ),
        (["experiment=frc_cosine"], "experiment", "frc_cosine"),
        (["seed=7"], "seed", 7),
        (["+track.uri='http://localhost:1'"], "track", {"uri": "http://localhost:1"}),
    ],
)
def test_an_override_is_a_line_of_params(overrides: list[str], key: str, value: object) -> None:
    before = repr(PARAMS)
    assert apply_overrides(PARAMS, overrides, GROUPS) == PARAMS | {key: value}
    assert repr(PARAMS) == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("lr", "command line: .*"),
        ("lr.peak=0.1,0.2", "command line: lr.peak=0.1,0.2: .*sweep"),
        ("~lr.floor", r"command line: ~lr\.floor: .*params\.yaml"),
        ("~optimizer.beta_1", r"command line: ~optimizer\.beta_1: .*params\.yaml"),
    ],
)
def test_what_is_no_single_choice_is_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        apply_overrides(PARAMS, [override], GROUPS)


LINES = "experiment: demo\ndata: digits\nlr: {peak: 0.1}\nseed: 0\n"


def composed(tmp_path: Path, text: str, *overrides: str) -> Composed:
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    return compose(tmp_path / "params.yaml", ROOT / "conf", overrides=overrides)


def test_a_mistake_on_the_command_line_is_said_to_be_there(tmp_path: Path) -> None:
    key, option = composed(tmp_path, LINES, "lr=cosin", "modle.width=3").problems.lines
    assert missing_in(key, "command line: modle", "key") == []
    assert missing_in(option, "command line: lr.use", "'cosin'", f"{(ROOT / 'conf/lr').as_posix()}/") == []


def test_an_override_hides_the_line_that_it_replaces(tmp_path: Path) -> None:
    composition = composed(tmp_path, LINES, "lr.peak=0.5")
    assert composition.tree["lr"]["peak"] == 0.5
    assert composition.place_of("lr.peak") == "command line"
    assert composition.place_of("seed").endswith("params.yaml:4")


@pytest.mark.parametrize("word", ["train.epochs=3", "+train.epochs=3"])
def test_a_change_of_one_takes_the_place_of_an_options_other(word: str, tmp_path: Path) -> None:
    composition = composed(tmp_path, LINES, word)
    assert (composition.tree["train"]["steps"], composition.tree["train"]["epochs"]) == (None, 3)
    assert composition.place_of("train.steps") == composition.place_of("train.epochs") == "command line"


def test_a_change_of_both_leaves_both_to_be_refused(tmp_path: Path) -> None:
    composition = composed(tmp_path, f"{LINES}train: {{steps: 30}}\n", "train.epochs=3")
    assert (composition.tree["train"]["steps"], composition.tree["train"]["epochs"]) == (30, 3)


def test_the_same_options_are_composed_once_until_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Configurations of a sweep mostly choose the same options. Hydra composes those that hold more than values."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    option = tmp_path / "conf/lr/cosine.yaml"
    option.write_text(f"{option.read_text(encoding='utf-8')}floor: ${{lr.peak}}\n", encoding="utf-8")
    calls: list[list[str]] = []
    really_compose = hydra_compose.hydra_compose

    def count(name: str, options: list[str]) -> object:
        calls.append(options)
        return really_compose(name, options)

    monkeypatch.setattr(hydra_compose, "hydra_compose", count)

    def peak(*overrides: str) -> object:
        composed = compose(ROOT / "params.yaml", tmp_path / "conf", groups=("lr",), overrides=overrides)
        composed.problems.raise_any()
        return composed.tree["lr"]["peak"]

    assert [peak("lr=cosine", f"lr.peak={value}") for value in (0.5, 0.25)] == [0.5, 0.25] and len(calls) == 1
    before = peak("lr=cosine")
    option.write_text(option.read_text(encoding="utf-8").replace("peak: 0.003", "peak: 0.875"), encoding="utf-8")
    assert (len(calls), before == 0.875, peak("lr=cosine"), len(calls)) == (1, False, 0.875, 2)
