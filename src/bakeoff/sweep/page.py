"""A sweep as one page that needs nothing else: what was asked, what came of each point, and what moved the number."""

import time
from collections.abc import Iterator
from html import escape
from pathlib import Path

from bakeoff.effects import look
from bakeoff.effects.document import write_document
from bakeoff.effects.section import section
from bakeoff.effects.trial import Question, Trial
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.standing import best, ranked

STYLE = """
body { max-width: 110rem } .wide { overflow-x: auto } .points { margin-top: 1rem } .points td, .points th {
 padding: .3rem 1.4rem .3rem 0; white-space: nowrap } .points td.why { white-space: normal; min-width: 16rem }
.points .best td { font-weight: 700 } .not-done td { color: var(--soft) } .not-done .state { color: var(--wrong) }
code { font-size: .9em }
"""


def write_page(manifest: Manifest, file: Path) -> None:
    write_document(file, manifest.id, STYLE + look.STYLE, look.SCRIPT, _parts(manifest))


def trials_of(manifest: Manifest) -> tuple[list[Trial], Question]:
    """By the words in which points differ, as they were asked for."""
    trials = [
        Trial(
            f"{job.number}: {job.experiment}",
            {key: value.strip("'\"") for key, value in job.varied.items()},
            () if job.value is None else (job.value,),
            _state(job),
            job.state == JobState.DONE,
        )
        for job in manifest.jobs
    ]
    keys = dict.fromkeys(key for trial in trials for key in trial.values)
    is_higher_better = manifest.search is None or manifest.search.direction != "min"
    return trials, Question(tuple(keys), manifest.jobs[0].headline if manifest.jobs else "", is_higher_better)


def _state(job: SweepJob) -> str:
    return f"{job.state}: {job.why}" if job.why else job.state.value


def _parts(manifest: Manifest) -> Iterator[str]:
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(manifest.began))
    yield f"<h1>{escape(manifest.id)}</h1><p class=soft>Began {began}: "
    yield f"<code>bakeoff sweep {escape(' '.join(manifest.words))}</code></p><div class=cards>"
    first = best(manifest)
    if first is not None:
        yield f"<div class=big><b>best {escape(first.headline)}</b><strong>{first.value:.3f}</strong>"
        yield f"<span class=soft>{first.number}: {escape(first.name)}</span></div>"
    yield f"<div><b>points</b><strong>{len(manifest.jobs)}</strong><span class=soft>{manifest.counts}</span></div>"
    yield "</div>"
    trials, question = trials_of(manifest)
    yield from section(trials, question)
    yield "<h2>Points</h2><div class=wide><table class=points><tr><th class=n>number<th>point<th class=n>"
    yield f"{escape(question.metric)}<th>state<th>experiment<th>"
    for job in ranked(manifest):
        kind = " class=best" if job is first else " class=not-done" if job.state != JobState.DONE else ""
        value = "–" if job.value is None else f"{job.value:.3f}"
        yield f"<tr{kind}><td class=n>{job.number}<td>{escape(job.name)}<td class=n>{value}<td class=state>{job.state}"
        yield f"<td><code>{escape(job.experiment)}</code><td class=why>{escape(job.why)}"
    yield "</table></div>"
