"""Connections on which an answer, its head among it, may not drip for ever.

`http.client`, on which `urllib` and `requests` stand, waits for the next byte only. A server that sends one a second
would hold up whoever asks for as long as it likes.
"""

import http.client
import io
import socket
import time
from typing import Any

PATIENCE_S, LEAST = 60.0, 1000  # an answer that takes longer brings so many bytes a second


class TooSlow(Exception):
    """No TimeoutError, for those who ask would try again."""


class SteadyResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *options: Any, **named: Any) -> None:
        super().__init__(sock, *options, **named)
        self.fp: Any = io.BufferedReader(_SteadyReader(self.fp.detach()))


class SteadyHttp(http.client.HTTPConnection):
    response_class = SteadyResponse


class SteadyHttps(http.client.HTTPSConnection):
    response_class = SteadyResponse


class _SteadyReader(io.RawIOBase):
    """Reads a socket, and raises TooSlow where it brought too little since the last time that it was counted."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw, self._begin, self._bytes = raw, time.monotonic(), 0

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any) -> int | None:
        count = self._raw.readinto(buffer)
        self._bytes += count or 0
        seconds = time.monotonic() - self._begin
        if count and seconds > PATIENCE_S:
            if self._bytes < LEAST * seconds:
                raise TooSlow(f"timed out: {self._bytes:,} bytes in {seconds:.0f} s")
            self._begin, self._bytes = time.monotonic(), 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
