"""One name for a run, and every name that a command takes for it.

The short name, the first eight characters of the run's id, is what every list shows: 9e1f70b2. A command also takes the
id, the fingerprint of its training and MLflow's id, the beginning of each, the name of its DVC experiment, that of its
variant and a git revision that holds its result. What comes first in `_TIERS` counts.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from bakeoff.foundation.errors import WorkspaceError, choices
from bakeoff.tracking.results.results import Result, result_here, result_of
from bakeoff.tracking.results.run_id import Names
from bakeoff.tracking.store.stored_run import StoredRun, journaled_runs
from bakeoff.tracking.store.target import Target

LEAST_OF_AN_ID = 4  # characters of its beginning
LISTED = 30  # names in a message
KINDS = (
    f"it can be the short name that every list shows, an id or a fingerprint, {LEAST_OF_AN_ID} characters of one or "
    "more, a DVC experiment, a variant's name or a git revision"
)


class Named(Protocol):
    @property
    def names(self) -> Names: ...


Run = TypeVar("Run", bound=Named)
_Texts = Callable[[Names, str], Iterable[str]]


def _beginning(texts: Iterable[str], name: str) -> list[str]:
    return [text for text in texts if text.startswith(name)]


def _match_beginnings(run: Names, name: str) -> list[str]:
    return _beginning([run.experiment], name) or [f"{text} {run.ids}" for text in _beginning([run.variant], name)]


_TIERS: tuple[_Texts, ...] = (  # the texts of a run that a name matches; the first that any run answers to decides
    lambda run, name: [text for text in run.ids if text == name],
    lambda run, name: [run.experiment] if run.experiment == name else [],
    lambda run, name: [f"{run.variant} {run.ids}"] if run.variant == name else [],
    lambda run, name: _beginning(run.ids, name) if len(name) >= LEAST_OF_AN_ID else [],
)


def candidates(name: str, runs: Sequence[Run]) -> list[Run]:
    """Return the runs that a name may mean: of several attempts at one thing the newest."""
    for texts in _TIERS:
        if matches := _newest_of_each(name, runs, texts):
            return matches
    there = run_at(name)
    if there and (matches := [run for run in runs if there.run_id and run.names.run_id == there.run_id]):
        return matches[:1]
    if there and (matches := [run for run in runs if there.fingerprint and run.names.fingerprint == there.fingerprint]):
        return [max(matches, key=lambda run: run.names.began)]
    return [] if there else _newest_of_each(name, runs, _match_beginnings)


def resolve(name: str, runs: Sequence[Run]) -> Run:
    """Return the one run that a name means."""
    if matches := candidates(name, runs):
        return require_one(name, matches)
    raise unknown(name, runs)


def require_one(name: str, matches: Sequence[Run]) -> Run:
    if len(matches) == 1:
        return matches[0]
    those = ", ".join(" ".join(filter(None, [run.names.label, run.names.state])) for run in matches[:LISTED])
    raise WorkspaceError(f"{name}: must name one run, got {len(matches)}: {those}; give more of its name")


def unknown(name: str, runs: Sequence[Named], more: str = "") -> WorkspaceError:
    """Return the error for a name that no run has; `more` is what this command takes besides."""
    known = {text for run in runs[:LISTED] for text in (run.names.short, run.names.experiment) if text}
    return WorkspaceError(f"{name}: no run is known by this name; {KINDS}{more}; {choices(name, known)}")


def find_tracked(name: str, target: Target, more: str = "") -> Names:
    """Return the run that a name means. It is known to the store, has a journal here or has its result in git."""
    runs, trouble = tracked_runs(target)
    if matches := candidates(name, runs):
        return require_one(name, matches)
    if there := run_at(name):
        return there
    if trouble:
        raise WorkspaceError(f"{name}: no run here has this name, and {trouble}")
    raise unknown(name, runs, more)


def run_at(revision: str) -> Names | None:
    """Return the run whose result a git revision or a DVC experiment holds."""
    result = result_of(revision) if revision.strip() == revision != "" else None
    return names_of_result(result, revision) if result and result.run_yaml else None


def names_of_result(result: Result, revision: str = "") -> Names:
    fingerprint = result.state.lineage.fingerprint or ""
    return Names(result.run_id or "", fingerprint, "", result.experiment or "", result.name, revision)


def tracked_runs(target: Target) -> tuple[list[Names], WorkspaceError | None]:
    """Return the runs of the store, those with a journal here, and the one whose result is in the workspace; and the
    reason why the store does not answer.
    """
    trouble: WorkspaceError | None = None
    stored: list[StoredRun] = []
    try:
        stored = stored_runs(target)
    except WorkspaceError as error:
        trouble = error
    runs = [run.names for run in [*stored, *journaled_runs({run.run_id for run in stored})]]
    here = names_of_result(result_here())
    is_known = not here.run_id or here.run_id in {run.run_id for run in runs}
    return (runs if is_known else [*runs, here]), trouble


def stored_runs(target: Target) -> list[StoredRun]:
    from bakeoff.tracking.store.read_runs import runs_in

    stored = runs_in(target)
    return stored[1] if stored else []


def _newest_of_each(name: str, runs: Sequence[Run], texts: _Texts) -> list[Run]:
    newest: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: -run.names.began):
        for text in texts(run.names, name):
            newest.setdefault(text, run)
    return list({id(run): run for run in newest.values()}.values())
