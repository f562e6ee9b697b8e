"""Jobs of a preflight -> a sweep that has begun: its id, its snapshot, its manifest."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.config.run import Derived, Run, as_tree
from bakeoff.metrics.catalogue import judgement_of
from bakeoff.sweep import snapshot
from bakeoff.sweep.manifest import Manifest, SweepJob
from bakeoff.sweep.points import Point
from bakeoff.sweep.preflight import RECORDS_STAGE, Job
from bakeoff.sweep.search.settings import Search

NOT_OF_TRAINING = ("evaluate", "export", "track", "variant")  # groups of run.yaml


def begin(jobs: Sequence[Job], words: Sequence[str], until: str | None, search: Search | None = None) -> Manifest:
    """A search has no jobs yet; those given are of its corners."""
    folder = new_folder(workspace.sweeps())
    taken = snapshot.take(folder.name)
    manifest = Manifest(
        id=folder.name,
        words=tuple(words),
        until=until,
        began=time.time(),
        baseline=taken.baseline,
        snapshot=taken.commit,
        track=as_tree(jobs[0].run)["track"],
        jobs=() if search else tuple(as_planned(job, folder.name) for job in jobs),
        search=search,
    )
    manifest.write()
    return manifest


def new_folder(sweeps: Path) -> Path:
    """Named by the time; its name is the sweep's id, and experiments are named after it."""
    while True:
        folder = sweeps / time.strftime("sweep-%Y%m%d-%H%M%S")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:  # another sweep began in this second
            time.sleep(1)
        else:
            return folder


def as_planned(job: Job, sweep: str) -> SweepJob:
    return sweep_job(sweep, job.number, job.points, job.run, job.options, stages_of(job))


def sweep_job(
    sweep: str, number: int, points: Sequence[Point], run: Run, options: Sequence[str], stages: Sequence[str]
) -> SweepJob:
    assert run.derived is not None
    return SweepJob(
        number=number,
        experiment=f"{sweep}-{number}",
        variant=run.name,
        points=tuple(point.varied or point.overrides for point in points),
        options=tuple(options),
        stages=tuple(stages),
        steps=run.derived.steps,
        memory_bytes=run.derived.memory_estimate_bytes,
        headline=headline_name(run.derived),
        training=training_key(run),
    )


def stages_of(job: Job) -> tuple[str, ...]:
    """That it runs by itself."""
    return tuple(stage for stage in job.stages if stage != RECORDS_STAGE) or (RECORDS_STAGE,)


def training_key(run: Run) -> str:
    """Two that are equal end in the same weights; different ones may, too."""
    tree = {group: value for group, value in as_tree(run).items() if group not in NOT_OF_TRAINING}
    return digest_of(tree)


def digest_of(tree: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def headline_name(derived: Derived) -> str:
    return judgement_of(derived.task, multi_label=derived.multi_label).headline
