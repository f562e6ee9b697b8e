"""A run that goes on from another one's last checkpoint: equal to one long run, or refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.learning.checkpoints.continue_from import hand_over, parent_of, write_identity
from bakeoff.learning.checkpoints.history import read_history
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.checkpoints.run_state import TakenFrom
from bakeoff.learning.plan.train_settings import EarlyStopping, Train
from bakeoff.learning.training.loop import Rhythm
from support.kitchen import Kitchen, curve, digests, noisy, phase
from support.messages import missing_in

NAME, OTHER = "5d1c000000000000", "77aa000000000000"
RUN = "0123456789abcdef" * 2
SETTINGS: dict[str, Any] = {
    "seed": 1,
    "model": {"kind": "cnn", "width": 0.25},
    "lr": {"kind": "cosine", "total_steps": 5},
    "train": {"batch_size": 4, "steps": 5, "max_minutes": None, "trainable": ["a", "b"], "phases": []},
    "derived": {"phases": [{"name": "all", "steps": 5, "first_example": 0, "rate_factor": 1.0}]},
    "records": "aa",
    "parent": "none",
    "code": "c0",
}


def but(changes: dict[str, Any], tree: dict[str, Any] = SETTINGS) -> dict[str, Any]:
    """The settings with other values at some keys."""
    tree = json.loads(json.dumps(tree))
    for key, value in changes.items():
        *above, last = key.split(".")
        place = tree
        for name in above:
            place = place[int(name)] if isinstance(place, list) else place[name]
        place[int(last) if isinstance(place, list) else last] = value
    return tree


def trained(folder: Path, kitchen: Kitchen) -> None:
    kitchen.bake()
    write_identity(SETTINGS, folder)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """One run of five steps."""
    folder = tmp_path / ".bakeoff/runs"
    trained(folder / NAME, Kitchen(folder / NAME, [phase("all", 0, 5, 0.1)]))
    return folder


def seconds(folder: Path) -> float:
    with RunFolder(folder, ["all"]) as work:
        return work.newest().state.seconds


def go_on(
    runs: Path, steps: int = 9, name: str = NAME[:4], identity: dict[str, Any] | None = None, **train: Any
) -> list[str]:
    settings = Train(batch_size=4, steps=steps, continue_from=name, **train)
    parent = parent_of(settings, runs)
    assert parent is not None
    with RunFolder(runs / OTHER, ["all"]) as work:
        return hand_over(parent, work, settings, identity or SETTINGS, [steps])


def test_a_run_and_a_longer_one_that_goes_on_equal_one_long_run_to_the_bit(tmp_path: Path) -> None:
    """Dropout, batch norm, Adam, averages, random data, a look at every step."""
    runs = tmp_path / "runs"
    whole, first, second = noisy(tmp_path / "whole"), noisy(runs / NAME), noisy(runs / OTHER)
    for kitchen, steps in ((whole, 9), (first, 5), (second, 9)):
        kitchen.phases = [phase("all", 0, steps, 0.05)]
    expected = whole.bake()
    trained(runs / NAME, first)
    assert go_on(runs) == []
    outcome = second.bake()
    assert digests(whole) == digests(second) != digests(first) and curve(whole) == curve(second)
    assert (outcome.standings, outcome.resumed_at) == (expected.standings, [5])
    with RunFolder(runs / OTHER, ["all"]) as work:
        assert work.newest().state.parents == (TakenFrom(NAME, 5),)
    assert first.bake().position.step == 5  # is as it was


def test_what_was_out_of_patience_goes_on_with_more_of_it(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    whole, first, second = (Kitchen(folder, [phase("all", 0, 9, 0.1)]) for folder in (
        tmp_path / "whole", runs / NAME, runs / OTHER
    ))  # fmt: skip
    for kitchen, patience in ((whole, 4), (first, 2), (second, 4)):
        kitchen.rhythm, kitchen.early = Rhythm(1, 1, 1), EarlyStopping(patience)
    assert whole.bake().position.step == 5
    trained(runs / NAME, first)
    message = rf"^train\.continue_from: {NAME} .*\b2\b.*train\.early_stopping\.patience$"
    with pytest.raises(ConfigError, match=message):
        go_on(runs, validate_every_steps=1, early_stopping=EarlyStopping(2))
    go_on(runs, validate_every_steps=1, early_stopping=EarlyStopping(4))
    assert second.bake().position.step == 5 and curve(second) == curve(whole)


def test_what_was_out_of_time_goes_on_with_more_of_it_and_its_seconds_count(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first, second = (Kitchen(runs / name, [phase("all", 0, 9, 0.1)]) for name in (NAME, OTHER))
    first.minutes = 1e-6
    trained(runs / NAME, first)
    with pytest.raises(ConfigError, match=rf"{NAME} .*\b0\.0\b.*train\.max_minutes$"):
        go_on(runs, max_minutes=1e-6)
    go_on(runs)
    earlier = seconds(runs / NAME)
    assert seconds(runs / OTHER) == earlier
    outcome = second.bake()
    assert (outcome.ended_by, outcome.position.step) == ("steps", 9)
    assert [row["step"] for row in read_history(runs / OTHER) if "train/loss" in row] == list(range(1, 10))
    assert seconds(runs / OTHER) > earlier > 0


@pytest.mark.parametrize(
    ("key", "there", "here"),
    [("model.width", "0.25", 0.5), ("records", "'aa'", "bb"), ("train.batch_size", "4", 8), ("seed", "1", 2),
     ("train.trainable.1", "'b'", "c"), ("derived.phases.0.first_example", "0", 7)],
)  # fmt: skip
def test_another_training_is_refused_and_the_difference_said(key: str, there: str, here: object, runs: Path) -> None:
    message = rf"^train\.continue_from: {NAME} .*{key} {there}\W.*{here!r}\W.*train\.init\.weights$"
    with pytest.raises(ConfigError, match=message):
        go_on(runs, identity=but({key: here}))


def test_what_only_says_how_long_is_no_difference(runs: Path) -> None:
    longer = {"train.steps": 9, "train.max_minutes": 3.0, "derived.phases.0.steps": 9, "parent": "1f"}
    assert go_on(runs, identity=but(longer)) == []


def test_other_rates_and_other_code_are_said(runs: Path) -> None:
    printed = go_on(runs, identity=but({"lr.total_steps": 9, "code": "c1"}))
    facts = ("code: 'c1'", "'c0'"), ("lr.total_steps: 9", "5")
    assert [missing_in(line, *parts) for line, parts in zip(printed, facts, strict=True)] == [[], []]


@pytest.mark.parametrize("steps", [3, 5])
def test_a_run_with_as_many_steps_is_refused(steps: int, runs: Path) -> None:
    message = rf"{NAME} \D+\b5\b\D+\b{steps}\b\D+train\.steps\D+train\.epochs\W*$"
    with pytest.raises(ConfigError, match=message):
        go_on(runs, steps=steps)


def test_a_run_is_known_by_its_folder_its_state_and_its_id(runs: Path, tmp_path: Path) -> None:
    state = tmp_path / "models/train/state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"lineage": {"fingerprint": NAME}}))
    (runs / NAME / "run").write_text(RUN)
    for name in (NAME, str(runs / NAME), str(state.parent), RUN):
        assert parent_of(Train(batch_size=1, steps=1, continue_from=name), runs) == parent_of(
            Train(batch_size=1, steps=1, continue_from=NAME[:3]), runs
        )
    in_mlflow = Train(batch_size=1, steps=1, continue_from="f" * 32)
    assert parent_of(in_mlflow, runs, {"f" * 32: RUN}.get) is not None
    elsewhere = tmp_path / "clone/.bakeoff/runs"
    assert parent_of(Train(batch_size=1, steps=1, continue_from=str(state.parent)), elsewhere) is not None
    assert parent_of(Train(batch_size=1, steps=1), runs) is None


@pytest.mark.parametrize("file", ["1-all/00000005", "identity.json"])
@pytest.mark.parametrize("left", [b"", bytes(99), b"\xff\xfe"])
def test_a_run_of_which_a_loss_of_power_took_what_is_needed_is_refused(runs: Path, file: str, left: bytes) -> None:
    for checkpoint in (runs / NAME / "1-all").glob("0*") if "all" in file else ():
        checkpoint.write_bytes(left)
    (runs / NAME / file).write_bytes(left)
    what = "checkpoint" if "all" in file else r"identity\.json"
    with pytest.raises(ConfigError, match=rf"{NAME} .*no {what}.*continue_from$"):
        go_on(runs)


def test_a_run_that_is_not_there_is_said_with_those_that_are(runs: Path) -> None:
    message = r"^train\.continue_from: .*'models/train'.*\b5d1c000000000000$"
    with pytest.raises(ConfigError, match=message):
        go_on(runs, name="models/train")
    (runs / "5d1c111111111111").mkdir()
    with pytest.raises(ConfigError, match=r"^train\.continue_from: .*\b2 runs\b.*'5d1c'"):
        go_on(runs)
    with pytest.raises(ConfigError, match="5d1c111111111111 .*no checkpoint.*continue_from$"):
        go_on(runs, name="5d1c1")


def test_a_run_that_is_being_trained_is_refused(runs: Path) -> None:
    message = rf"^train\.continue_from: {NAME} .*being trained"
    with RunFolder(runs / NAME, ["all"]), pytest.raises(WorkspaceError, match=message):
        go_on(runs)


def test_later_phases_may_differ_and_earlier_ones_may_not(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    spans = [{"name": name, "steps": 3, "first_example": 0, "rate_factor": 1.0} for name in ("head", "whole", "slow")]
    there = but({"derived.phases": spans})
    kitchen = Kitchen(runs / NAME, [phase("head", 0, 3, 0.1), phase("whole", 3, 3, 0.1)])
    kitchen.stop_at = 5
    kitchen.bake()
    write_identity(there, runs / NAME)
    train = Train(batch_size=4, steps=12, continue_from=NAME)
    parent = parent_of(train, runs)
    assert parent is not None
    with RunFolder(runs / OTHER, ["head", "whole", "slow"]) as work:
        with pytest.raises(ConfigError, match=r"derived\.phases\.0\.first_example 0\D+4\b"):
            hand_over(parent, work, train, but({"derived.phases.0.first_example": 4}, there), [3, 6, 12])
        other = but({"derived.phases.2.first_example": 4, "derived.phases.1.steps": 4}, there)
        assert hand_over(parent, work, train, other, [3, 7, 12]) == []
        assert work.newest().position.step == 5
