"""Parts of pages that change while they are open: server-sent events, each a JSON of part -> HTML.

A part is the element of that id. Only what has changed is sent. A browser connects again by itself after a break, and
then gets everything.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bakeoff.app.web import activity, runs
from bakeoff.app.web.responses import Refused
from bakeoff.foundation.errors import BakeoffError

SECONDS_BETWEEN_UPDATES = 1.0
SECONDS_OF_SILENCE = 15.0  # after which a comment is sent, so that a connection that broke is noticed
Parts = dict[str, str]
PartsReader = Callable[[], Parts]


async def send_events(request: Request) -> Response:
    kind, name = request.query_params.get("of", ""), request.query_params.get("name", "")
    readers: dict[str, PartsReader] = {
        "runs": runs.list_parts,
        "run": lambda: runs.run_parts(name),
        "errand": lambda: activity.errand_parts(name),
        "activity": activity.strip_parts,
    }
    if kind not in readers:
        raise Refused(f"of: must be one of {', '.join(readers)}")
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
