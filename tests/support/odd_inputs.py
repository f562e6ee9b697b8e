"""Inputs that nobody meant to write: whatever they hold, a reader has a result or names file, place and remedy."""

import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bakeoff.foundation.errors import BakeoffError

SEED, MOST_SECONDS, MOST_BYTES = 26, 5, 300 * 10**6
LONGEST = 2000  # letters of a line that a reader can take in
ODD = (
    "", "[]", "{}", "null", "~", "true", "-1", "0", "1", "1.5", "1e10", "1e15", "1e-9", "1000000000", "-0.0", ".nan",
    ".inf", "'???'", "'${lr.peak}'", "'${nowhere}'", "'${'", "'${.}'", "'${oc.env:HOME}'", "'${model}'", "!!set {a}",
    "!!binary aGk=", "&a x", "*a", "[[]]", "[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]", "{null: 1}", "{1: 2}", "{'': 1}",
    "{a: {b: {c: 1}}}", "[1, a, null, {}]", "0x" + "f" * 40, "9" * 40, "9" * 5000, "1:30", "010", "yes", "2020-01-01",
    '"\\ud800"', '"\\0"', '"a\\nb"', "http://x", "{u: http://x}", "|", ">-", "a: b", "@", "`", "%", "? x", "<<: 3",
    "'" + "a" * 3000 + "'", "[" + "1, " * 500 + "1]", "²", "{kind: []}", "'a.b[0]'",
)  # fmt: skip
plain = st.one_of(st.integers(0, 500).map(str), st.floats(0, 1).map(repr))
values = st.one_of(plain, st.sampled_from(ODD), st.integers().map(str), st.floats().map(repr), st.text(max_size=20))


def is_read(read: Callable[[], object], *places: str) -> bool:
    """Whether it is read, or else refused in lines that each begin with one of the places; all else is an error."""
    try:
        read()
    except BakeoffError as error:
        for line in str(error).splitlines() or [""]:
            assert any(line.startswith(place) for place in places), line
            assert line.isprintable() and len(line) <= LONGEST and line.count(": ") >= 1, line
        return False
    return True


def explore(number: int, inputs: st.SearchStrategy[Any], read: Callable[[Any], object], *places: str) -> None:
    """Read so many inputs, the same ones each time, each in seconds and all of them in a bounded memory."""
    ends: Counter[bool] = Counter()

    @seed(SEED)
    @settings(
        max_examples=number, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(inputs)
    def check(given_input: Any) -> None:
        began = time.process_time()
        ends[is_read(lambda: read(given_input), *places)] += 1
        assert time.process_time() - began < MOST_SECONDS  # of the processor, whatever else the machine does

    before = _peak_bytes()
    check()
    assert _peak_bytes() - before < MOST_BYTES
    print(f"seed {SEED}: {ends[True]} were read, {ends[False]} refused")


def _peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


few_or_many = pytest.mark.parametrize("number", [25, pytest.param(1000, marks=pytest.mark.slow)])


@st.composite
def edited(draw: st.DrawFn, text: str) -> bytes:
    """Return a text with up to three pieces cut out, each with something else in its place."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + draw(values) + text[end:]
    source = text.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(source)))
        source = source[:place] + draw(st.binary(max_size=4)) + source[place:]
    return source
