"""Slurm takes nodes away or ends a job: training goes on at its step, and leaves nothing behind. Ten minutes each."""

from pathlib import Path

import pytest

from proofs.faults import preempting_launcher, workers_on_slurm
from proofs.faults.preempting import compare, outlive_limit
from proofs.faults.slurm import why_not

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


@pytest.mark.parametrize(("way", "proctrack"), [("repro", "linuxproc"), ("sweep", "pgid")])
def test_a_training_that_slurm_preempts_ten_times_ends_in_the_same_weights(
    way: str, proctrack: str, tmp_path: Path
) -> None:
    assert compare(tmp_path, way, 10, grace=40, proctrack=proctrack, steps=3000)


def test_points_that_submitit_began_are_each_done_once_through_ten_preemptions(tmp_path: Path) -> None:
    assert preempting_launcher.compare(tmp_path, 10, grace=60, steps=4000)


def test_a_training_outlives_the_time_limit_of_its_job_by_sigusr2(tmp_path: Path) -> None:
    assert outlive_limit(tmp_path, minutes=4, steps=15000)


def test_two_workers_of_one_job_outlive_kills_and_a_preemption(tmp_path: Path) -> None:
    assert workers_on_slurm.compare(tmp_path, [1, 0], preemptions=1, steps=200, grace=60)
