"""Slurm takes the node away ten times: training goes on at its step, and leaves nothing behind. Ten minutes each."""

from pathlib import Path

import pytest

from faults.preempting import compare
from faults.slurm import why_not

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


@pytest.mark.parametrize(("way", "proctrack"), [("repro", "linuxproc"), ("sweep", "pgid")])
def test_a_training_that_slurm_preempts_ten_times_ends_in_the_same_weights(
    way: str, proctrack: str, tmp_path: Path
) -> None:
    assert compare(tmp_path, way, 10, grace=40, proctrack=proctrack, steps=3000)
