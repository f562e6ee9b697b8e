"""What the proof lacks is named before anything runs."""

import hashlib
from dataclasses import replace

import pytest

from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.what_is_missing import Here, Lack, find_lacks
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.find_run import TrackedRun
from bakeoff.tracking.store.target import Target
from support.messages import missing_in

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
    [lack] = find(WHOLE, replace(HERE, has_commit=False))
    assert lack.is_fatal and missing_in(lack.text, "commit 8d8d8d8d8d8d", "`git fetch`", "oven") == []


def test_a_run_without_a_commit_cannot_be_made_again() -> None:
    [lack] = find(replace(WHOLE, commit=None), replace(HERE, has_commit=False))
    assert lack.is_fatal and missing_in(lack.text, "commit", "none is known") == []


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"patch": None}, ("source/changes.diff", "missing")),
        ({"patch": PATCH[:-9]}, ("source/changes.diff", "SHA-256")),
        (
            {"patch": b"# git does not know conf/lr/mine.yaml\n", "patch_sha256": None},
            ("conf/lr/mine.yaml", "git", "not kept"),
        ),
        ({"state": NO_STATE, "tags": {"bakeoff.state": "RUNNING"}}, ("models/train: ", "none to compare")),
        (
            {"state": TrainedState(step=1, steps=8, ended_by="stop"), "history": ()},
            ("by hand", "step 1 of 8", "before", "history"),
        ),
        ({"state": NO_STATE, "metrics": {}}, ("models/train, models/evaluation", "neither is known")),
    ],
)  # fmt: skip
def test_what_leaves_nothing_to_try_is_fatal(change: dict, parts: tuple[str, ...]) -> None:
    [fatal] = [lack for lack in find(replace(WHOLE, **change)) if lack.is_fatal]
    assert missing_in(fatal.text, *parts) == []


def test_a_record_that_does_not_agree_with_itself_is_named() -> None:
    run = TrackedRun("0f", {}, Target("local", "bakeoff"), damaged=["train/state.json", "source/changes.diff"])
    tags = {**WHOLE.tags, "bakeoff.weights_sha256": "6e"}
    lacks = find(replace(WHOLE, tags=tags, tracked=run))
    assert [lack.is_fatal for lack in lacks] == [True, False, False]
    assert missing_in(lacks[0].text, "source/changes.diff", "not what", "handed over") == []
    assert missing_in(lacks[1].text, "train/state.json", "other weights", "bakeoff.weights_sha256") == []
    assert missing_in(lacks[2].text, "train/state.json", "not what", "handed over") == []


def test_a_clean_run_needs_no_patch() -> None:
    assert find(replace(WHOLE, patch=None, patch_sha256="none", is_dirty=True)) == []


def test_a_note_that_nobody_kept_is_no_hindrance() -> None:
    [lack] = find(replace(WHOLE, patch=b"# not in here: notes.mp4 (1000001 bytes)\n", patch_sha256=None))
    assert not lack.is_fatal and lack.text.startswith("notes.mp4: was there")


def test_each_other_version_and_each_other_part_of_the_machine_is_named() -> None:
    other = Here(True, "python 3.11.7, tensorflow 2.22.0", "x86_64; Other CPU; 2 cores; avx avx2")
    library, processor, instructions = [lack.text for lack in find(WHOLE, other)]
    assert missing_in(library, "tensorflow", "was 2.21.0", "is 2.22.0 here") == []
    assert missing_in(processor, "processor", "Quick CPU then", "Other CPU here") == []
    assert missing_in(instructions, "instructions", "avx avx2 fma then", "avx avx2 here") == []
    assert not any(lack.is_fatal for lack in find(WHOLE, other))


def test_other_cores_are_named_only_if_the_run_did_not_say_its_threads() -> None:
    four = replace(HERE, processor=HERE.processor.replace("2 cores", "4 cores"))
    assert missing_in(find(WHOLE, four)[0].text, "cores", "2 cores then", "4 cores here") == []
    assert find(replace(WHOLE, tags={**WHOLE.tags, "bakeoff.threads": "2"}), four) == []


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"step": 5, "ended_by": "stop"}, ("by hand", "step 5 of 8")),
        ({"step": 5, "ended_by": "max_minutes"}, ("train.max_minutes", "step 5 of 8")),
        ({"measured": {"resumed_at_steps": [2, 1000]}}, ("resumed", "step 2, 1,000")),
    ],
)  # fmt: skip
def test_how_a_run_ended_is_said_where_that_matters(change: dict, parts: tuple[str, ...]) -> None:
    [lack] = find(replace(WHOLE, state=replace(STATE, **change)))
    assert missing_in(lack.text, *parts) == [] and not lack.is_fatal


def test_early_stopping_is_part_of_the_settings_and_no_hindrance() -> None:
    assert find(replace(WHOLE, state=replace(STATE, step=5, ended_by="early_stopping"))) == []


def test_what_a_run_of_an_earlier_version_did_not_say_is_named() -> None:
    bare = replace(WHOLE, tags={}, records_digest=None, run_yaml={})
    unsaid = ("models/config/run.yaml", "digest of the records", "Python", "processor")
    assert [missing_in(lack.text, part) for lack, part in zip(find(bare), unsaid, strict=True)] == [[]] * 4


def test_a_training_that_was_not_deterministic_promises_no_equal_weights() -> None:
    [lack] = find(replace(WHOLE, run_yaml={"train": {"deterministic": False}}))
    assert "train.deterministic is false" in lack.text
