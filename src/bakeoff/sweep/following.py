"""Logs that grow -> lines, as they are written."""

from collections.abc import Iterator
from pathlib import Path


class Following:
    def __init__(self, log: Path, *, has_begun: bool = False) -> None:
        """From here on; what it holds already was of an earlier attempt, or said before we came if it `has_begun`."""
        self._log = log
        self._offset = log.stat().st_size if log.is_file() else 0
        self._start = 0 if has_begun else self._offset

    def lines(self, *, ended: bool = False) -> Iterator[str]:
        """Those that were written since; when it has `ended` also one without an end."""
        content = self._from(self._offset)
        whole = content if ended else content[: content.rfind(b"\n") + 1]
        self._offset += len(whole)
        yield from whole.decode("utf-8", errors="replace").splitlines()

    def last_lines(self, number: int) -> list[str]:
        """Of this attempt, whoever began it."""
        return self._from(self._start).decode("utf-8", errors="replace").splitlines()[-number:]

    def _from(self, offset: int) -> bytes:
        if not self._log.is_file():
            return b""
        with self._log.open("rb") as file:
            file.seek(offset)
            return file.read()
