"""The team's page on a real server in a thread, and requests to it as a browser or somebody else sends them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from bakeoff.app.web.app import make_server
from bakeoff.app.web.security import ServerAddress
from bakeoff.foundation.machine import bind_port

SECONDS = 30


@dataclass
class Answer:
    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def tree(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Page:
    port: int

    @property
    def own(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send exactly these headers, with `_` for `-`; Host is the page's own unless it is given."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {"Host": self.own, **{name.replace("_", "-"): value for name, value in headers.items()}}
            if body is not None:
                given.setdefault("Content-Length", str(len(body)))
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def send(self, path: str, method: str = "POST", **tree: Any) -> Answer:
        """Send JSON as the page's own scripts do."""
        return self.ask(method, path, json.dumps(tree).encode(), X_Bakeoff="page", Origin=f"http://{self.own}")


@contextmanager
def served(host: str = "127.0.0.1", token: str | None = None, port: int = 0) -> Iterator[Page]:
    """Serve the page of the current folder, by default at any port."""
    place = bind_port(host, port, range(0))
    port = place.getsockname()[1]
    server = make_server(ServerAddress(host, port, token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    try:
        yield Page(port)
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        place.close()
