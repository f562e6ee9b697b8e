"""What the proof lacks is named before anything runs."""

import hashlib
from dataclasses import replace

import pytest

from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.what_is_missing import Here, Lack, find_lacks
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.find_run import TrackedRun
from bakeoff.tracking.store.target import Target

HERE = Here(True, "python 3.11.7, tensorflow 2.21.0", "x86_64; Quick CPU; 2 cores; avx avx2 fma")
PATCH = b"diff --git a/conf/lr/mine.yaml b/conf/lr/mine.yaml\n"
STATE = TrainedState(weights_sha256="5d", step=8, steps=8, ended_by="steps", measured={"resumed_at_steps": []})
NO_STATE = TrainedState()
WHOLE = Recorded(
    "0f3a1", "8d" * 20, PATCH, hashlib.sha256(PATCH).hexdigest(), True,
    {"train": {"deterministic": True}}, "9c" * 32, STATE, ({"step": 2},), {"accuracy": 0.5},
    {"bakeoff.versions": HERE.versions, "bakeoff.processor": HERE.processor, "bakeoff.host": "oven"},
)  # fmt: skip


def find(recorded: Recorded, here: Here = HERE) -> list[Lack]:
    return find_lacks(recorded, here)


def test_nothing_is_missing_of_a_run_of_this_machine_that_is_known_whole() -> None:
    assert find(WHOLE) == []


def test_a_commit_of_another_clone_is_named_with_where_it_may_be() -> None:
    assert find(WHOLE, replace(HERE, has_commit=False)) == [
        Lack(
            "commit 8d8d8d8d8d8d: is not in this repository; "
            "`git fetch` from the clone in which it was trained, on oven",
            True,
        )
    ]


def test_a_run_without_a_commit_cannot_be_made_again() -> None:
    [lack] = find(replace(WHOLE, commit=None), replace(HERE, has_commit=False))
    assert lack.is_fatal and lack.text.startswith("commit: none is known of this run; ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"patch": None}, "source/changes.diff: missing, and the run had changes that were not committed"),
        ({"patch": PATCH[:-9]}, "source/changes.diff: is cut or was changed, for its SHA-256 is not the one"),
        (
            {"patch": b"# git does not know conf/lr/mine.yaml\n", "patch_sha256": None},
            "conf/lr/mine.yaml: was there, but git did not know it, and it was not kept",
        ),
        ({"state": NO_STATE, "tags": {"bakeoff.state": "RUNNING"}}, "models/train: there is none to compare with, for"),
        (
            {"state": TrainedState(step=1, steps=8, ended_by="stop"), "history": ()},
            "it was stopped by hand after step 1 of 8, which no settings say, and before the first line of its history",
        ),
        ({"state": NO_STATE, "metrics": {}}, "models/train, models/evaluation: neither is known, so there is nothing"),
    ],
)  # fmt: skip
def test_what_leaves_nothing_to_try_is_fatal(change: dict, message: str) -> None:
    [fatal] = [lack for lack in find(replace(WHOLE, **change)) if lack.is_fatal]
    assert fatal.text.startswith(message)


def test_a_record_that_does_not_agree_with_itself_is_named() -> None:
    run = TrackedRun("0f", {}, Target("local", "bakeoff"), damaged=["train/state.json", "source/changes.diff"])
    tags = {**WHOLE.tags, "bakeoff.weights_sha256": "6e"}
    assert [(lack.text.partition("; ")[0], lack.is_fatal) for lack in find(replace(WHOLE, tags=tags, tracked=run))] == [
        ("source/changes.diff: is cut or was changed, for it is not what the run handed over", True),
        ("train/state.json: names other weights than the tag bakeoff.weights_sha256", False),
        ("train/state.json: is not what the run handed over, so what differs from it may be its own fault", False),
    ]


def test_a_clean_run_needs_no_patch() -> None:
    assert find(replace(WHOLE, patch=None, patch_sha256="none", is_dirty=True)) == []


def test_a_note_that_nobody_kept_is_no_hindrance() -> None:
    [lack] = find(replace(WHOLE, patch=b"# not in here: notes.mp4 (1000001 bytes)\n", patch_sha256=None))
    assert not lack.is_fatal and lack.text.startswith("notes.mp4: was there")


def test_each_other_version_and_each_other_part_of_the_machine_is_named() -> None:
    other = Here(True, "python 3.11.7, tensorflow 2.22.0", "x86_64; Other CPU; 2 cores; avx avx2")
    assert [lack.text for lack in find(WHOLE, other)] == [
        "tensorflow: was 2.21.0, is 2.22.0 here",
        "processor: Quick CPU then, Other CPU here; sums may be rounded in other places",
        "instructions: avx avx2 fma then, avx avx2 here; sums may be rounded in other places",
    ]
    assert not any(lack.is_fatal for lack in find(WHOLE, other))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 5, "ended_by": "stop"}, "it was stopped by hand after step 5 of 8, which no settings say: "),
        ({"step": 5, "ended_by": "max_minutes"}, "it was ended by train.max_minutes after step 5 of 8, which "),
        ({"measured": {"resumed_at_steps": [2, 1000]}}, "it was interrupted and resumed at step 2, 1,000; made again"),
    ],
)  # fmt: skip
def test_how_a_run_ended_is_said_where_that_matters(change: dict, message: str) -> None:
    [lack] = find(replace(WHOLE, state=replace(STATE, **change)))
    assert lack.text.startswith(message) and not lack.is_fatal


def test_early_stopping_is_part_of_the_settings_and_no_hindrance() -> None:
    assert find(replace(WHOLE, state=replace(STATE, step=5, ended_by="early_stopping"))) == []


def test_what_a_run_of_an_earlier_version_did_not_say_is_named() -> None:
    bare = replace(WHOLE, tags={}, records_digest=None, run_yaml={})
    assert [lack.text.split(",")[0].split(";")[0] for lack in find(bare)] == [
        "models/config/run.yaml: is not known",
        "the digest of the records is not known",
        "the run did not say its versions of Python",
        "the run did not say its processor",
    ]


def test_a_training_that_was_not_deterministic_promises_no_equal_weights() -> None:
    [lack] = find(replace(WHOLE, run_yaml={"train": {"deterministic": False}}))
    assert lack.text == "train.deterministic is false, so no two trainings of it are alike to the bit"
