"""The disk fills up in each stage. Minutes."""

import sys
from pathlib import Path

import pytest

from proofs.faults.full_disks import fill_in_each_stage, may_mount

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk in memory")]


def test_a_stage_on_a_full_disk_ends_in_one_line_and_works_once_there_is_room(tmp_path: Path) -> None:
    if not may_mount(tmp_path):
        pytest.skip("needs the right to mount a disk")
    assert fill_in_each_stage(3, 0) == []
