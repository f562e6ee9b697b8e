"""Files that decide a variant, read once for it, or for all configurations of a sweep: all see the same files."""

import pickle
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast

from bakeoff.learning.run_file.parse import Problems, parse_kind

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
    """Let `read_once` keep in this thread what it reads, until the outermost block ends."""
    kept = _kept.get()
    before = _kept.set({} if kept is None else kept)
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


def parse_group(kinds: Mapping[str, type], tree: Any, group: str, problems: Problems) -> Any:
    """Return a group's settings as `parse_kind` does. Configurations of a sweep with the same values share them."""
    settings = read_once(_parse_right, Same(kinds), pickle.dumps(tree))
    return parse_kind(kinds, tree, group, problems) if settings is None else settings


def _parse_right(kinds: Same[Mapping[str, type]], packed: bytes) -> Any:
    """Return settings without a mistake; None if there is one, which whoever knows its place has to note."""
    problems = Problems(str)
    settings = parse_kind(kinds.one, pickle.loads(packed), "", problems)
    return None if problems.lines else settings
