"""Sweeps of jobs that do nothing, as launchers and lists find them."""

from typing import Any

from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest

ID = "sweep-20260102-030405"


def sweep_job(number: int, **more: Any) -> SweepJob:
    about = {
        "experiment": f"{ID}-{number}", "variant": "ssd_tiny · cosine · low", "configurations": ((f"seed={number}",),),
        "options": (f"++seed={number}",), "stages": ("render_config",), "steps": 200, "memory_bytes": 10,
        "headline": "mAP_50", "training": str(number),
    }  # fmt: skip
    return SweepJob(number, **(about | more))


def sweep(*jobs: SweepJob, **more: Any) -> SweepManifest:
    about = {
        "id": ID, "overrides": ("seed=range(1,3)",), "until": None, "began": 1.0, "baseline": "b" * 40,
        "snapshot": "5" * 40, "track": {"kind": "none"},
    }  # fmt: skip
    return SweepManifest(jobs=jobs, **(about | more))


def states(manifest: SweepManifest) -> list[JobState]:
    return [job.state for job in manifest.jobs]
