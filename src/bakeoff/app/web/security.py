"""Who may ask: the middleware that every request passes before the page sees it.

- The Host header must be an address of this machine: a foreign name that points here (DNS rebinding) is refused.
- An Origin header must be the page's own. What changes anything also needs the header `X-Bakeoff: page`, which no
  form and no other site can send.
- A cookie must hold the token, for other people may have accounts on this machine. The printed address brings it once.
"""

import hmac
import ipaddress
import os
import re
import secrets
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bakeoff.app.web.safe_paths import own_folder
from bakeoff.foundation import workspace
from bakeoff.foundation.html import template

LOCAL = ("127.0.0.1", "localhost", "[::1]")
SAFE = ("GET", "HEAD")
MARK, MARKED = "x-bakeoff", "page"
TOKEN = "token"  # in the address
ELSEWHERE = ("192.0.2.1", 9)  # an address that the standards keep for examples
WHOLE_TOKEN = re.compile(r"[\w-]{32,}", re.ASCII)
POLICY = (
    "default-src 'none'; img-src 'self' blob: data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "x-frame-options": "SAMEORIGIN", "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cache-control": "no-store",
}  # fmt: skip


@dataclass(frozen=True)
class ServerAddress:
    """Where the page is reached, and by what token; without one it is for everybody who can log in to this machine."""

    host: str
    port: int
    token: str | None = None

    @property
    def cookie(self) -> str:
        """Return the name of the cookie. It holds the port, for cookies do not tell ports apart."""
        return f"bakeoff-{self.port}"

    @property
    def address(self) -> str:
        """Return what a browser opens."""
        name = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
        where = f"http://{f'[{name}]' if ':' in name else name}:{self.port}/"
        return where if self.token is None else f"{where}?{urlencode({TOKEN: self.token})}"

    def make_phone_address(self, path: str) -> str | None:
        """Return what a phone in the same network opens; None where no other machine is let in."""
        if self.token is None or is_own_machine(self.host):
            return None
        name = find_own_ip() if self.host in ("0.0.0.0", "::") else self.host
        if name is None:
            return None
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}{path}?{urlencode({TOKEN: self.token})}"

    def knows(self, host: str) -> bool:
        """Return whether a Host header names this machine."""
        name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        if not name or port != str(self.port):
            return False
        if name in LOCAL or name.lower() == self.host.lower():
            return True
        return self.token is not None and (_is_ip(name.strip("[]")) or name.lower() == socket.gethostname().lower())


def is_own_machine(host: str) -> bool:
    """Return whether nobody but this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def find_own_ip() -> str | None:
    """Return this machine's address in its network, by the way that a packet to elsewhere would take; none is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(ELSEWHERE)
            name: str = way.getsockname()[0]
        except OSError:  # no network
            return None
    return None if is_own_machine(name) else name


def read_token() -> str:
    """Return the token of this workspace, which stays the same over a restart, so that pages stay open.

    A token that is not whole, or that other people can read, is made anew.
    """
    file = own_folder(TOKEN)
    try:
        token = file.read_text(encoding="ascii").strip()
        is_private = os.name == "nt" or not file.stat().st_mode & 0o077
    except (FileNotFoundError, UnicodeDecodeError):
        token, is_private = "", False
    if is_private and WHOLE_TOKEN.fullmatch(token):
        return token
    token = secrets.token_urlsafe(24)
    _write_private(file, token)
    return token


def write_entry(door: ServerAddress) -> str:
    """Return the address of a file that leads a browser to the page.

    What a browser is started with is in the list of processes, which other people can read. So is no token.
    """
    file = own_folder("open.html")
    _write_private(file, _make_entry(door.address))
    return file.absolute().as_uri()


def _make_entry(address: str) -> str:
    """Return a page that leads on. A redirection would not do.

    If a link on another page leads here, a browser keeps the cookie to itself until a page of this server asks.
    """
    return str(template.render("web_entry.html.jinja", address=address))


def _write_private(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent)  # for this user alone
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
    Path(name).replace(file)


class Guard:
    def __init__(self, app: ASGIApp, door: ServerAddress) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = self._refuse(scope)
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._door.knows(host):
            return _make_refusal(403, f"This page is not {host!r}; open the address that `bakeoff web` printed.")
        if origin is not None and origin != f"http://{host}":
            return _make_refusal(403, f"A page of {origin} may not ask this one.")
        if method not in SAFE and headers.get(MARK) != MARKED:
            return _make_refusal(403, "Only this page itself may change anything; reload it and try again.")
        return self._ask_for_token(scope, headers) if self._door.token is not None else None

    def _ask_for_token(self, scope: Scope, headers: Headers) -> Response | None:
        assert self._door.token is not None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get(TOKEN)
        if given is not None and scope["method"] in SAFE and _same(given, self._door.token):
            rest = urlencode([pair for pair in query if pair[0] != TOKEN])
            path = "/" + quote(scope["path"].lstrip("/"), errors="replace")  # `//evil` would be another machine
            answer = HTMLResponse(_make_entry(f"{path}?{rest}" if rest else path))
            answer.set_cookie(self._door.cookie, self._door.token, httponly=True, samesite="strict", max_age=30 * 86400)
            return answer
        held = cookie_parser(headers.get("cookie", "")).get(self._door.cookie, "")
        if _same(held, self._door.token):
            return None
        return _make_refusal(
            403,
            "This page asks for a token; open the whole address that `bakeoff web` printed, or add ?token= and what "
            f"{own_folder(TOKEN).relative_to(workspace.main_workspace()).as_posix()} in its workspace holds.",
        )


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _make_refusal(code: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", code)


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return wrapped
