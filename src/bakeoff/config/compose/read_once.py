"""Files that decide a variant, read once for all configurations of a sweep: all of them see the same files."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast

Read = TypeVar("Read")
One = TypeVar("One")
_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("kept", default=None)  # None outside of a block


class Same(Generic[One]):
    """An object as an argument of `read_once`: another one counts as another argument, however equal the two are."""

    def __init__(self, one: One) -> None:
        self.one = one

    def __hash__(self) -> int:
        return id(self.one)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.one is other.one


@contextmanager
def files_read_once() -> Iterator[None]:
    """Let `read_once` keep in this thread what it reads, until the block ends."""
    before = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(before)


def read_once(read: Callable[..., Read], *arguments: Hashable) -> Read:
    """Return `read(*arguments)`, within `files_read_once` that of the first call. Nobody may change it."""
    kept = _kept.get()
    if kept is None:
        return read(*arguments)
    key = (read, *arguments)
    if key not in kept:
        kept[key] = read(*arguments)
    return cast(Read, kept[key])
