"""Slurm takes nodes away or ends a job: training goes on at its step, and leaves nothing behind. Ten minutes each."""

from pathlib import Path

import pytest

from proofs.faults import workers_on_slurm
from proofs.faults.preempting import compare, outlive_limit, search
from proofs.faults.slurm import why_not

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


@pytest.mark.parametrize(
    ("way", "proctrack", "grace", "steps"),
    [("repro", "linuxproc", 40, 3000), ("sweep", "pgid", 40, 3000), ("points", "linuxproc", 60, 4000)],
)
def test_what_slurm_preempts_ten_times_ends_in_the_same_weights(
    way: str, proctrack: str, grace: int, steps: int, tmp_path: Path
) -> None:
    assert compare(tmp_path, way, 10, grace, proctrack, steps)


def test_a_search_on_slurm_prunes_and_outlives_its_launcher(tmp_path: Path) -> None:
    jobs = search(tmp_path, 6)
    assert {job["state"] for job in jobs} == {"done", "pruned"} and len(jobs) == 6
    assert [len(job["attempts"]) for job in jobs] == [1] * 6


def test_a_training_outlives_the_time_limit_of_its_job_by_sigusr2(tmp_path: Path) -> None:
    assert outlive_limit(tmp_path, minutes=4, steps=15000)


def test_two_workers_of_one_job_outlive_kills_and_a_preemption(tmp_path: Path) -> None:
    assert workers_on_slurm.compare(tmp_path, [1, 0], preemptions=1, steps=200, grace=60)
