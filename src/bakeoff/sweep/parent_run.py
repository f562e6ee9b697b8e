"""What MLflow hears of a sweep: a run with its question, its manifest and its results, above the runs of its points."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bakeoff.effects.section import draw_section
from bakeoff.effects.trial import Question, Trial
from bakeoff.pages import template
from bakeoff.run.options import Mlflow
from bakeoff.sweep.manifest import FILE, JobState, Manifest, load_manifest
from bakeoff.sweep.standing import best, ranked, write_results
from bakeoff.tracking.journal import NOTE, Journal, entries
from bakeoff.tracking.reconcile import reconcile
from bakeoff.tracking.sync import send_beside
from bakeoff.tracking.target import Target, all_journals

RESULTS, REPORT = "results.tsv", "report.html"
ARTIFACTS = "sweep"
EXPERIMENT = "DVC_EXP_NAME"


@contextmanager
def report_to_mlflow(manifest: Manifest) -> Iterator[None]:
    """When a sweep begins to run, and when it ends for now."""
    try:
        with parent_run(manifest):
            yield
    finally:
        reconcile()  # points that came from DVC's cache ran nothing that could have told of them
        tag_points(load_manifest(manifest.folder))
        send_beside()


@contextmanager
def parent_run(manifest: Manifest) -> Iterator[None]:
    """Its id is the sweep's: the points name it as theirs, and MLflow has one run of that name.

    The journal stays open as long as the sweep runs, or whoever looks takes it for interrupted.
    """
    track = manifest.track
    if track.get("kind") != "mlflow":
        yield
        return
    journal = Journal(manifest.id)
    Target.of(Mlflow(str(track.get("experiment")), track.get("uri"), track.get("artifacts"))).write(journal.folder)
    if journal.is_new:
        journal.run(manifest.id)
    journal.tags({
        "bakeoff.sweep": manifest.id,
        "bakeoff.sweep_question": " ".join(manifest.words),
        "bakeoff.sweep_jobs": str(manifest.expected),
        **_search_tags(manifest),
        **({NOTE: manifest.note} if manifest.note else {}),
        "bakeoff.git_commit": manifest.baseline,
    })  # fmt: skip
    journal.file(manifest.folder / FILE, f"{ARTIFACTS}/{FILE}")
    journal.state("RUNNING")
    try:
        yield
    finally:
        _tell_end(journal, load_manifest(manifest.folder))
        journal.close()


def _tell_end(journal: Journal, manifest: Manifest) -> None:
    """For now, if something is left to do."""
    states = [job.state for job in manifest.jobs]
    journal.tags({f"bakeoff.sweep_{state}": str(states.count(state)) for state in JobState})
    if (first := best(manifest)) is not None:
        journal.tags({
            "bakeoff.best": first.experiment,
            "bakeoff.best_point": first.name,
            f"bakeoff.best_{first.headline}": f"{first.value:.6g}",
        })  # fmt: skip
    write_results(manifest, manifest.folder / RESULTS)
    write_page(manifest, manifest.folder / REPORT)
    for name in (FILE, RESULTS, REPORT):
        journal.file(manifest.folder / name, f"{ARTIFACTS}/{name}")
    over = all(state.is_final for state in states) and len(states) >= manifest.expected
    journal.state("FINISHED" if over else "FAILED" if JobState.FAILED in states else "KILLED")


def _search_tags(manifest: Manifest) -> dict[str, str]:
    search = manifest.search
    if search is None:
        return {}
    tags = {"": search.kind, "_metric": search.metric, "_direction": search.direction, "_seed": str(search.seed)}
    return {f"bakeoff.search{name}": value for name, value in tags.items()}


def tag_points(manifest: Manifest) -> None:
    """Tag each point's run with its sweep, its number and what was changed.

    Those that came from DVC's cache have runs of their own by now. A tag that is there is not told again.
    """
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
