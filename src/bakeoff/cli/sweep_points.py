"""A sweep of this workspace -> its points as a comparison wants them."""

from bakeoff import workspace
from bakeoff.compare.rows import Point
from bakeoff.sweep.manifest import JobState, SweepJob, all_ids, read

STATES = {JobState.WAITING: "QUEUED", JobState.DONE: ""}  # the others are called what runs are called
OPTION = ".use"


def points_of(sweep: str) -> list[Point]:
    """None of a sweep of another workspace."""
    if sweep not in all_ids():
        return []
    return [_point(job) for job in read(workspace.sweeps() / sweep).jobs]


def metric_of(sweep: str) -> str | None:
    """What a search was asked to make better, if it is one of this workspace."""
    search = read(workspace.sweeps() / sweep).search if sweep in all_ids() else None
    return search.metric if search else None


def _point(job: SweepJob) -> Point:
    values = {}
    for key, value in job.varied.items():
        is_group = (workspace.CONF / key).is_dir()
        values[f"{key}{OPTION}" if is_group else key] = value.strip("'\"")
    return Point(job.experiment, job.variant, STATES.get(job.state, job.state.upper()), values, job.run_id)
