"""Stages other than training, ended at random moments. Minutes."""

import sys

import pytest

from proofs.faults.stage_kills import end_stages

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")]


def test_stages_that_were_ended_at_any_moment_come_to_the_same_files() -> None:
    assert end_stages(3, 0) == []
