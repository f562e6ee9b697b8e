"""The functions of `import bakeoff`. Each does what the command of its name does, and returns values."""

import os
from typing import TYPE_CHECKING

from bakeoff.app.api.choose_runs import RunQuery
from bakeoff.app.api.in_workspace import in_workspace
from bakeoff.app.api.run_handle import RunHandle
from bakeoff.app.api.run_list import RunList, list_runs
from bakeoff.app.api.training import run_command
from bakeoff.foundation.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from bakeoff.experiments.compare.comparison_verdict import ComparisonVerdict
    from bakeoff.experiments.planning.plan import Plan

    Which: TypeAlias = "str | os.PathLike[str] | RunHandle"
    Several: TypeAlias = "str | Sequence[str]"

HERE = "."


@in_workspace
def runs(
    *, recent: int | None = None, on: str | None = None, metric: "Several" = (), filter: "Several" = (),
    sort: str | None = None, top: int | None = None, uri: str | None = None, experiment: str | None = None,
) -> RunList:  # fmt: skip
    """Return runs of this workspace, the best of the newest first: `bakeoff compare --no-fold`.

    `filter="lr.use=cosine"` keeps those that match, `sort="time"` and `top=5` are as on the command line.
    """
    return list_runs(
        RunQuery(
            recent=recent, on=on, metric=_texts(metric), filter=_texts(filter), sort=sort, top=top, no_fold=True,
            uri=uri, experiment=experiment, needs_all=True,
        )
    )  # fmt: skip


@in_workspace
def run(name: "Which | None" = None) -> RunHandle:
    """Return a run by any of its names, as every command takes them; without a name, the workspace's own."""
    found = list_runs(RunQuery(which=(HERE if name is None else _name(name),), no_fold=True, needs_all=True))
    if len(found) != 1:
        raise WorkspaceError(f"{name}: must name one run, got the {len(found)} of a sweep")
    return found.runs[0]


@in_workspace
def compare(
    *which: "Which", recent: int | None = None, on: str | None = None, metric: "Several" = (), filter: "Several" = (),
    sort: str | None = None, top: int | None = None, uri: str | None = None, experiment: str | None = None,
) -> RunList:  # fmt: skip
    """Return runs side by side: what they differ in, numbers, cost. It is `bakeoff compare`.

    Runs go by any of their names, or are what `bakeoff.runs()` holds; the name of a sweep stands for its runs.
    """
    return list_runs(
        RunQuery(
            which=tuple(map(_name, which)), recent=recent, on=on, metric=_texts(metric), filter=_texts(filter),
            sort=sort, top=top, uri=uri, experiment=experiment, needs_all=True,
        )
    )  # fmt: skip


@in_workspace
def better(
    a: "Which", b: "Which", *, on: str | None = None, metric: str | None = None, group: str | None = None,
    samples: int | None = None,
) -> "ComparisonVerdict":  # fmt: skip
    """Return whether run B is better than run A, on the examples that both were evaluated on: `bakeoff better`.

    `better(a, b).difference` has the difference with its interval, and `.tree` all of it.
    """
    from bakeoff.experiments.compare.load_runs import gather
    from bakeoff.experiments.compare.verdict_text import judge_named

    return judge_named(gather(), (_name(a), _name(b)), on, metric=metric, group=group, samples=samples)


@in_workspace
def plan(*overrides: str, probe: bool = False) -> "Plan":
    """Return what the variant needs and does, changed by Hydra's overrides: `bakeoff plan lr.peak=0.01`."""
    from bakeoff.experiments.planning.plan import make_plan

    return make_plan(overrides, probe=probe)


@in_workspace
def train(*overrides: str, note: str | None = None) -> RunHandle:
    """Train the variant of params.yaml by DVC's stages, and return its run: `bakeoff repro`.

    With overrides such as `lr.peak=0.01` it is a DVC experiment beside the workspace: `bakeoff sweep lr.peak=0.01`.
    What is printed appears meanwhile. Ctrl-C, or a notebook's stop, saves the training; the same call resumes it.
    """
    if not overrides:
        run_command("repro", *(["--note", note] if note else []))
        return run()
    found = sweep(*overrides, note=note)
    if len(found) != 1:
        raise WorkspaceError(f"train: must be one variant, got {len(found)}; bakeoff.sweep trains several")
    return found.runs[0]


@in_workspace
def sweep(*overrides: str, jobs: int | None = None, note: str | None = None, until: str | None = None) -> RunList:
    """Train every combination of a few values, such as `lr=cosine,exponential`, and compare them: `bakeoff sweep`.

    `until="evaluate"` leaves the export out.
    """
    from bakeoff.experiments.sweep.sweep_manifest import all_ids

    before = set(all_ids())
    given = {"--jobs": jobs, "--note": note, "--until": until}
    options = [word for option, value in given.items() if value for word in (option, str(value))]
    run_command("sweep", *overrides, "--yes", "--follow", *options)
    made = [name for name in all_ids() if name not in before]
    if not made:
        raise WorkspaceError("sweep: it began none")
    return list_runs(RunQuery(sweep=made[-1], no_fold=True, needs_all=True))


def _name(which: "Which") -> str:
    if isinstance(which, RunHandle):
        return which.called
    return which if isinstance(which, str) else os.fspath(which)


def _texts(given: "Several") -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
