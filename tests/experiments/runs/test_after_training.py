"""What is still done once a training has ended."""

from types import SimpleNamespace

import pytest

from bakeoff.experiments.runs import after_training
from bakeoff.experiments.runs.after_training import takes_its_shell_along


@pytest.mark.parametrize(("parent", "expected"), [("dash", True), ("sh", True), ("bash", False), ("dvc", False)])
def test_a_shell_that_stays_between_dvc_and_a_stage_is_told_from_one_that_does_not(
    parent: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(after_training.psutil, "Process", lambda number: SimpleNamespace(name=lambda: parent))
    monkeypatch.setenv("DVC_STAGE", "train")
    assert takes_its_shell_along() is expected
    monkeypatch.delenv("DVC_STAGE")
    assert not takes_its_shell_along()
