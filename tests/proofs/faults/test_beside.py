"""Git and a second sweep work beside a training and a sweep. Minutes each."""

import random
import sys
from pathlib import Path

import pytest

from proofs.faults.beside import sweep_beside_sweep, train_beside_git

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="files that are open stay where they are"),
]


def test_a_training_does_not_notice_what_git_does_beside_it(tmp_path: Path) -> None:
    assert train_beside_git(tmp_path, "detection", random.Random(0)) == []


def test_two_sweeps_at_once_do_each_of_their_points_once(tmp_path: Path) -> None:
    assert sweep_beside_sweep(tmp_path, random.Random(0), is_shared=False) == []


def test_two_sweeps_at_once_may_share_a_point(tmp_path: Path) -> None:
    assert sweep_beside_sweep(tmp_path, random.Random(0), is_shared=True) == []
