"""Each stage with too little memory. Minutes."""

import sys

import pytest

from proofs.faults.memory_limits import limit_all

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")]


def test_a_stage_with_too_little_memory_ends_in_a_line_that_says_what_to_do() -> None:
    assert limit_all(2, 2, 0) == []
