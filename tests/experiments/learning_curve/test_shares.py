"""The overrides of the runs that a curve is made of."""

from dataclasses import replace

import pytest

from bakeoff.config.compose.whole_run import Run, load
from bakeoff.experiments.learning_curve.shares import make_overrides, read_shares
from bakeoff.foundation.errors import WorkspaceError
from support.imports import ROOT

SHARES = [0.12, 0.25, 0.5, 1.0]


@pytest.fixture
def run() -> Run:
    return load(ROOT / "models/config/run.yaml")


def test_every_share_is_trained_with_every_seed(run: Run) -> None:
    overrides = make_overrides(replace(run, seed=7), SHARES, 3, "steps")
    assert overrides == ["train.share=0.12,0.25,0.5,1", "seed=7,8,9"]


def test_epochs_become_steps_so_that_all_shares_have_as_many(run: Run) -> None:
    train = replace(run.train, steps=None, epochs=10.0, validate_every_steps=0, validate_every_epochs=2.0)
    by_epochs = replace(run, train=train)
    overrides = make_overrides(by_epochs, SHARES, 1, "steps")
    every = -(-2 * run.derived.train_examples // run.derived.phases[0].batch_size)
    assert overrides[2:] == [
        f"train.steps={run.derived.steps}", "train.epochs=null",
        f"train.validate_every_steps={every}", "train.validate_every_epochs=null",
    ]  # fmt: skip
    assert make_overrides(by_epochs, SHARES, 1, "epochs") == overrides[:2]


@pytest.mark.parametrize(
    ("examples", "remedy"), [(40, r"take --shares from 0\.5 on, or more data$"), (39, "take more data$")]
)
def test_too_few_examples_are_no_statement(run: Run, examples: int, remedy: str) -> None:
    few = replace(run, derived=replace(run.derived, train_examples=examples))
    with pytest.raises(WorkspaceError, match=rf"^no statement: 12% of {examples} .*\b5, 20\b.*{remedy}"):
        make_overrides(few, SHARES, 3, "steps")


@pytest.mark.parametrize("text", ["0.5,1", "0.1,0.2,0.5", "a,b,1", "0,0.5,1", ""])
def test_shares_must_be_three_up_to_the_whole(text: str) -> None:
    with pytest.raises(WorkspaceError, match=rf"^--shares: .*\b3\b.*\b1, .*0\.25,0\.5,1, .*{text}"):
        read_shares(text)


def test_no_seed_is_refused(run: Run) -> None:
    with pytest.raises(WorkspaceError, match="--seeds: must be 1 or more, got 0"):
        make_overrides(run, SHARES, 0, "steps")
