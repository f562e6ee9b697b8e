"""The page's addresses, and the server that answers them."""

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from bakeoff.app.web import activity, comparing, dataset_pages, labels, runs, server_events, train_form, uploads
from bakeoff.app.web.responses import show_fault, show_missing, show_problem, show_static
from bakeoff.app.web.security import Door, Guard
from bakeoff.foundation.errors import BakeoffError, WorkspaceError

SECONDS_TO_FINISH = 1  # of a server that ends while pages listen


def make_app(door: Door) -> Starlette:
    """Return the page of the workspace that this process stands in."""
    routes = [
        *runs.ROUTES, *comparing.ROUTES, *train_form.ROUTES, *dataset_pages.ROUTES, *uploads.ROUTES, *labels.ROUTES,
        *activity.ROUTES,
        Route("/events", server_events.send_events), Route("/static/{name}", show_static),
    ]  # fmt: skip
    handlers = {BakeoffError: show_problem, OSError: show_fault, 404: show_missing, 405: show_missing}
    return Starlette(routes=routes, middleware=[Middleware(Guard, door=door)], exception_handlers=handlers)


def bind(host: str, port: int | None, ports: range) -> socket.socket:
    """Return a socket that listens at a port, by default at the first free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in [port] if port is not None else ports:
        place = socket.socket(family)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((host, number))
            place.listen(128)
        except (OSError, OverflowError):
            place.close()
            continue
        return place
    tried = f"port {port} is" if port is not None else f"ports {ports.start} to {ports.stop - 1} are"
    raise WorkspaceError(f"{host}: {tried} taken or not allowed; choose another with --port, or another --host")


def make_server(door: Door) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            make_app(door), log_level="warning", timeout_graceful_shutdown=SECONDS_TO_FINISH,
            server_header=False, date_header=False, ws="none", lifespan="off",
        )
    )  # fmt: skip
