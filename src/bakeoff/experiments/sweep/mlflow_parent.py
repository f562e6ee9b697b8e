"""A sweep -> a run of MLflow with its question, manifest and results, above the runs of its configurations."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bakeoff.config.track_settings import Mlflow
from bakeoff.experiments.importance.html_section import draw_section
from bakeoff.experiments.importance.trial import Question, Trial
from bakeoff.experiments.sweep.best import find_best, rank_jobs, write_results
from bakeoff.experiments.sweep.sweep_manifest import FILE, JobState, SweepManifest, load_manifest
from bakeoff.foundation.html import template
from bakeoff.foundation.workspace import DVC_EXPERIMENT, journals
from bakeoff.tracking.journal.entries import StateEntry, TagsEntry
from bakeoff.tracking.journal.journal import Journal, entries_of
from bakeoff.tracking.journal.journal_folder import NOTE
from bakeoff.tracking.restored_results import reconcile
from bakeoff.tracking.store.target import Target, all_journals
from bakeoff.tracking.sync.sync_status import send_beside

RESULTS, REPORT = "results.tsv", "report.html"
ARTIFACTS = "sweep"


@contextmanager
def report_to_mlflow(manifest: SweepManifest) -> Iterator[None]:
    """Report to MLflow that a sweep runs, and at the end of the block how far it is."""
    try:
        with parent_run(manifest):
            yield
    finally:
        reconcile()  # a configuration from DVC's cache ran no stage that could have reported it
        tag_configurations(load_manifest(manifest.folder))
        send_beside()


def report_lost_end(manifest: SweepManifest) -> None:
    """Report the end of a sweep whose launcher was killed after its last job, and before it could do that."""
    states = [entry.state for entry in entries_of(journals() / manifest.id, StateEntry)]
    if states and states[-1] == "FINISHED":
        return
    with report_to_mlflow(manifest):
        pass


@contextmanager
def parent_run(manifest: SweepManifest) -> Iterator[None]:
    """Keep the sweep's own run open. Its id is the sweep's, and the runs of the configurations name it as their parent.

    The journal stays open as long as the sweep runs. A reader would take a closed one for an interrupted sweep.
    """
    track = manifest.track
    if track.get("kind") != "mlflow":
        yield
        return
    journal = Journal(manifest.id)
    Target.from_settings(Mlflow(str(track.get("experiment")), track.get("uri"), track.get("artifacts"))).write(
        journal.folder
    )
    if journal.is_new:
        journal.run(manifest.id)
    journal.tags(
        {
            "bakeoff.sweep": manifest.id,
            "bakeoff.sweep_question": " ".join(manifest.overrides),
            "bakeoff.sweep_jobs": str(manifest.expected),
            **_make_search_tags(manifest),
            **({NOTE: manifest.note} if manifest.note else {}),
            "bakeoff.git_commit": manifest.baseline,
        }
    )
    journal.file(manifest.folder / FILE, f"{ARTIFACTS}/{FILE}")
    journal.state("RUNNING")
    try:
        yield
    finally:
        _report_end(journal, load_manifest(manifest.folder))
        journal.close()


def _report_end(journal: Journal, manifest: SweepManifest) -> None:
    """Report the results so far, and whether the sweep is over."""
    states = [job.state for job in manifest.jobs]
    journal.tags({f"bakeoff.sweep_{state}": str(states.count(state)) for state in JobState})
    if (first := find_best(manifest)) is not None:
        journal.tags(
            {
                "bakeoff.best": first.experiment,
                "bakeoff.best_point": first.name,
                f"bakeoff.best_{first.headline}": f"{first.value:.6g}",
            }
        )
    write_results(manifest, manifest.folder / RESULTS)
    write_page(manifest, manifest.folder / REPORT)
    for name in (FILE, RESULTS, REPORT):
        journal.file(manifest.folder / name, f"{ARTIFACTS}/{name}")
    over = all(state.is_final for state in states) and len(states) >= manifest.expected
    journal.state("FINISHED" if over else "FAILED" if JobState.FAILED in states else "KILLED")


def _make_search_tags(manifest: SweepManifest) -> dict[str, str]:
    search = manifest.search
    if search is None:
        return {}
    tags = {"": search.kind, "_metric": search.metric, "_direction": search.direction, "_seed": str(search.seed)}
    return {f"bakeoff.search{name}": value for name, value in tags.items()}


def tag_configurations(manifest: SweepManifest) -> None:
    """Tag each configuration's run with its sweep, its number and its overrides.

    Configurations from DVC's cache have runs of their own by now. A tag that is there is not sent again.
    """
    jobs = {job.experiment: job for job in manifest.jobs}
    for folder in all_journals():
        job = jobs.get(_find_experiment(folder) or "")
        if job is not None:
            journal = Journal(folder.name)
            journal.tags(
                {
                    "bakeoff.sweep": manifest.id,
                    "bakeoff.sweep_job": str(job.number),
                    "bakeoff.sweep_point": job.name,
                }
            )
            journal.close()


def _find_experiment(folder: Path) -> str | None:
    """Return the experiment of a run, which is among the first tags of its journal."""
    tags = (entry.values for entry in entries_of(folder, TagsEntry))
    return next((values[DVC_EXPERIMENT] for values in tags if DVC_EXPERIMENT in values), None)


def write_page(manifest: SweepManifest, file: Path) -> None:
    trials, question = list_trials(manifest)
    template.write_page(
        file, "sweep.html.jinja", title=manifest.id, manifest=manifest,
        began=time.strftime("%Y-%m-%d %H:%M", time.localtime(manifest.began)),
        best=find_best(manifest), metric=question.metric, jobs=rank_jobs(manifest),
        effects=draw_section(trials, question),
    )  # fmt: skip


def list_trials(manifest: SweepManifest) -> tuple[list[Trial], Question]:
    """Return the jobs as trials, by the overrides in which they differ, and the question that they answer."""
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
