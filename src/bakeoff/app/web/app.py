"""The page's addresses, the server that answers them, and what it sends to pages that are open."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from bakeoff.app.web import (
    activity,
    comparing,
    dataset_pages,
    judgement,
    label_pages,
    label_troubles,
    photo_pages,
    robot_pages,
    runs,
    train_form,
    uploads,
)
from bakeoff.app.web.downloads import DownloadSlots
from bakeoff.app.web.refusals import BadRequest
from bakeoff.app.web.responses import end_quietly, show_fault, show_missing, show_problem, show_static
from bakeoff.app.web.security import Guard, ServerAddress
from bakeoff.foundation.errors import BakeoffError

SECONDS_TO_FINISH = 1  # of a server that ends while pages listen
SECONDS_TO_ASK = 10.0  # for a whole head of a request; browsers send it at once
SECONDS_TO_TAKE = 60.0  # for what is on its way to a browser, about 64 KB, so 1,000 bytes a second
SECONDS_BETWEEN_UPDATES = 1.0
SECONDS_OF_SILENCE = 15.0  # after which a comment is sent, so that a connection that broke is noticed
Parts = dict[str, str]  # HTML by the id of its element
PartsReader = Callable[[], Parts]


def make_app(door: ServerAddress) -> Starlette:
    """Return the page of the workspace that this process stands in."""
    routes = [
        *runs.ROUTES, *judgement.ROUTES, *robot_pages.ROUTES, *comparing.ROUTES, *train_form.ROUTES,
        *dataset_pages.ROUTES, *photo_pages.ROUTES, *uploads.ROUTES, *label_troubles.ROUTES, *label_pages.ROUTES,
        *activity.ROUTES,
        Route("/events", send_events), Route("/static/{name}", show_static),
    ]  # fmt: skip
    handlers = {
        BakeoffError: show_problem, OSError: show_fault, ClientDisconnect: end_quietly, 404: show_missing,
        405: show_missing,
    }  # fmt: skip
    app = Starlette(routes=routes, middleware=[Middleware(Guard, door=door)], exception_handlers=handlers)
    app.state.door, app.state.downloads = door, DownloadSlots()
    return app


class ImpatientProtocol(H11Protocol):
    """Closes a connection that does not send the head of a request in time, or does not take its answer.

    Otherwise a few hundred connections that say nothing would take all descriptors, and lock everybody out.
    """

    _deadline: asyncio.TimerHandle | None = None
    _until_taken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_waiting and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif self._is_waiting and self._deadline is None:
            self._wait_for_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._until_taken = self.loop.call_later(SECONDS_TO_TAKE, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._until_taken is not None:
            self._until_taken.cancel()
            self._until_taken = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, such as a broken body behind a head; the head gets no other answer then."""
        if not self._is_waiting:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # the answer has begun
            self.transport.close()

    @property
    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(SECONDS_TO_ASK, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_waiting:
            self.transport.close()


def make_server(door: ServerAddress) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            make_app(door), log_level="warning", timeout_graceful_shutdown=SECONDS_TO_FINISH,
            server_header=False, date_header=False, ws="none", lifespan="off", http=ImpatientProtocol,
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
        "activity": activity.common_parts,
    }
    if kind not in readers:
        raise BadRequest(f"of: must be one of {', '.join(readers)}")
    first = await run_in_threadpool(readers[kind])  # raises at once if something is wrong
    named: dict[str, Any] = {"media_type": "text/event-stream", "headers": {"x-accel-buffering": "no"}}
    if request.method == "HEAD":  # whoever asks for the head alone gets it, and no events that never end
        return Response(**named)
    return StreamingResponse(_follow(request, readers[kind], first), **named)


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
