"""What each point's run in MLflow says of its sweep: which it is of, which number, and what was changed."""

from pathlib import Path

from bakeoff.sweep.manifest import Manifest
from bakeoff.tracking.journal import Journal, entries
from bakeoff.tracking.target import all_journals

EXPERIMENT = "DVC_EXP_NAME"


def tag_points(manifest: Manifest) -> None:
    """Those that came from DVC's cache have runs of their own by now. A tag that is there is not told again."""
    jobs = {job.experiment: job for job in manifest.jobs}
    for folder in all_journals():
        job = jobs.get(_experiment(folder) or "")
        if job is not None:
            journal = Journal(folder.name)
            journal.tags({
                "bakeoff.sweep": manifest.id,
                "bakeoff.sweep_job": str(job.number),
                "bakeoff.sweep_point": job.name,
            })  # fmt: skip
            journal.close()


def _experiment(folder: Path) -> str | None:
    """It is among the first that a run tells."""
    tags = (entry["values"] for entry, _ in entries(folder) if entry and entry["kind"] == "tags")
    return next((values[EXPERIMENT] for values in tags if EXPERIMENT in values), None)
