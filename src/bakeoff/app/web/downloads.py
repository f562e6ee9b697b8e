"""Zips for a browser: a few at once, and none for a browser that went away."""

from collections.abc import Callable
from functools import wraps
from typing import IO

import anyio
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from bakeoff.app.web.refusals import Busy
from bakeoff.app.web.responses import View

MOST = 32  # downloads at once; each takes two descriptors, and room on the disk for its zip
PACKED_AT_ONCE = 2  # so that other pages find free threads
PIECE = 1 << 16  # bytes that are read at once


class DownloadSlots:
    """The downloads that are under way."""

    def __init__(self) -> None:
        self.packers = anyio.CapacityLimiter(PACKED_AT_ONCE)
        self._taken = 0

    def take(self) -> None:
        if self._taken >= MOST:
            raise Busy(f"{MOST} downloads are under way, and there are no more at once; try again in a minute")
        self._taken += 1

    def leave(self) -> None:
        self._taken -= 1


def sends_zip(pack: Callable[[Request], tuple[IO[bytes], str]]) -> View:
    """Make a view of a function that packs a zip, and returns it as an open file with its name."""

    @wraps(pack)
    async def view(request: Request) -> Response:
        slots: DownloadSlots = request.app.state.downloads
        slots.take()
        try:
            async with slots.packers:
                if await request.is_disconnected():
                    raise ClientDisconnect
                file, called = await run_in_threadpool(pack, request)
        except BaseException:
            slots.leave()
            raise
        headers = {"content-length": str(file.tell()), "content-disposition": f'attachment; filename="{called}"'}
        file.seek(0)
        pieces = iter(lambda: file.read(PIECE), b"")
        end = BackgroundTask(_end, file, slots)
        return StreamingResponse(pieces, media_type="application/zip", headers=headers, background=end)

    return view


async def _end(file: IO[bytes], slots: DownloadSlots) -> None:
    """Free what a download has taken, however it ended."""
    file.close()
    slots.leave()
