"""A manifest -> which of its points is best, and all of them as a table."""

from pathlib import Path
from typing import Any

from bakeoff.files import write_table
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob


def best(manifest: Manifest) -> SweepJob | None:
    """By the metric of its task, of which more is better, or as its search says; the first of equals; None if nothing
    was evaluated."""
    return max(_judged(manifest), key=lambda job: merit(manifest, job), default=None)


def merit(manifest: Manifest, job: SweepJob) -> float:
    """More is better; the least of one without a value."""
    if job.value is None:
        return float("-inf")
    return -job.value if manifest.search is not None and manifest.search.direction == "min" else job.value


def ranked(manifest: Manifest) -> list[SweepJob]:
    """Those that are done, the best first; then what has no result, in order."""
    judged = _judged(manifest)
    others = [job for job in manifest.jobs if job not in judged]
    return [*sorted(judged, key=lambda job: -merit(manifest, job)), *others]


def _judged(manifest: Manifest) -> list[SweepJob]:
    return [job for job in manifest.jobs if job.state == JobState.DONE and job.value is not None]


def write_results(manifest: Manifest, file: Path) -> None:
    write_table(file, [_row(job) for job in manifest.jobs])


def _row(job: SweepJob) -> dict[str, Any]:
    last = job.attempts[-1] if job.attempts else None
    return {
        "number": job.number,
        "experiment": job.experiment,
        **job.varied,
        "variant": job.variant,
        "state": job.state.value,
        job.headline: "" if job.value is None else job.value,
        "attempts": len(job.attempts),
        "seconds": "" if last is None or last.ended is None else round(last.ended - last.began, 1),
        "fingerprint": job.fingerprint or "",
        "run": job.run_id or "",
        "why": job.why,
    }
