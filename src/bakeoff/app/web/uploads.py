"""Files that a browser sends -> `.bakeoff/web/uploads/<key>/`, piece by piece, so that a break loses one piece at most.

A file that is not whole ends in .partial. What an import has taken over is removed, and so is what nobody resumed.
"""

import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web.refusals import BadRequest, Conflict, NoRoom
from bakeoff.app.web.responses import plain
from bakeoff.app.web.safe_paths import own_folder, require_inside
from bakeoff.foundation.errors import DataError, is_disk_full
from bakeoff.foundation.formatting import format_size
from bakeoff.importing.datasets.copying import KEPT_FREE

KEY = re.compile(r"[a-z0-9-]{8,64}")
PARTIAL = ".partial"
MOST_BYTES = 10_000_000_000  # of an upload
MOST_FILES = 100_000
MOST_OF_A_PIECE = 64 << 20
SECONDS_KEPT = 86_400.0
_writers: dict[Path, Request] = {}  # the last request that sends a piece of a file


def folder_of(key: str) -> Path:
    if not KEY.fullmatch(key):
        raise BadRequest("an upload must have a key of 8 to 64 letters and digits; reload the page")
    return own_folder("uploads") / key


def _place(request: Request) -> tuple[Path, Path]:
    """Return the folder of an upload and the file in it that a request is for."""
    folder, name = folder_of(request.path_params["key"]), request.path_params["path"]
    if any(part.startswith(".") for part in Path(name).parts) or name.endswith(PARTIAL):
        raise DataError(f"{name!r}: hidden files are not taken; rename it")
    return folder, require_inside(folder, name)


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isdecimal() or len(text) > 15:
        raise BadRequest(f"{name}: must be a whole number; reload the page")
    return int(text)


@plain
def send_offset(request: Request) -> Response:
    """Return how much of a file is here already."""
    _, file = _place(request)
    return JSONResponse({"offset": _size_here(file)})


def _size_here(file: Path) -> int:
    """Return how many bytes of a file have come."""
    return next((path.stat().st_size for path in (file, _partial(file)) if path.is_file()), 0)


def _partial(file: Path) -> Path:
    return file.with_name(file.name + PARTIAL)


async def take_piece(request: Request) -> Response:
    """Append a piece to a file; the last one makes it whole."""
    folder, file = _place(request)
    offset, size = _number(request, "offset"), _number(request, "size")
    await run_in_threadpool(_require_room, folder, file, size, is_first=offset == 0)
    partial, here = _partial(file), _size_here(file)
    if here != offset:
        raise Conflict(f"{file.name}: {here:,} bytes are here, and the piece begins at {offset:,}", {"offset": here})
    if file.is_file():
        return JSONResponse({"offset": here, "whole": True})
    file.parent.mkdir(parents=True, exist_ok=True)
    _writers[file] = request  # a browser may send a piece again while the server still waits for the rest of it
    try:
        with partial.open("ab") as out:
            async for data in request.stream():
                if _writers.get(file) is not request:
                    raise Conflict(f"{file.name}: another request sends this file", {"offset": _size_here(file)})
                here += len(data)
                if here > size or here - offset > MOST_OF_A_PIECE:
                    raise DataError(
                        f"{file.name}: more came than the {size:,} bytes that were announced; send it again"
                    )
                out.write(data)
                out.flush()
    except OSError as error:
        if is_disk_full(error):
            partial.unlink(missing_ok=True)
        raise
    except DataError:
        partial.unlink(missing_ok=True)
        raise
    finally:
        if _writers.get(file) is request:
            del _writers[file]
    if here == size:
        partial.replace(file)
    return JSONResponse({"offset": here, "whole": here == size})


def _require_room(folder: Path, file: Path, size: int, *, is_first: bool) -> None:
    if is_first:
        tidy()
    name = file.name
    files = [path for path in folder.rglob("*") if path.is_file() and path not in (file, _partial(file))]
    if len(files) >= MOST_FILES:
        raise DataError(f"an upload must have at most {MOST_FILES:,} files; pack a zip, or divide it")
    held = sum(path.stat().st_size for path in files)
    if held + size > MOST_BYTES:
        raise DataError(
            f"{name}: is {(held + size) / 1e9:,.1f} GB, more than the {MOST_BYTES / 1e9:g} GB that a browser may send; "
            "put it into data/raw/ by hand"
        )
    root = own_folder("uploads")
    root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(root).free
    if size - _size_here(file) + KEPT_FREE > free:
        raise NoRoom(
            f"no space left on the disk: {name} needs {format_size(size)}, {format_size(free)} are free, and "
            f"{format_size(KEPT_FREE)} must stay so; free some"
        )


def take_whole(key: str, name: str) -> Path:
    """Return a file or a folder that has come whole. Raises DataError."""
    folder = folder_of(key)
    path = require_inside(folder, name)
    if not path.exists() or any(path.rglob(f"*{PARTIAL}") if path.is_dir() else ()):
        raise DataError(f"{name}: has not come whole; choose the same file again, and it resumes where it broke off")
    return path


def forget(key: str) -> None:
    shutil.rmtree(folder_of(key), ignore_errors=True)


def tidy() -> None:
    """Remove uploads that nobody resumed for a day."""
    root = own_folder("uploads")
    for folder in root.iterdir() if root.is_dir() else ():
        with suppress(FileNotFoundError):  # of an upload that is taken over at this moment
            newest = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
            if time.time() - newest > SECONDS_KEPT:
                shutil.rmtree(folder, ignore_errors=True)


ROUTES = [
    Route("/uploads/{key}/{path:path}", send_offset, methods=["GET"]),
    Route("/uploads/{key}/{path:path}", take_piece, methods=["PUT"]),
]
