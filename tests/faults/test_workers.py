"""Two workers of one training: equal weights, run after run and after kills. Minutes."""

import json
import random
import sys
from pathlib import Path

import pytest

from faults.workers import anew, rendered, trained, trained_with_kills

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


def test_two_workers_train_as_one_and_go_on_after_any_of_them_is_killed(tmp_path: Path) -> None:
    _, alone = trained(rendered(tmp_path / "alone", 1, steps=60))
    workspace = rendered(tmp_path / "two", 2, steps=60)
    digest, lines = trained(workspace)
    first, other = (json.loads(one[0])["train/loss"] for one in (alone, lines))
    assert other == pytest.approx(first, rel=1e-5)
    anew(workspace)
    found, again, ranks = trained_with_kills(workspace, 2, random.Random(3))
    assert (found, again, len(ranks)) == (digest, lines, 2)
