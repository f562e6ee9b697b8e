"""What a job of a sweep costs on a far node, over the same job on a node that sees the workspace.

    python benchmarks/far_jobs.py --jobs 6

Jobs render their run.yaml and train nothing, one after the other, on a Ray cluster of one node on this machine: first
on one that sees the workspace, then on one that sees a git remote and a bucket of S3 (moto) alone.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from proofs.faults.far_sweeps import Trial
from proofs.faults.sweep_checks import manifests
from support.ray_cluster import RayCluster


def seconds(trial: Trial, jobs: int, seed: int) -> list[float]:
    """Return how long each job took but for the first, which fills what a node keeps."""
    sweep = ("--on", "ray", "-j", "1", "--until", "render_config", f"seed=range({seed},{seed + jobs + 1})")
    code = trial.launch(*sweep).wait()
    assert code == 0, code
    attempts = [job["attempts"][-1] for job in manifests(trial.workspace)[-1]["jobs"]]
    return [attempt["ended"] - attempt["began"] for attempt in attempts[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=6)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="far-"))
    trial, medians = Trial(folder), dict[str, float]()
    try:
        for number, (place, hidden) in enumerate((("near", folder / "empty"), ("far", trial.workspace.folder))):
            hidden.mkdir(exist_ok=True)
            cluster = RayCluster(folder / place, trial.environment)
            trial.environment |= cluster.environment
            try:
                cluster.add(0)
                cluster.add(hidden=hidden)
                took = seconds(trial, arguments.jobs, 100 * number)
            finally:
                cluster.kill()
            medians[place] = statistics.median(took)
            print(f"{place}: {medians[place]:.1f} s a job, {min(took):.1f} to {max(took):.1f}", flush=True)
    finally:
        trial.bucket.kill()
    print(f"a far job costs {medians['far'] - medians['near']:.1f} s more")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
