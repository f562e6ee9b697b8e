"""Files that nobody meant to write: sound ones with bytes changed, put in, lost or repeated, and how they are tried."""

import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

MOST_SECONDS = 5
INTERESTING = (b"\0", b"\xff", b"\x7f", b"\x80", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xd9")

few_or_many = pytest.mark.parametrize("number", [25, pytest.param(1000, marks=pytest.mark.slow)])


def edited(data: bytes) -> st.SearchStrategy[bytes]:
    """A few edits anywhere, half of them where formats have their headers."""
    place = st.one_of(st.integers(0, min(len(data), 120)), st.integers(0, len(data)))
    parts = st.one_of(st.sampled_from(INTERESTING), st.binary(max_size=6))
    edit = st.tuples(st.sampled_from(["replace", "insert", "cut", "repeat", "end"]), place, st.integers(0, 400), parts)
    return st.lists(edit, min_size=1, max_size=6).map(lambda edits: _edit(data, edits))


def _edit(data: bytes, edits: Sequence[tuple[str, int, int, bytes]]) -> bytes:
    for kind, place, length, part in edits:
        before, after = data[:place], data[place:]
        if kind == "replace":
            data = before + part + after[len(part) :]
        elif kind == "insert":
            data = before + part + after
        elif kind == "cut":
            data = before + after[length:]
        elif kind == "repeat":
            data = before + after[:length] * 2 + after[length:]
        else:
            data = before + (part if length < 40 else after)
    return data


@contextmanager
def bounded_memory(most: float) -> Iterator[None]:
    """For all of the block together, in bytes above what the process had taken before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < most


def examples(number: int) -> Any:
    """Settings of a property: so many examples, the same ones each time."""
    return settings(
        max_examples=number, deadline=timedelta(seconds=MOST_SECONDS), derandomize=True, database=None,
        suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )  # fmt: skip
