"""What a server answers to MLflow's client, in bounded time and memory.

`requests` waits for the next byte only, and keeps all that comes. So a server that sends a byte now and then, without
an end, or the same page of a list for ever, would hold up whoever asks, or take the memory.
"""

import io
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import mlflow.utils.request_utils as request_utils
from requests import ConnectionError, PreparedRequest, ReadTimeout, Response
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, PoolManager

from bakeoff.foundation.steady_answers import SteadyResponse, TooSlow

MOST_BYTES = 200_000_000
MOST_SECONDS = 60.0  # for the answer behind its head
MOST_REPEATED = 100  # times that one request in a row is answered by a page behind which there is another
PIECE = 1 << 16
MORE = b"next_page_token"
ADAPTERS = ("TCPKeepAliveHTTPAdapter", "HTTPAdapter")  # the one that MLflow uses, by the names of its versions


def bound_answers() -> None:
    """Let MLflow's client, which has asked nothing yet, and that of S3 use bounded answers."""
    name = next(name for name in ADAPTERS if hasattr(request_utils, name))
    used = getattr(request_utils, name)
    if not issubclass(used, Bounded):
        setattr(request_utils, name, type(name, (Bounded, used), {}))
    if find_spec("botocore"):  # the client of S3, which is there where artifacts go to one
        awsrequest = import_module("botocore.awsrequest")
        for connection in (awsrequest.AWSHTTPConnection, awsrequest.AWSHTTPSConnection):
            connection.response_class = SteadyResponse


class Bounded(HTTPAdapter):
    """Reads the whole answer, unless it is asked for as a stream, such as a file."""

    _last: tuple[object, ...] = ()
    _times = 0

    def init_poolmanager(self, *given: Any, **named: Any) -> None:
        super().init_poolmanager(*given, **named)
        _read_steadily(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **named: Any) -> PoolManager:
        """Return the manager of a proxy's connections, which `requests` keeps for the next time."""
        is_new, manager = proxy not in self.proxy_manager, super().proxy_manager_for(proxy, **named)
        if is_new:
            _read_steadily(manager)
        return manager

    def send(self, request: PreparedRequest, stream: bool = False, **options: Any) -> Response:  # type: ignore[override]
        try:
            response = super().send(request, stream=stream, **options)
        except TooSlow as slow:
            raise ReadTimeout(str(slow)) from None
        if not stream:
            data = _read(response)
            self._refuse_repeated(request, data)
            response.raw = io.BytesIO(data)
        return response

    def _refuse_repeated(self, request: PreparedRequest, data: bytes) -> None:
        asked = request.method, request.url, request.body
        self._times = self._times + 1 if asked == self._last and MORE in data else 0
        self._last = asked
        if self._times > MOST_REPEATED:
            self._times = 0
            raise ConnectionError("its list has no end")


def _read_steadily(manager: PoolManager) -> None:
    """Let no answer drip on the connections of a manager, whatever kind they are of: direct, a proxy's, SOCKS."""
    classes = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {scheme: _steady(pool) for scheme, pool in classes.items()}


def _steady(pool: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
    own = pool.ConnectionCls
    connection = type(own.__name__, (own,), {"response_class": SteadyResponse})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})


def _read(response: Response) -> bytes:
    data, end = bytearray(), time.monotonic() + MOST_SECONDS
    try:
        while piece := response.raw.read1(PIECE, decode_content=True):
            data += piece
            if len(data) > MOST_BYTES:
                raise ConnectionError(f"its answer has more than {MOST_BYTES:,} bytes")
            if time.monotonic() > end:
                raise ReadTimeout(f"timed out: its answer takes more than {MOST_SECONDS:g} s")
    except BaseException:
        response.close()
        raise
    response.raw.release_conn()
    return bytes(data)
