"""Jobs of a preflight -> a sweep that has begun: its id, its snapshot, its manifest."""

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from bakeoff import workspace
from bakeoff.config.run import Derived, Run, as_tree
from bakeoff.sweep import snapshot
from bakeoff.sweep.manifest import Manifest, SweepJob
from bakeoff.sweep.preflight import RECORDS_STAGE, Job

NOT_OF_TRAINING = ("evaluate", "export", "track", "variant")  # groups of run.yaml


def begin(jobs: Sequence[Job], words: Sequence[str], until: str | None) -> Manifest:
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
        jobs=tuple(_planned(job, folder.name) for job in jobs),
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


def _planned(job: Job, sweep: str) -> SweepJob:
    stages = tuple(stage for stage in job.stages if stage != RECORDS_STAGE)
    return SweepJob(
        number=job.number,
        experiment=f"{sweep}-{job.number}",
        variant=job.run.name,
        points=tuple(point.varied or point.overrides for point in job.points),
        options=job.options,
        stages=stages or (RECORDS_STAGE,),
        steps=job.derived.steps,
        memory_bytes=job.derived.memory_estimate_bytes,
        headline=headline_name(job.derived),
        training=training_key(job.run),
    )


def training_key(run: Run) -> str:
    """Two that are equal end in the same weights; different ones may, too."""
    tree = {group: value for group, value in as_tree(run).items() if group not in NOT_OF_TRAINING}
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def headline_name(derived: Derived) -> str:
    """The tasks know it, but they compute, and a sweep does not load TensorFlow."""
    if derived.task == "detection":
        return "mAP_50"
    return "mean_average_precision" if derived.multi_label else "accuracy"
