"""A team's server is lost and restored, and each of its parts fails: what its users find and read. Ten minutes."""

from pathlib import Path

import pytest

from faults.postgresql import why_not
from faults.team import lose_and_restore

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


def test_runs_checkpoints_and_records_are_there_again_after_a_restore(tmp_path: Path) -> None:
    assert lose_and_restore(tmp_path) == []
