"""What a sweep is about to do, and what came of it, as tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff import machine
from bakeoff.cli.amounts import duration, size
from bakeoff.cli.columns import say_columns
from bakeoff.progress import say

if TYPE_CHECKING:
    from bakeoff.planning.estimate import Estimate, Together
    from bakeoff.sweep.manifest import Manifest
    from bakeoff.sweep.preflight import Job


def show_jobs(jobs: Sequence["Job"], points: int) -> None:
    rows = [("", "point", "variant", "steps", "time", "stages")]
    for job in jobs:
        stages = ", ".join(f"{stage} {outcome}" for stage, outcome in job.stages.items())
        name, steps = job.points[0].name, f"{job.derived.steps:,}"
        rows.append((str(job.number), name, job.run.name, steps, _time(job.estimate), stages))
        rows += [("", point.name, f"the same variant as {job.number}", "", "", "") for point in job.points[1:]]
    say_columns(rows)
    for warning in dict.fromkeys(warning for job in jobs for warning in job.warnings):
        say(f"warning: {warning}")
    merged = f" of {points} points" if len(jobs) != points else ""
    say(f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'}{merged}")


def show_sum(sum_of_all: "Together", side_by_side: int) -> None:
    """Beneath the jobs."""
    known = f"about {duration(sum_of_all.seconds)} of training"
    unknown = f"{sum_of_all.unknown} not known yet" if sum_of_all.unknown else ""
    time = ", ".join(filter(None, [known if sum_of_all.seconds or not unknown else "", unknown]))
    together = f" for {side_by_side} side by side" if side_by_side > 1 else ""
    memory = f"up to {size(sum_of_all.memory_bytes)}{together} of {size(machine.total_memory())}"
    say_columns([("time", time), ("memory", memory), ("disk", f"about {size(sum_of_all.disk_bytes)}")])


def show_results(manifest: "Manifest") -> None:
    rows = [("point", "experiment", "metric", "state")]
    for job in manifest.jobs:
        rows.append((job.name, job.experiment, job.metric, job.state.value))
    say_columns(rows)
    say(
        "`dvc exp show` has all of them, `bakeoff config NAME` what differs from the workspace, "
        "`bakeoff sweep best --apply` takes the best into it"
    )


def _time(estimate: "Estimate") -> str:
    return "?" if estimate.seconds is None else duration(estimate.seconds) if estimate.seconds else "-"
