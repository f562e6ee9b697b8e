"""The sweep itself as a run of MLflow, under which it shows the points: the question, the manifest, the results."""

from dataclasses import dataclass
from typing import Any

from bakeoff.run.options import Mlflow
from bakeoff.sweep.manifest import FILE, JobState, Manifest
from bakeoff.sweep.page import write_page
from bakeoff.sweep.standing import best, write_results
from bakeoff.tracking.journal import Journal
from bakeoff.tracking.target import Target

RESULTS, REPORT = "results.tsv", "report.html"
ARTIFACTS = "sweep"


@dataclass
class ParentRun:
    """Its id is the sweep's: the points name it as theirs, and MLflow has one run of that name."""

    target: Target | None  # None: the variants are not tracked
    _open: Journal | None = None  # from its beginning to its end, or whoever looks takes the sweep for interrupted

    @classmethod
    def of(cls, track: dict[str, Any]) -> "ParentRun":
        if track.get("kind") != "mlflow":
            return cls(None)
        return cls(Target.of(Mlflow(str(track.get("experiment")), track.get("uri"), track.get("artifacts"))))

    def began(self, manifest: Manifest) -> None:
        """Again, if it is resumed."""
        if self.target is None:
            return
        self._open = journal = self._journal(manifest, self.target)
        journal.tags({
            "bakeoff.sweep": manifest.id,
            "bakeoff.sweep_question": " ".join(manifest.words),
            "bakeoff.sweep_jobs": str(manifest.expected),
            **_search_tags(manifest),
            "bakeoff.git_commit": manifest.baseline,
        })  # fmt: skip
        journal.file(manifest.folder / FILE, f"{ARTIFACTS}/{FILE}")
        journal.state("RUNNING")

    def ended(self, manifest: Manifest) -> None:
        """For now, if something is left to do."""
        if self.target is None:
            return
        journal, self._open = self._open or self._journal(manifest, self.target), None
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
        failed = JobState.FAILED in states
        over = all(state.is_final for state in states) and len(states) >= manifest.expected
        journal.state("FINISHED" if over else "FAILED" if failed else "KILLED")
        journal.close()

    def _journal(self, manifest: Manifest, target: Target) -> Journal:
        journal = Journal(manifest.id)
        target.write(journal.folder)
        if journal.is_new:
            journal.run(manifest.id)
        return journal


def _search_tags(manifest: Manifest) -> dict[str, str]:
    search = manifest.search
    if search is None:
        return {}
    told = {"": search.kind, "_metric": search.metric, "_direction": search.direction, "_seed": str(search.seed)}
    return {f"bakeoff.search{name}": value for name, value in told.items()}
