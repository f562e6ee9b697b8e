"""The page's addresses, the server that answers them, and what it sends to pages that are open."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bakeoff.app.web import activity, comparing, dataset_pages, label_pages, runs, train_form, uploads
from bakeoff.app.web.responses import BadRequest, show_fault, show_missing, show_problem, show_static
from bakeoff.app.web.security import Guard, ServerAddress
from bakeoff.foundation.errors import BakeoffError

SECONDS_TO_FINISH = 1  # of a server that ends while pages listen
SECONDS_BETWEEN_UPDATES = 1.0
SECONDS_OF_SILENCE = 15.0  # after which a comment is sent, so that a connection that broke is noticed
Parts = dict[str, str]  # HTML by the id of its element
PartsReader = Callable[[], Parts]


def make_app(door: ServerAddress) -> Starlette:
    """Return the page of the workspace that this process stands in."""
    routes = [
        *runs.ROUTES, *comparing.ROUTES, *train_form.ROUTES, *dataset_pages.ROUTES, *uploads.ROUTES,
        *label_pages.ROUTES, *activity.ROUTES,
        Route("/events", send_events), Route("/static/{name}", show_static),
    ]  # fmt: skip
    handlers = {BakeoffError: show_problem, OSError: show_fault, 404: show_missing, 405: show_missing}
    return Starlette(routes=routes, middleware=[Middleware(Guard, door=door)], exception_handlers=handlers)


def make_server(door: ServerAddress) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            make_app(door), log_level="warning", timeout_graceful_shutdown=SECONDS_TO_FINISH,
            server_header=False, date_header=False, ws="none", lifespan="off",
        )
    )  # fmt: skip


async def send_events(request: Request) -> Response:
    """Send the parts of a page that change while it is open, as server-sent events: each a JSON of part -> HTML.

    Only what has changed is sent. A browser connects again by itself after a break, and then gets everything.
    """
    kind, name = request.query_params.get("of", ""), request.query_params.get("name", "")
    readers: dict[str, PartsReader] = {
        "runs": runs.list_parts,
        "run": lambda: runs.run_parts(name),
        "errand": lambda: activity.errand_parts(name),
        "activity": activity.strip_parts,
    }
    if kind not in readers:
        raise BadRequest(f"of: must be one of {', '.join(readers)}")
    first = await run_in_threadpool(readers[kind])  # raises at once if something is wrong
    events = _follow(request, readers[kind], first)
    return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _follow(request: Request, read_parts: PartsReader, parts: Parts) -> AsyncIterator[str]:
    sent: Parts = {}
    silent = 0.0
    yield "retry: 2000\n\n"
    while not await request.is_disconnected():
        news = {part: html for part, html in parts.items() if sent.get(part) != html}
        gone = sent.keys() - parts.keys()
        if news or gone:
            yield f"data: {json.dumps({**news, **dict.fromkeys(gone, '')})}\n\n"
            sent, silent = parts, 0.0
        elif silent >= SECONDS_OF_SILENCE:
            yield ": still here\n\n"
            silent = 0.0
        await asyncio.sleep(SECONDS_BETWEEN_UPDATES)
        silent += SECONDS_BETWEEN_UPDATES
        try:
            parts = await run_in_threadpool(read_parts)
        except BakeoffError:  # such as a run that was removed
            return
