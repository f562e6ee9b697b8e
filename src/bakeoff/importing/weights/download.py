"""An address -> a file, over HTTP or HTTPS or from a folder: with a bar, and resumed after a break.

What came so far is `<file>`, and `<file>.json` beside it says of what: {"address": …, "total": 187925923,
"validator": "\\"5e8f\\""}. A server is asked for the rest alone; one that sends everything again is taken at its word.
"""

import http.client
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path
from typing import NoReturn
from urllib import request
from urllib.error import HTTPError, URLError

from bakeoff.foundation.errors import DataError, WorkspaceError, one_line
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.formatting import without_secrets
from bakeoff.foundation.progress import progress
from bakeoff.foundation.steady_answers import SteadyHttp, SteadyHttps, TooSlow

PIECE = 2**16
MEGABYTE = 10**6
LARGEST = 2**34  # bytes of a file that no server gives the size of
FOR_NOW = (408, 425, 429, 500, 502, 503, 504)  # answers after which one may ask again
RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
UNSATISFIABLE, PARTIAL = 416, 206


@dataclass(frozen=True)
class RetryPolicy:
    seconds: float = 30.0  # without a byte
    attempts: int = 5  # in a row that brought next to nothing
    pause: float = 1.0  # after the first of them; twice as long after each other one


class Broken(Exception):
    """The connection, or what came over it; one may try again."""


@dataclass(frozen=True)
class Note:
    """Of what file a part is."""

    address: str
    total: int | None
    validator: str | None  # changes when the file there does

    @classmethod
    def read(cls, part: Path) -> "Note | None":
        try:
            return cls(**json.loads(_note_of(part).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # none, or not written by this
            return None


def _note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def drop(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note_of(part).unlink(missing_ok=True)


def download(address: str, part: Path, size: int | None, patience: RetryPolicy) -> None:
    """Bring the whole file; `size` is what it must have, if that is known. What a break leaves is resumed."""
    part.parent.mkdir(parents=True, exist_ok=True)
    failures = 0
    while True:
        before = _length(part)
        try:
            return _attempt(address, part, size, patience.seconds)
        except Broken as broken:
            failures = 0 if _length(part) - before >= PIECE else failures + 1
            if failures >= patience.attempts:
                kept = f"{_length(part):,} bytes are kept, run the same command again to resume"
                raise DataError(f"{without_secrets(address)}: {broken}; {kept}") from None
            time.sleep(patience.pause * 2**failures)


def copy(source: Path, part: Path) -> None:
    """From the folder of a mirror."""
    part.parent.mkdir(parents=True, exist_ok=True)
    total = source.stat().st_size
    _require_room(part.parent, total)
    with source.open("rb") as there, part.open("wb") as here, _bar(part.name, total, 0) as advance:
        while piece := there.read(PIECE):
            here.write(piece)
            advance(len(piece))


def _length(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _attempt(address: str, part: Path, size: int | None, seconds: float) -> None:
    note = Note.read(part)
    if note is None or note.address != address:
        drop(part)
        note = None
    have = _length(part)
    if have and note and have == note.total:
        return
    asked = request.Request(address, headers={"User-Agent": "bakeoff", "Accept-Encoding": "identity"})
    if have and note:
        asked.add_header("Range", f"bytes={have}-")
        if note.validator:
            asked.add_header("If-Range", note.validator)
    try:
        with _opener().open(asked, timeout=seconds) as answer:
            begin, total = _extent(answer.status, answer.headers, have)
            if begin != have or (begin and note and total != note.total):
                drop(part)
                if begin:
                    raise Broken("the file there has changed")
            _require_size(address, total, size)
            _require_room(part.parent, (total or 0) - begin)
            note = Note(address, total, _validator(answer.headers))
            write_whole(_note_of(part), json.dumps(asdict(note)))
            _receive(answer, part, begin, total)
    except TooSlow as slow:
        raise DataError(
            f"{without_secrets(address)}: {slow}; take the file from elsewhere, or try again later"
        ) from None
    except HTTPError as error:
        _raise_refusal(address, error, part)
    except (URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        is_late = isinstance(reason, TimeoutError)
        why = f"no byte for {seconds:g} s" if is_late else one_line(Exception(reason)) or type(error).__name__
        raise Broken(f"the connection broke ({why})") from None


class _Http(request.HTTPHandler):
    def http_open(self, req: request.Request) -> http.client.HTTPResponse:
        return self.do_open(SteadyHttp, req)


class _Https(request.HTTPSHandler):
    def https_open(self, req: request.Request) -> http.client.HTTPResponse:
        return self.do_open(SteadyHttps, req)


def _opener() -> request.OpenerDirector:
    """For HTTP and HTTPS alone: a redirection must not read a file of this machine."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler, request.UnknownHandler, _Http, _Https,
        request.HTTPDefaultErrorHandler, request.HTTPRedirectHandler, request.HTTPErrorProcessor,
    ):  # fmt: skip
        opener.add_handler(handler())
    return opener


def _raise_refusal(address: str, error: HTTPError, part: Path) -> NoReturn:
    if error.code == UNSATISFIABLE:
        drop(part)
        raise Broken("the file there is shorter than what came of it") from None
    if error.code in FOR_NOW:
        raise Broken(f"the server answers {error.code}") from None
    answer = f"{error.code} ({one_line(Exception(error.reason))})"
    raise DataError(
        f"{without_secrets(address)}: the server answers {answer}; take the file from elsewhere and name its folder or "
        "address in $BAKEOFF_WEIGHTS"
    ) from None


def _extent(status: int, headers: Message, have: int) -> tuple[int, int | None]:
    """Return at which byte the answer begins, and how many the whole file has."""
    if status == PARTIAL:
        match = RANGE.fullmatch(headers.get("Content-Range", ""))
        return (int(match[1]), int(match[2])) if match else (have + 1, None)  # treated like a file that has changed
    length = headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def _validator(headers: Message) -> str | None:
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified")


def _receive(answer: http.client.HTTPResponse, part: Path, begin: int, total: int | None) -> None:
    received = begin
    with part.open("ab" if begin else "wb") as file, _bar(part.name, total, begin) as advance:
        while piece := answer.read1(PIECE):  # takes only what has arrived, so that a stall loses nothing
            file.write(piece)
            received += len(piece)
            advance(len(piece))
            if received > (total or LARGEST):
                raise DataError(f"{part.name}: the server sends more than {total or LARGEST:,} bytes")
    if total is not None and received < total:
        raise Broken(f"the connection broke after {received:,} of {total:,} bytes")


def _require_size(address: str, total: int | None, size: int | None) -> None:
    if size is not None and total is not None and size != total:
        raise DataError(
            f"{without_secrets(address)}: must have {size:,} bytes, the server has {total:,}; this is another file"
        )


def _require_room(folder: Path, wanted: int) -> None:
    free = shutil.disk_usage(folder).free
    if wanted > free:
        raise WorkspaceError(f"{folder}: {wanted / 1e9:.1f} GB are wanted, {free / 1e9:.1f} GB are free; free some")


@contextmanager
def _bar(name: str, total: int | None, done: int) -> Iterator[Callable[[int], None]]:
    """Return a bar of megabytes; none for a file of unknown size."""
    if total is None:
        yield lambda count: None
        return
    received = done
    with progress(name, max(1, total // MEGABYTE), "MB", done // MEGABYTE) as bar:

        def advance(count: int) -> None:
            nonlocal received
            before, received = received, received + count
            bar.advance(received // MEGABYTE - before // MEGABYTE)

        yield advance
