"""What names a run's work in flight, and what does not."""

import copy
from pathlib import Path
from typing import Any

import pytest

from bakeoff.config.compose.whole_run import as_tree, load
from bakeoff.foundation import result_code
from bakeoff.learning.checkpoints.fingerprint import fingerprint, identity
from support.imports import ROOT


@pytest.fixture
def tree() -> dict[str, Any]:
    return as_tree(load(ROOT / "models/config/run.yaml"))


def changed(tree: dict[str, Any], key: str, value: object) -> dict[str, Any]:
    """With another value at a dotted key."""
    tree = copy.deepcopy(tree)
    *above, last = key.split(".")
    place = tree
    for name in above:
        place = place[name]
    assert last in place and place[last] != value, key
    place[last] = value
    return tree


@pytest.mark.parametrize(
    "key",
    ["seed", "model.width", "lr.peak", "optimizer.beta_1", "train.steps", "train.log_every_steps", "train.ema_decay",
     "train.best_by", "train.share", "train.max_minutes", "train.early_stopping.patience",
     "derived.train_examples", "derived.num_classes", "train.augment.turn.mirror"],
)  # fmt: skip
def test_what_decides_the_result_changes_it(key: str, tree: dict[str, Any]) -> None:
    assert fingerprint(changed(tree, key, 17), records="a") != fingerprint(tree, records="a")


@pytest.mark.parametrize(
    "key",
    ["train.fresh", "train.continue_from", "train.checkpoint_every_steps", "train.checkpoint_every_seconds",
     "train.keep_every_steps", "train.steps_per_call", "train.samples", "train.tensorboard", "memory.budget",
     "derived.prefetch_batches", "train.init.meant", "evaluate.pictures", "track.experiment", "variant.lr"],
)  # fmt: skip
def test_what_decides_nothing_does_not_change_it(key: str, tree: dict[str, Any]) -> None:
    assert fingerprint(changed(tree, key, 17), records="a") == fingerprint(tree, records="a")


def test_a_phase_in_eight_bits_is_another_run_from_the_first_phase_on(tree: dict[str, Any]) -> None:
    phases = [{"name": name, "lr": None, "trainable": [], "start": "last"} for name in "ab"]
    plain = changed(tree, "train.phases", phases)
    eight = changed(tree, "train.phases", [phases[0], phases[1] | {"quantize": True}])
    assert fingerprint(plain) != fingerprint(eight)
    assert "ranges" in identity(eight) and "ranges" not in identity(plain)


def test_other_records_and_first_weights_are_another_run(tree: dict[str, Any]) -> None:
    names = {fingerprint(tree, records=one, first=other) for one in "ab" for other in "cd"}
    assert len(names) == 4 and all(len(name) == 16 for name in names)


def test_an_edit_of_the_code_is_another_run(
    tree: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_code, "PACKAGE", tmp_path)
    (tmp_path / "learning").mkdir()
    seen = set()
    for text in ("width = 1", "width = 2"):
        (tmp_path / "learning/ssd.py").write_text(text)
        seen.add(fingerprint(tree, records="a"))
    (tmp_path / "cli.py").write_text("prints")
    assert len(seen | {fingerprint(tree, records="a")}) == 2
