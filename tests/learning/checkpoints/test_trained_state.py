"""How a training ended, in its file: what is written, what files of earlier versions and damaged ones are read as."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.foundation.errors import DataError
from bakeoff.learning.checkpoints.trained_state import (
    TakenFrom,
    TrainedLineage,
    TrainedPhase,
    TrainedState,
    describe_end,
    read_state,
    write_state,
)
from support.messages import missing_in

WHOLE = TrainedState(
    state="STOPPED",
    ended_by="stop",
    step=700,
    best_metric="mAP_50",
    best_value=0.86,
    best_step=600,
    phases=(TrainedPhase("head", 0, 300, 0.5, 300, "steps"), TrainedPhase("all", 300, 700, None, 0, "stop")),
    steps=1000,
    parameters=2_571_890,
    weights_sha256="5d1c",
    files={"best.weights.h5": "6e2d", "final.weights.h5": "7f3e"},
    classes=("cat", "größe"),
    bad_records={"train": 2},
    lineage=TrainedLineage(
        fingerprint="1356d7d31e99a84a",
        started_from="zoo/net",
        first_weights="77ab",
        parents=(TakenFrom("64cbc1a6731605e7", 400),),
        starts=({"name": "net", "licence": "MIT", "data": None, "verified": False},),
        own={"run": "1356d7d31e99a84a", "data": "600 examples of 2 classes", "records": "9c9c"},
        trained_from="net, trained on data that is not known, licence MIT, not verified",
        licences=("MIT",),
    ),
)
TREE = {
    "state": "STOPPED", "ended_by": "stop", "step": 700,
    "best_metric": "mAP_50", "best_value": 0.86, "best_step": 600,
    "phases": [
        {"name": "head", "first_step": 0, "steps": 300, "best_value": 0.5, "best_step": 300, "ended_by": "steps"},
        {"name": "all", "first_step": 300, "steps": 700, "best_value": None, "best_step": 0, "ended_by": "stop"},
    ],
    "steps": 1000, "parameters": 2571890, "weights_sha256": "5d1c",
    "files": {"best.weights.h5": "6e2d", "final.weights.h5": "7f3e"}, "classes": ["cat", "größe"],
    "bad_records": {"train": 2},
    "lineage": {
        "fingerprint": "1356d7d31e99a84a", "started_from": "zoo/net", "first_weights": "77ab",
        "parents": [{"fingerprint": "64cbc1a6731605e7", "step": 400}],
        "starts": [{"name": "net", "licence": "MIT", "data": None, "verified": False}],
        "own": {"run": "1356d7d31e99a84a", "data": "600 examples of 2 classes", "records": "9c9c"},
        "trained_from": "net, trained on data that is not known, licence MIT, not verified", "licences": ["MIT"],
    },
}  # fmt: skip


def test_the_file_has_these_keys_in_this_order_and_reads_back(tmp_path: Path) -> None:
    write_state(tmp_path, WHOLE)
    text = (tmp_path / "state.json").read_bytes().decode("ascii")
    assert text == json.dumps(TREE, indent=1) + "\n" and text.startswith('{\n "state": "STOPPED",\n')
    assert read_state(tmp_path) == WHOLE


def test_what_earlier_versions_wrote_besides_is_kept_apart_and_not_written_again() -> None:
    tree = {"best_metric": "mAP_50", "best_step": 1000, "steps": 2000, "run_id": "0b9f", "seconds": 61.5}
    state = TrainedState.from_tree(tree)
    assert state.measured == {"run_id": "0b9f", "seconds": 61.5} and "run_id" not in state.as_text()
    assert (state.step, state.last_step, state.step_of("best"), state.step_of("final")) == (None, 2000, 1000, 2000)
    assert state.lineage == TrainedLineage() and state.lineage.starts is None and state.is_known


def test_of_an_empty_file_nothing_is_known() -> None:
    state = TrainedState.from_tree({})
    assert state == TrainedState() and not state.is_known and not state.is_stopped
    assert TrainedState.from_tree({"run_id": "0b9f"}).is_known


def test_without_a_validation_pass_the_best_weights_are_the_last() -> None:
    assert replace(WHOLE, best_step=0).step_of("best") == WHOLE.step_of("final") == 700


ODD: tuple[Any, ...] = (None, True, 7, 0.5, "text", [], [1, None, {}], {}, {"1": [2]})


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_value_of_a_wrong_kind_gets_past_reading(odd: Any) -> None:
    for key in ("state", "step", "steps", "best_step", "phases", "classes", "bad_records", "lineage"):
        state = TrainedState.from_tree({key: odd})
        assert isinstance(state.last_step, int) and isinstance(state.step_of("best"), int)
        assert all(isinstance(name, str) for name in state.classes) and isinstance(state.is_stopped, bool)
    for key in ("fingerprint", "parents", "starts", "own", "licences", "trained_from"):
        lineage = TrainedState.from_tree({"lineage": {key: odd}}).lineage
        assert isinstance(lineage.fingerprint, str | None) and isinstance(lineage.own, dict | None)
        assert all(isinstance(parent.fingerprint, str) for parent in lineage.parents)
        assert all(isinstance(start, dict) for start in lineage.starts or ())


def test_missing_state_says_that_training_never_finished(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/state\.json: missing.*`dvc repro train`$"):
        read_state(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{not whole", b"[]", b"3", b"\xff\xfe", b"[" * 200_000])
def test_a_damaged_state_names_its_file_and_what_writes_it_again(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(content)
    with pytest.raises(DataError, match=r"/state\.json: .*cannot be read \(.+\).*`dvc repro --force train`$"):
        read_state(tmp_path)


def test_the_end_is_described_in_one_line() -> None:
    measured = {"seconds": 61.4, "peak_memory_bytes": 903_000_064, "memory_estimate_bytes": 1_000_000_000}
    facts = "700", "1,000", "61 s", "mAP_50 0.860", "600", "0.9 GB", "1.0", "2 damaged train records"
    assert missing_in(describe_end(WHOLE, measured), *facts) == []
    undefined = replace(WHOLE, step=1000, best_value=None, bad_records={})
    described = describe_end(undefined, {"seconds": 5, "memory_estimate_bytes": 1e9})
    assert missing_in(described, "1,000 steps", "5 s", "mAP_50 undefined", "unknown", "1.0") == []
    assert " of " not in described and "damaged" not in described
