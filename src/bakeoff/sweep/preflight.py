"""Points -> jobs: every point is read and resolved before the first runs, and every mistake is said in one list."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff import workspace
from bakeoff.config.variant import read_variant
from bakeoff.errors import BakeoffError, ConfigError, WorkspaceError, choices
from bakeoff.planning.ahead import UNCHANGED, Known, read_known, stages_ahead
from bakeoff.planning.estimate import Estimate
from bakeoff.progress import progress
from bakeoff.run.settings import Run, as_tree
from bakeoff.run.yaml_file import read_mapping
from bakeoff.sweep.capture import require_capturable
from bakeoff.sweep.parameters import set_options
from bakeoff.sweep.points import Point
from bakeoff.training.variant import Derived

RECORDS_STAGE = "build_records"


@dataclass(frozen=True)
class Job:
    number: int  # from 1
    points: tuple[Point, ...]  # the first runs; the others render the same run.yaml
    run: Run
    derived: Derived
    options: tuple[str, ...]  # of `dvc exp run -S`
    stages: dict[str, str]  # what each would do
    warnings: tuple[str, ...]
    estimate: Estimate


def preflight(points: Sequence[Point], *, until: str | None = None) -> list[Job]:
    """Raises ConfigError with all the mistakes of all points."""
    require_capturable()
    known = read_known()
    if until is not None and until not in known.stages:
        raise ConfigError(f"--until: no such stage {until!r}; {choices(until, known.stages)}")
    now = read_mapping(workspace.PARAMS)
    mistakes: dict[str, list[Point]] = {}
    jobs: dict[str, Job] = {}  # by run.yaml
    with progress("sweep: reading", len(points), "points") as bar:
        for point in points:
            try:
                job = _job(len(jobs) + 1, point, now, known, until)
                same = json.dumps(as_tree(job.run), sort_keys=True)
                jobs[same] = _together(jobs[same], point) if same in jobs else job
            except BakeoffError as error:
                for line in str(error).splitlines():
                    mistakes.setdefault(line, []).append(point)
            bar.advance()
    if mistakes:
        raise ConfigError("\n".join(f"{_named(where, points)}{line}" for line, where in mistakes.items()))
    return list(jobs.values())


def _job(number: int, point: Point, now: dict[str, Any], known: Known, until: str | None) -> Job:
    variant = read_variant(
        workspace.PARAMS, workspace.CONF, workspace.RECORDS, facts=workspace.facts(), overrides=point.overrides
    )
    wanted: dict[str, Any] = variant.composed.said[0].document.values
    if wanted.get("data") != now.get("data"):  # what else is wrong would be said of other records
        raise ConfigError(
            "data: must be the same for every point, since their results are compared; "
            "set it in params.yaml, run `dvc repro build_records`, then sweep the rest"
        )
    run = variant.whole()
    assert run.derived is not None
    files = {workspace.PARAMS.as_posix(): wanted, workspace.RUN.as_posix(): as_tree(run)}
    if stages_ahead(files, known, until=RECORDS_STAGE)[RECORDS_STAGE] != UNCHANGED:
        raise WorkspaceError(
            f"{workspace.RECORDS.as_posix()}/: must be what params.yaml asks for, before points are planned with them; "
            f"run `dvc repro {RECORDS_STAGE}`"
        )
    stages = stages_ahead(files, known, until=until)
    return Job(
        number,
        (point,),
        run,
        run.derived,
        tuple(set_options(now, wanted)),
        stages,
        tuple(variant.problems.warnings),
        Estimate.of(run, stages),
    )


def _together(job: Job, point: Point) -> Job:
    return replace(job, points=(*job.points, point))


def _named(where: Sequence[Point], points: Sequence[Point]) -> str:
    """What all points have in common is no point's own."""
    if len(where) == len(points):
        return ""
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    return f"{where[0].name}{more}: "
