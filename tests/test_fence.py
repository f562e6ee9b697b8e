"""No test sees the workspace that it is run in; one that does fails by itself."""

import sqlite3
from pathlib import Path

import pytest

from bakeoff.foundation import workspace
from support import fence
from support.imports import ROOT


@pytest.mark.parametrize(
    "look",
    [
        lambda: (ROOT / "models/train/state.json").read_text(encoding="utf-8"),
        lambda: list((ROOT / "data/records").iterdir()),
        lambda: (ROOT / ".bakeoff/runs").mkdir(parents=True),
        lambda: sqlite3.connect(ROOT / "mlflow.db"),
    ],
)
def test_whoever_looks_at_what_a_repro_left_is_stopped(look: object) -> None:
    assert callable(look)
    with pytest.raises(AssertionError, match="sees the workspace .*: "):
        look()
    assert len(fence.crossed) == 1  # so that the test would fail if the error had been caught
    fence.crossed.clear()


def test_relative_paths_do_not_lead_to_the_workspace() -> None:
    assert not Path.cwd().is_relative_to(ROOT) and list(Path.cwd().iterdir()) == []
    assert not workspace.main_workspace().is_relative_to(ROOT)
