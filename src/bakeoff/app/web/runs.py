"""The runs: a list of all, a page of each with its curves and pictures, and what can be done with it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bakeoff.app.web import background_commands
from bakeoff.app.web.activity import answer_with, common_parts
from bakeoff.app.web.background_commands import BackgroundCommand
from bakeoff.app.web.downloads import sends_zip
from bakeoff.app.web.refusals import NotFound
from bakeoff.app.web.responses import Tree, changes, plain, show_page, show_report, text_of
from bakeoff.app.web.robot_zip import pack
from bakeoff.app.web.run_rows import list_rows, make_first_row, make_row, name_run
from bakeoff.app.web.safe_paths import require_file, require_inside
from bakeoff.app.web.training_progress import (
    RESUME,
    Preparation,
    QueueView,
    find_job,
    find_manifest_of,
    is_start,
    sweep_of,
)
from bakeoff.app.web.work_steps import MODELS, list_steps
from bakeoff.experiments.runs.curve_drawings import draw_curves, read_estimate
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs, read_run
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.team_quota import Account, count_minutes, load_team
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import format_size
from bakeoff.foundation.html import template
from bakeoff.tracking.results.run_id import SHOWN_OF_ID, SWEEP_EXPERIMENT
from bakeoff.tracking.store.ui_server import HOST, read_first_address

SAMPLES = "samples"  # a folder of the run, with a sheet for each validation pass
SHEET = re.compile(r"\d{8,}\.jpg")
MLFLOW_PORTS = range(5000, 5020)


def find_training(name: str) -> KnownRun | Preparation:
    """Return a run, or the training by the errand that prepares it."""
    if not background_commands.NAME.fullmatch(name) or (errand := background_commands.load(name)) is None:
        return find_run(name)
    training = Preparation(errand)
    run = next((run for run in known_runs() if training.sweep and sweep_of(run) == training.sweep), None)
    if run is None and (training.is_over or not any(map(is_start, errand.commands))):
        raise NotFound(f"{name}: no such run; it may have been removed")
    return run or training


def find_run(name: str) -> KnownRun:
    """Return a run by the name of its folder, or by the one that every list shows; one that has left the queue by that
    of its experiment.
    """
    runs = known_runs()
    for root in (workspace.runs(), workspace.queued()):
        folder = require_inside(root, name)
        if "/" not in name and folder.is_dir():
            return next((run for run in runs if folder in (run.folder.resolve(), run.folder)), None) or read_run(folder)
    for run in runs:
        if run.status and run.status.experiment == name:
            return run
    called = [run for run in runs if name_run(run) == name] if len(name) == SHOWN_OF_ID else []
    if len(called) == 1:
        return called[0]
    raise NotFound(f"{name}: no such run; it may have been removed")


def list_parts() -> dict[str, str]:
    """Return the list as parts: each row by itself, so that one that changes leaves the others alone."""
    runs = known_runs()
    rows = list_rows(runs)
    parts = {f"run-{row.id}": str(template.render("web_run_row.html.jinja", row=row)) for row in rows}
    order = " ".join(part for part in parts)
    budget = str(template.render("web_budget.html.jinja", accounts=list_accounts(runs)))
    return {"order": order, **parts, "budget": budget, **common_parts(runs)}


def list_accounts(runs: Sequence[KnownRun] | None = None) -> list[Account]:
    """Return what conf/team.yaml leaves of the minutes of the team and its people; nothing without such a file."""
    team = load_team()
    return [] if team is None else count_minutes(team, runs)


@plain
def show_list(request: Request) -> Response:
    runs = known_runs()
    rows = list_rows(runs)
    return show_page("web_models.html.jinja", MODELS, "Models", rows=rows, accounts=list_accounts(runs))


@plain
def lead_on(request: Request) -> Response:
    """Send the browser to the step that is next."""
    return RedirectResponse(next((step.address for step in list_steps() if step.is_next), MODELS), 303)


def run_parts(name: str) -> dict[str, str]:
    training = find_training(name)
    facts = _first_facts(training) if isinstance(training, Preparation) else _facts(training)
    names = {"run": "web_run_part.html.jinja", "run-head": "web_run_head.html.jinja"}
    return {**{part: str(template.render(file, **facts)) for part, file in names.items()}, **common_parts()}


def _first_facts(training: Preparation) -> dict[str, Any]:
    """Return the same of a training that has no run yet."""
    return {
        "title": "A new training", "row": make_first_row(training), "errand": training.errand, "memory": "",
        "estimate": None, "curves": [], "sheets": [], "can_resume": False, "has_ended": False,
        "report": False, "is_judged": False, "is_left": QueueView().is_left(training.sweep),
    }  # fmt: skip


def _facts(run: KnownRun) -> dict[str, Any]:
    """Return what the part of a run's page that changes shows."""
    status, queue = run.status, QueueView()
    return {
        "row": (row := make_row(run, queue)),
        "title": f"Run {row.name}",
        "errand": None,
        "memory": format_size(status.machine.resident_bytes) if status and status.machine.resident_bytes else "",
        "estimate": read_estimate(run.run_id),
        "curves": draw_curves(run.run_id, status.steps if status else 0),
        "sheets": list_sheets(run),
        "can_resume": can_go_on(run) and not row.waits and (run.state.is_live or not row.is_live),
        "has_ended": not row.is_live and run.can_resume(),
        "report": report_of(run).is_file(),
        "is_left": queue.is_left(sweep_of(run)),
        "is_judged": row.state == State.SUCCEEDED and bool(run.run_id),
    }


def can_go_on(run: KnownRun) -> bool:
    """Return whether a training can resume: one that stopped or failed, also in a stage after it, or before its first
    checkpoint; and one that is about to stop.
    """
    if run.state in (State.STOP_REQUESTED, State.STOPPING):
        return bool(sweep_of(run)) and run.place is None and not run.waits
    job = find_job(run)
    is_unfinished = job is not None and not job.state.is_final
    return not run.state.is_live and (is_unfinished or (run.state != State.SUCCEEDED and run.can_resume()))


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
    training = find_training(request.path_params["name"])
    if isinstance(training, Preparation):
        facts, address = _first_facts(training), training.id
    else:
        facts, address = _facts(training), request.path_params["name"]
    return show_page("web_run.html.jinja", MODELS, facts.pop("title"), address=address, **facts)


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
    training, what, key = find_training(request.path_params["name"]), text_of(tree, "what"), text_of(tree, "key")
    if what == "queue":
        background_commands.begin_queue()
        return JSONResponse({"goto": f"/runs/{request.path_params['name']}"})
    if isinstance(training, Preparation):
        old = training.errand
        if what != "again" or old.state == "runs":
            raise WorkspaceError(f"{old.title}: has no run yet, so there is nothing to {what}")
        new = background_commands.begin(key, old.title, old.commands, notes=old.notes, after=old.after)
        return JSONResponse({"errand": new.id, "goto": f"/runs/{new.id}"})
    run, name = training, make_row(training).name
    if what == "stop":
        if not run.state.is_live:
            raise WorkspaceError(f"{name} is {run.state}: it is not under way, so there is nothing to stop")
        command = ["bakeoff", "stop", run.run_id or run.fingerprint]
        return lead_to_run(run, background_commands.begin(key, f"Stop {name}", [command]))
    if what == "resume" and can_go_on(run):
        return lead_to_run(run, background_commands.begin(key, f"Resume {name}", _way_on(run)))
    if run.state.is_live:
        raise WorkspaceError(f"{name} is {run.state}; stop it first")
    if what == "resume":
        raise WorkspaceError(f"{name} is {run.state} and has no checkpoint to go on from; train more, or start anew")
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


def lead_to_run(run: KnownRun, errand: BackgroundCommand) -> Response:
    """Return the address of the page of a run, where what an errand does to it shows."""
    return JSONResponse({"errand": errand.id, "goto": f"/runs/{run.fingerprint}"})


def _way_on(run: KnownRun) -> list[Sequence[str]]:
    """Return the commands that train a run to its end: in its turn, which comes also while something else runs."""
    if find_manifest_of(run) is None:
        return [["bakeoff", "repro"]]
    return [[*RESUME, sweep_of(run)], background_commands.QUEUE]


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
