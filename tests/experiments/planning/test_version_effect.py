"""Which keys and values another version changes, told from what the user chose otherwise."""

import pytest

from bakeoff.experiments.planning.stage_status import RUNS, UNCHANGED, DvcState, StageAhead, explain_stages
from bakeoff.experiments.planning.version_effect import VersionEffect
from bakeoff.foundation.workspace import CODE, RUN
from bakeoff.stages.code import describe_changes
from support.messages import missing_in

LAST = {"variant": {"lr": "cosine", "model": "cnn"}, "lr": {"peak": 0.1, "old": 1}, "model": {"width": 8}, "seed": 0}


def test_new_and_gone_keys_and_values_are_told_for_options_that_are_the_same() -> None:
    now = {
        "variant": {"lr": "cosine", "model": "ssd"}, "lr": {"peak": 0.2, "floor": 0.0}, "model": {"depth": 3},
        "seed": 0, "derived": {"steps": 9},
    }  # fmt: skip
    effect = VersionEffect.between(LAST, now)
    assert effect == VersionEffect(["lr.floor"], ["lr.old"], ["lr.peak 0.1 → 0.2"])
    assert dict(effect.rows()) == {"new keys": "lr.floor", "keys gone": "lr.old", "values": "lr.peak 0.1 → 0.2"}
    assert VersionEffect.between(LAST, LAST) == VersionEffect([], [], [])


STAGES = {
    "train": {
        "params": [{CODE.as_posix(): ["train"]}, {RUN.as_posix(): ["lr", "seed"]}], "deps": ["data"], "outs": ["w"],
    },
    "export": {"params": [{CODE.as_posix(): ["export"]}], "deps": ["w"], "outs": ["e"]},
}  # fmt: skip
LOCKED = {
    "train": {
        "params": {CODE.as_posix(): {"train": "1"}, RUN.as_posix(): {"lr": 1, "seed": 0}},
        "deps": [{"path": "data", "md5": "d"}], "outs": [{"path": "w", "md5": "a"}],
    },
    "export": {
        "params": {CODE.as_posix(): {"export": "1"}}, "deps": [{"path": "w", "md5": "a"}],
        "outs": [{"path": "e", "md5": "b"}],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "lr", "changed", "train", "export"),
    [
        ({"train": "1", "export": "1"}, 1, {}, (), ()),
        ({"train": "1", "export": "2"}, 1, {}, (), ("the installed code",)),
        ({"train": "2", "export": "1"}, 1, {}, ("the installed code",), ("w",)),
        ({"train": "1", "export": "1"}, 2, {"train": {"data": "modified"}}, ("data", f"lr of {RUN}"), ("w",)),
        ({"train": "1", "export": "1"}, 1, {"export": {"e": "deleted"}}, (), ("e",)),
    ],
)
def test_a_stage_that_runs_has_its_reasons(
    code: dict[str, str],
    lr: int,
    changed: dict[str, dict[str, str]],
    train: tuple[str, ...],
    export: tuple[str, ...],
) -> None:
    known = DvcState(STAGES, LOCKED, changed, [], code)
    ahead = explain_stages({RUN.as_posix(): {"lr": lr, "seed": 0}}, known)
    for name, because in (("train", train), ("export", export)):
        assert ahead[name] == StageAhead(RUNS if because else UNCHANGED, because)


def test_the_stage_of_the_code_tells_which_stages_run_before_they_do() -> None:
    before = {"render_config": "1", "train": "1", "evaluate": "1", "export": "1"}
    assert [*describe_changes(before, before)] == [] and [*describe_changes({}, before)] == []
    lines = [*describe_changes(before, before | {"render_config": "2", "export": "2"})]
    assert missing_in(lines[0], "bakeoff", "render_config, export") == [] and lines[1].startswith("train, evaluate:")
    [line] = describe_changes(before, before | {"export": "2"})
    assert "train" not in line
