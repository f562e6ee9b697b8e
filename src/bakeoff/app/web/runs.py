"""The runs: a list of all, a page of each with its curves and pictures, and what can be done with it."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bakeoff.app.web import background_commands
from bakeoff.app.web.activity import answer_with, strip_parts
from bakeoff.app.web.downloads import sends_zip
from bakeoff.app.web.refusals import NotFound
from bakeoff.app.web.responses import Tree, changes, plain, show_page, show_report, text_of
from bakeoff.app.web.robot_zip import pack
from bakeoff.app.web.safe_paths import require_file, require_inside
from bakeoff.app.web.work_steps import MODELS, list_steps
from bakeoff.experiments.runs.curve_drawings import draw_curves, read_estimate
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs, read_run
from bakeoff.experiments.runs.run_status import State, Status, headline_of
from bakeoff.experiments.sweep.sweep_manifest import FILE as MANIFEST
from bakeoff.experiments.sweep.team_quota import Account, count_minutes, load_team
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_json
from bakeoff.foundation.formatting import format_duration, format_size
from bakeoff.foundation.html import template
from bakeoff.learning.plan.run_length import format_done, is_endless
from bakeoff.tracking.results.run_id import SHOWN_OF_ID, SWEEP_EXPERIMENT
from bakeoff.tracking.store.ui_server import HOST, read_first_address

SAMPLES = "samples"  # a folder of the run, with a sheet for each validation pass
SHEET = re.compile(r"\d{8,}\.jpg")
ENDS = {"max_minutes": "ended by its longest time", "early_stopping": "ended early, for it got no better"}
MLFLOW_PORTS = range(5000, 5020)


@dataclass(frozen=True)
class Row:
    """A run as the list shows it."""

    id: str  # the name of its folder, by which the page addresses it
    name: str  # by which every list and every command knows it
    state: str
    is_live: bool
    waits: bool
    variant: str
    note: str
    experiment: str
    steps: str
    share: float | None  # of the steps, from 0 to 1; None of a run without an end
    left: str
    metric: str
    trained: str
    updated: str
    remark: str
    is_comparable: bool


def make_row(run: KnownRun) -> Row:
    status = run.status
    name = _name_run(run)
    updated = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.updated))
    if status is None:
        return Row(run.fingerprint, name, run.state.value, False, False, "", "", "", "", 0, "", "", "", updated,
                   run.unreadable, False)  # fmt: skip
    headline = headline_of(status.metrics)
    is_left = run.state.is_live and status.seconds_left is not None and not _has_taken_all_steps(run)
    return Row(
        id=run.fingerprint, name=name, state=run.state.value, is_live=run.state.is_live, waits=run.waits,
        variant=status.name, note=_find_note(run), experiment=status.experiment or "",
        steps=format_done(status.steps_done, status.steps),
        share=_share_done(status),
        left=format_duration(status.seconds_left or 0.0) if is_left else "",
        metric=f"{headline[0]} {headline[1]:.3f}" if headline else "",
        trained=format_duration(status.training_seconds) if status.training_seconds else "",
        updated="" if run.state.is_live else updated, remark=_describe(run),
        is_comparable=bool(run.run_id) and not run.state.is_live and headline is not None,
    )  # fmt: skip


def _name_run(run: KnownRun) -> str:
    return run.fingerprint if run.waits else (run.run_id or run.fingerprint)[:SHOWN_OF_ID]


def _find_note(run: KnownRun) -> str:
    """Return the note with which a run of the queue was asked for."""
    match = SWEEP_EXPERIMENT.fullmatch(run.status.experiment or "") if run.status else None
    file = workspace.sweeps() / match[1] / MANIFEST if match else None
    return _read_note(file, file.stat().st_mtime_ns) if file is not None and file.is_file() else ""


@lru_cache(maxsize=1024)
def _read_note(file: Path, changed: int) -> str:
    note = read_json(file).get("note")
    return note if isinstance(note, str) else ""


def _share_done(status: Status) -> float | None:
    """Return the share of the steps that are done; None of a run without an end."""
    if is_endless(status.steps):
        return None
    return status.steps_done / status.steps if status.steps else 0.0


def _has_taken_all_steps(run: KnownRun) -> bool:
    status = run.status
    return run.state == State.RUNNING and status is not None and 0 < status.steps <= status.steps_done


def _describe(run: KnownRun) -> str:
    if _has_taken_all_steps(run):
        return "all steps are done; it evaluates"
    if run.failure:
        return f"{run.failure.kind}: {run.failure.message}"
    ended = run.status.ended_by if run.status and not run.state.is_live else None
    return ENDS.get(ended or "", "")


def find_run(name: str) -> KnownRun:
    """Return a run by the name of its folder, or by the one that every list shows; one that has left the queue by that
    of its experiment.
    """
    for root in (workspace.runs(), workspace.queued()):
        folder = require_inside(root, name)
        if "/" not in name and folder.is_dir():
            return read_run(folder)
    runs = known_runs()
    for run in runs:
        if run.status and run.status.experiment == name:
            return run
    called = [run for run in runs if _name_run(run) == name] if len(name) == SHOWN_OF_ID else []
    if len(called) == 1:
        return called[0]
    raise NotFound(f"{name}: no such run; it may have been removed")


def list_parts() -> dict[str, str]:
    """Return the list as parts: each row by itself, so that one that changes leaves the others alone."""
    runs = known_runs()
    rows = [make_row(run) for run in runs]
    parts = {f"run-{row.id}": str(template.render("web_run_row.html.jinja", row=row)) for row in rows}
    order = " ".join(part for part in parts)
    budget = str(template.render("web_budget.html.jinja", accounts=list_accounts(runs)))
    return {"order": order, **parts, "budget": budget, **strip_parts()}


def list_accounts(runs: Sequence[KnownRun] | None = None) -> list[Account]:
    """Return what conf/team.yaml leaves of the minutes of the team and its people; nothing without such a file."""
    team = load_team()
    return [] if team is None else count_minutes(team, runs)


@plain
def show_list(request: Request) -> Response:
    runs = known_runs()
    rows = [make_row(run) for run in runs]
    return show_page("web_models.html.jinja", MODELS, "Models", rows=rows, accounts=list_accounts(runs))


@plain
def lead_on(request: Request) -> Response:
    """Send the browser to the step that is next."""
    return RedirectResponse(next((step.address for step in list_steps() if step.is_next), MODELS), 303)


def run_parts(name: str) -> dict[str, str]:
    run = find_run(name)
    return {"run": str(template.render("web_run_part.html.jinja", **_facts(run))), **strip_parts()}


def _facts(run: KnownRun) -> dict[str, Any]:
    """Return what the part of a run's page that changes shows."""
    status = run.status
    return {
        "row": make_row(run),
        "memory": format_size(status.machine.resident_bytes) if status and status.machine.resident_bytes else "",
        "estimate": read_estimate(run.run_id),
        "curves": draw_curves(run.run_id, status.steps if status else 0),
        "sheets": list_sheets(run),
        "can_resume": not run.state.is_live and run.state != State.SUCCEEDED and run.can_resume(),
        "has_ended": not run.state.is_live and run.can_resume(),
        "report": report_of(run).is_file(),
        "is_judged": run.state == State.SUCCEEDED and bool(run.run_id),
    }


def list_sheets(run: KnownRun) -> list[tuple[int, str]]:
    """Return the step and the file of the sheet of samples of each validation pass."""
    folder = run.folder / SAMPLES
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [(int(Path(name).stem), name) for name in names if SHEET.fullmatch(name)]


def report_of(run: KnownRun) -> Path:
    """Return the page of its evaluation, whether or not there is one."""
    return workspace.results() / f"{run.fingerprint}.html"


@plain
def show_run(request: Request) -> Response:
    run = find_run(request.path_params["name"])
    return show_page("web_run.html.jinja", MODELS, f"Run {make_row(run).name}", run=run, **_facts(run))


@plain
def show_sheet(request: Request) -> Response:
    run, name = find_run(request.path_params["name"]), request.path_params["sheet"]
    if not SHEET.fullmatch(name):
        raise NotFound(f"{name}: no such sheet of pictures")
    path = require_file(run.folder / SAMPLES, name)
    return Response(path.read_bytes(), media_type="image/jpeg", headers={"cache-control": "max-age=86400"})


@plain
def show_evaluation(request: Request) -> Response:
    path = report_of(find_run(request.path_params["name"]))
    if not path.is_file():
        raise NotFound("this run has not been evaluated; `dvc repro` does that")
    return show_report(path)


@sends_zip
def download(request: Request) -> tuple[IO[bytes], str]:
    return pack(find_run(request.path_params["name"]))


@plain
def lead_to_mlflow(request: Request) -> Response:
    """Send the browser to the run in the UI of MLflow that runs on this machine."""
    run = find_run(request.path_params["name"])
    mlflow_id = run.names.mlflow_id
    if not mlflow_id:
        raise NotFound("MLflow does not know this run (yet); `bakeoff track sync` tells it")
    for port in MLFLOW_PORTS:
        if read_first_address(port, seconds=1):
            return RedirectResponse(f"http://{HOST}:{port}/#/runs/{mlflow_id}", 303)
    raise WorkspaceError("MLflow's own pages are not open; type `bakeoff ui` in a terminal, then follow the link again")


@plain
def show_removal(request: Request) -> Response:
    """Return the page that lists what is removed with a run, and what depends on it, before it is removed."""
    from bakeoff.experiments.runs.cleanup import named_by, these_runs

    run = find_run(request.path_params["name"])
    [leftover] = these_runs([run], [one for one in known_runs() if not one.waits], named_by())
    commands = [" ".join(command) for command in _removal(run, leftover.named_by)]
    return show_page(
        "web_removal.html.jinja", MODELS, f"Remove run {make_row(run).name}", run=run, leftover=leftover,
        size=format_size(leftover.bytes), commands_to_run=commands,
    )  # fmt: skip


def _removal(run: KnownRun, named: tuple[str, ...]) -> list[list[str]]:
    experiment = run.status.experiment if run.status else None
    gone = [["dvc", "exp", "remove", experiment]] if experiment and experiment in named else []
    return [*gone, ["bakeoff", "clean", run.run_id or run.fingerprint, "--yes"]]


@changes
def act(request: Request, tree: Tree) -> Response:
    """Stop a run, resume it, apply it to the workspace or remove it: by the command that does so."""
    run, what, key = find_run(request.path_params["name"]), text_of(tree, "what"), text_of(tree, "key")
    name = make_row(run).name
    if what == "stop":
        if not run.state.is_live:
            raise WorkspaceError(f"{name} is {run.state}: it is not under way, so there is nothing to stop")
        return answer_with(
            background_commands.begin(key, f"Stop {name}", [["bakeoff", "stop", run.run_id or run.fingerprint]])
        )
    if run.state.is_live:
        raise WorkspaceError(f"{name} is {run.state}; stop it first")
    if what == "resume":
        return answer_with(background_commands.begin(key, f"Resume {name}", [_way_on(run)]))
    if what == "register":
        command = ["bakeoff", "register", run.run_id or run.fingerprint]
        return answer_with(background_commands.begin(key, f"Register {name}", [command]))
    from bakeoff.experiments.runs.cleanup import named_by

    named = tuple(named_by().get(run.fingerprint, ()))
    if what == "take":
        experiment = next((one for one in named if SWEEP_EXPERIMENT.fullmatch(one)), None)
        if experiment is None:
            raise WorkspaceError(f"{name}: no experiment holds its result, so there is nothing to apply")
        return answer_with(background_commands.begin(key, f"Apply {name}", [["dvc", "exp", "apply", experiment]]))
    if what == "remove":
        return answer_with(background_commands.begin(key, f"Remove {name}", _removal(run, named), after="/models"))
    raise WorkspaceError(f"{what!r}: must be stop, resume, register, take or remove; reload the page")


def _way_on(run: KnownRun) -> list[str]:
    """Return the command that trains a run to its end."""
    match = SWEEP_EXPERIMENT.fullmatch(run.status.experiment or "") if run.status else None
    return ["bakeoff", "sweep", "--resume", match[1], "--as-begun"] if match else ["bakeoff", "repro"]


ROUTES = [
    Route("/", lead_on),
    Route("/models", show_list),
    Route("/runs/{name}", show_run),
    Route("/runs/{name}/sheets/{sheet}", show_sheet),
    Route("/runs/{name}/report", show_evaluation),
    Route("/runs/{name}/download", download),
    Route("/runs/{name}/mlflow", lead_to_mlflow),
    Route("/runs/{name}/remove", show_removal),
    Route("/runs/{name}/act", act, methods=["POST"]),
]
