"""What the page has done: the commands of errands, how they stand and what they printed."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web import background_commands
from bakeoff.app.web.background_commands import BackgroundCommand
from bakeoff.app.web.refusals import NotFound
from bakeoff.app.web.responses import plain, show_page
from bakeoff.app.web.work_steps import list_steps
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.foundation.html import template

SHOWN = 3  # on every page


def find_errand(name: str) -> BackgroundCommand:
    errand = background_commands.load(name)
    if errand is None:
        raise NotFound(f"{name!r}: no such errand; it may have been removed")
    return errand


def answer_with(errand: BackgroundCommand) -> Response:
    """Return the address of the page that shows an errand, for a script."""
    return JSONResponse({"errand": errand.id, "goto": f"/activity/{errand.id}"})


def common_parts(runs: Sequence[KnownRun] | None = None) -> dict[str, str]:
    """Return what every page shows: how far each step is, and the last errands."""
    errands = background_commands.list_recent(SHOWN)
    return {
        "steps": str(template.render("web_steps.html.jinja", steps=list_steps(runs), tab="")),
        "activity": str(template.render("web_activity_strip.html.jinja", errands=errands)),
    }


def errand_parts(name: str) -> dict[str, str]:
    errand = find_errand(name)
    return common_parts() | {"errand": str(template.render("web_errand_part.html.jinja", errand=errand))}


@plain
def show_activity(request: Request) -> Response:
    return show_page("web_activity.html.jinja", "", "What was done here", errands=background_commands.list_recent())


@plain
def show_errand(request: Request) -> Response:
    errand = find_errand(request.path_params["name"])
    return show_page("web_errand.html.jinja", "", errand.title, errand=errand)


ROUTES = [
    Route("/activity", show_activity),
    Route("/activity/{name}", show_errand),
]
