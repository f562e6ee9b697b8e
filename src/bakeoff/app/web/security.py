"""Who may ask: the middleware that every request passes before the page sees it.

- The Host header must be an address of this machine: a foreign name that points here (DNS rebinding) is refused.
- An Origin header must be the page's own. What changes anything also needs the header `X-Bakeoff: page`, which no
  form and no other site can send.
- Where other machines can reach the page, a cookie must hold the token. The printed address brings it once.
"""

import hmac
import ipaddress
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("127.0.0.1", "localhost", "[::1]")
SAFE = ("GET", "HEAD")
MARK, MARKED = "x-bakeoff", "page"
TOKEN = "token"  # in the address
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
    """Where the page is reached, and by what token; without one it is for this machine alone."""

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

    def knows(self, host: str) -> bool:
        """Return whether a Host header names this machine."""
        name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        if not name or port != str(self.port):
            return False
        if name in LOCAL or name.lower() == self.host.lower():
            return True
        return self.token is not None and (_is_ip(name.strip("[]")) or name.lower() == socket.gethostname().lower())


def read_token(file: Path) -> str:
    """Return the token of this workspace, which only its user can read, so that a restart leaves pages open."""
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as made:
            made.write(secrets.token_urlsafe(24))
        return file.read_text(encoding="ascii")


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
            path = "/" + scope["path"].lstrip("/")  # `//evil` would be another machine
            answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            answer.set_cookie(self._door.cookie, self._door.token, httponly=True, samesite="strict", max_age=30 * 86400)
            return answer
        held = cookie_parser(headers.get("cookie", "")).get(self._door.cookie, "")
        if _same(held, self._door.token):
            return None
        return _make_refusal(403, "This page asks for a token; open the whole address that `bakeoff web` printed.")


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
