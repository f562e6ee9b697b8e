"""What a job asks of DVC, and what its stages find in their environment."""

import os
import sys
from pathlib import Path

from bakeoff.sweep.job import environment, make_experiment
from made_sweeps import ID, sweep_job


def test_a_job_is_one_experiment_with_its_changes() -> None:
    job = sweep_job(1, options=("++lr.peak=0.1", "~seed"), stages=("render_config", "train"))
    assert make_experiment(job, Path("clone"))[1:] == [
        "-m", "bakeoff.sweep.experiment", "clone", f"{ID}-1", "-S", "++lr.peak=0.1", "-S", "~seed",
        "--", "render_config", "train",
    ]  # fmt: skip


def test_stages_find_this_python_and_compute_with_as_many_threads_whatever_their_cores() -> None:
    own = {"PATH": "/usr/bin", "HOME": "/home/ada"}
    always = {"PATH": f"{Path(sys.executable).parent}:/usr/bin", "PYTHONUNBUFFERED": "1", "BAKEOFF_DVC_CACHE": "/cache"}
    threads = str(len(os.sched_getaffinity(0)))
    assert environment(own, Path("/cache"), (0, 2)) == own | always | {
        "BAKEOFF_CORES": "0,2", "TF_NUM_INTRAOP_THREADS": threads
    }  # fmt: skip
    own |= {"TF_NUM_INTRAOP_THREADS": "7"}
    assert environment(own, Path("/cache"), (0,)) == own | always | {"BAKEOFF_CORES": "0"}
    assert environment(own, Path("/cache"), ()) == own | always
