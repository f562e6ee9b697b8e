"""A sweep that is killed in each of its parts. Minutes."""

import sys

import pytest

from proofs.faults.sweep_parts import kill_in_each_part

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")]


def test_a_sweep_killed_in_each_part_does_each_point_once_with_the_same_weights() -> None:
    assert kill_in_each_part(0) == []
