"""Tables of a flatbuffer, read by the numbers that a schema gives their fields."""

import struct
from typing import Any


class FlatTable:
    def __init__(self, data: bytes, place: int) -> None:
        self._data, self._place = data, place

    @classmethod
    def root(cls, data: bytes) -> "FlatTable":
        return cls(data, _number(data, "<I", 0))

    def number(self, field: int, layout: str = "<I") -> int:
        place = self._of(field)
        return _number(self._data, layout, place) if place else 0

    def text(self, field: int) -> str:
        return self.bytes(field).decode("utf-8", "replace")

    def bytes(self, field: int) -> bytes:
        start, length = self._vector(field)
        return self._data[start : start + length]

    def floats(self, field: int) -> list[float]:
        start, length = self._vector(field)
        return list(struct.unpack_from(f"<{length}f", self._data, start))

    def table(self, field: int) -> "FlatTable | None":
        place = self._of(field)
        return FlatTable(self._data, self._followed(place)) if place else None

    def tables(self, field: int) -> list["FlatTable"]:
        start, length = self._vector(field)
        return [FlatTable(self._data, self._followed(start + 4 * item)) for item in range(length)]

    def _of(self, field: int) -> int:
        """Where its value is; 0 if it is left out."""
        directory = self._place - _number(self._data, "<i", self._place)
        slot = 4 + 2 * field
        if slot >= _number(self._data, "<H", directory):
            return 0
        offset = _number(self._data, "<H", directory + slot)
        return self._place + offset if offset else 0

    def _vector(self, field: int) -> tuple[int, int]:
        """Where it begins, and how many it has."""
        place = self._of(field)
        if not place:
            return 0, 0
        start = self._followed(place)
        return start + 4, _number(self._data, "<I", start)

    def _followed(self, place: int) -> int:
        return place + _number(self._data, "<I", place)


def _number(data: bytes, layout: str, place: int) -> Any:
    return struct.unpack_from(layout, data, place)[0]
