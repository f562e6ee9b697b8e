"""What the page answers with: a template, a file, or a message about what is wrong."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from bakeoff.app.web.refusals import BadRequest, Busy, Conflict, NoRoom, NotFound
from bakeoff.app.web.work_steps import list_steps
from bakeoff.foundation.errors import name_fault
from bakeoff.foundation.html import template

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
MOST_JSON = 2_000_000  # bytes of a request
# Pages that other commands wrote. They run one script, whose digest they hold, and reach nothing.
REPORT_POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; frame-ancestors 'self'"
)
Tree = dict[str, Any]
View = Callable[[Request], Awaitable[Response]]


def show_page(name: str, tab: str, title: str, /, *, code: int = 200, **values: Any) -> Response:
    """Return a filled template. `tab` is the address of the part of the page that it belongs to."""
    html = template.render(name, title=title, steps=list_steps(), tab=tab, **values)
    return HTMLResponse(html.encode("utf-8", "backslashreplace"), code)


def show_report(path: Path) -> Response:
    """Return a page that a stage or a command wrote, which needs no other file."""
    return HTMLResponse(path.read_bytes(), headers={"content-security-policy": REPORT_POLICY})


def plain(function: Callable[[Request], Response]) -> View:
    """Make a view of a function that reads files, so that others need not wait for it."""

    @wraps(function)
    async def view(request: Request) -> Response:
        return await run_in_threadpool(function, request)

    return view


def changes(function: Callable[[Request, Tree], Response]) -> View:
    """Make a view of a function that gets the JSON of a request."""

    @wraps(function)
    async def view(request: Request) -> Response:
        return await run_in_threadpool(function, request, await read_json(request))

    return view


async def read_json(request: Request) -> Tree:
    """Return the object that a request holds."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_JSON:
            raise BadRequest(f"a request must have at most {MOST_JSON:,} bytes")
    try:
        tree = json.loads(content or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise BadRequest("a request must be JSON; reload the page") from None
    if not isinstance(tree, dict):
        raise BadRequest("a request must be an object of JSON; reload the page")
    return tree


def _refuse_constant(text: str) -> None:
    """Refuse NaN and infinities, which are no JSON."""
    raise ValueError(text)


def text_of(tree: Mapping[str, Any], key: str, default: str = "") -> str:
    """Return a text of a request, without blanks around it."""
    value = tree.get(key, default)
    if not isinstance(value, str):
        raise BadRequest(f"{key}: must be a text, got {type(value).__name__}; reload the page")
    return value.strip()


async def show_problem(request: Request, error: Exception) -> Response:
    """Return a message about what is wrong."""
    codes = {NotFound: 404, Conflict: 409, Busy: 503, NoRoom: 507}
    code = next((code for kind, code in codes.items() if isinstance(error, kind)), 400)
    return _tell(request, str(error), code, error.tree if isinstance(error, Conflict) else {})


async def show_fault(request: Request, error: Exception) -> Response:
    """Return a message about what the machine lacks, such as room on its disk. Other errors are bugs and are logged."""
    if isinstance(error, FileNotFoundError):
        return _tell(request, f"{error.filename}: was removed meanwhile; reload the page", 404)
    fault = name_fault(error)
    if fault is None:
        raise error
    return _tell(request, fault, 507)


async def end_quietly(request: Request, error: Exception) -> Response:
    """Return an answer that nobody reads, for the browser went away before it had sent everything."""
    return Response(status_code=400)


async def show_missing(request: Request, error: Exception) -> Response:
    return _tell(request, f"{request.url.path}: there is no such page", 404, title="No such page")


def _tell(
    request: Request, problem: str, code: int, more: Mapping[str, Any] | None = None, title: str = "That did not work"
) -> Response:
    """Return a message as a page, or as JSON for a script."""
    if request.method != "GET" or "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"problem": problem, **(more or {})}, code)
    return show_page("web_problem.html.jinja", "", title, code=code, problem=problem)


@plain
def show_static(request: Request) -> Response:
    """Return one of the page's own scripts or its style."""
    name = request.path_params["name"]
    files = {path.name: path for path in (*STATIC.iterdir(), template.FOLDER / template.STYLE)}
    path = files.get(name)
    if path is None or path.suffix not in TYPES:
        raise NotFound(f"/static/{name}: no such file")
    return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers={"cache-control": "no-cache"})
