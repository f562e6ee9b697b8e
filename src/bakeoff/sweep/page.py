"""A sweep as one page that needs nothing else: what was asked, what came of each point, and what moved the number."""

import time
from pathlib import Path

from bakeoff.effects.section import draw_section
from bakeoff.effects.trial import Question, Trial
from bakeoff.pages import template
from bakeoff.sweep.manifest import JobState, Manifest
from bakeoff.sweep.standing import best, ranked


def write_page(manifest: Manifest, file: Path) -> None:
    trials, question = trials_of(manifest)
    template.write_page(
        file, "sweep.html.jinja", title=manifest.id, manifest=manifest,
        began=time.strftime("%Y-%m-%d %H:%M", time.localtime(manifest.began)),
        best=best(manifest), metric=question.metric, points=ranked(manifest), effects=draw_section(trials, question),
    )  # fmt: skip


def trials_of(manifest: Manifest) -> tuple[list[Trial], Question]:
    """By the words in which points differ, as they were asked for."""
    trials = [
        Trial(
            f"{job.number}: {job.experiment}",
            {key: value.strip("'\"") for key, value in job.varied.items()},
            () if job.value is None else (job.value,),
            f"{job.state}: {job.why}" if job.why else job.state.value,
            job.state == JobState.DONE,
        )
        for job in manifest.jobs
    ]
    keys = dict.fromkeys(key for trial in trials for key in trial.values)
    is_higher_better = manifest.search is None or manifest.search.direction != "min"
    return trials, Question(tuple(keys), manifest.jobs[0].headline if manifest.jobs else "", is_higher_better)
