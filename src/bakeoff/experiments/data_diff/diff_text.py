"""A difference of two data sets -> lines for a terminal, and Markdown for a pull request."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from bakeoff.experiments.data_diff.data_change import DataChange, DataDiff
from bakeoff.experiments.data_diff.open_data import OpenData
from bakeoff.foundation.formatting import align, format_count, make_printable

MARKER = "<!-- bakeoff diff -->"  # by which a workflow finds its comment again
IN_TERMINAL, IN_COMMENT = 3, 5  # changes of a kind that are shown
UNSAFE = re.compile(r"[\s`|\[\]]+")  # what ends code, a cell or a line, and what makes links


def describe_diff(diff: DataDiff) -> Iterator[str]:
    for letter, one in (("A", diff.a), ("B", diff.b)):
        yield f"{letter}  {one.name}: {_count(one)}"
    yield f"diff: {summarize(diff)}"
    for kind, some in diff.by_kind.items():
        yield f"  {kind.value}: {len(some):,}"
        yield from (f"    {line}" for line in align([_cells(one) for one in some[:IN_TERMINAL]]))
        if len(some) > IN_TERMINAL:
            yield f"    and {len(some) - IN_TERMINAL:,} more; --json and --html have all"
    yield from (f"  drift: {sentence}" for sentence in diff.drifts)
    yield from (f"  {remark}" for remark in diff.remarks)


def summarize(diff: DataDiff) -> str:
    same = f"{format_count(diff.same, 'picture')} in both"
    if not diff.changes:
        return f"nothing changed, {same}"
    pictures = len({one.name for one in diff.changes if one.before or one.after})
    return f"{format_count(len(diff.changes), 'change')}, of {format_count(pictures, 'picture')}; {same}"


def _count(one: OpenData) -> str:
    boxes = f", {format_count(one.boxes, 'box')}" if one.boxes else ""
    return f"{format_count(len(one.examples), 'picture')}{boxes}"


def _cells(one: DataChange) -> Sequence[str]:
    return make_printable(one.name), make_printable(one.text)


def format_comment(diff: DataDiff) -> Iterator[str]:
    yield MARKER
    yield f"### bakeoff diff: {summarize(diff)}"
    yield ""
    yield " ".join(f"{letter} is {_code(one.name)}, {_count(one)}." for letter, one in (("A", diff.a), ("B", diff.b)))
    yield ""
    if diff.changes:
        yield "| change | how many | of them |"
        yield "|---|---|---|"
        for kind, some in diff.by_kind.items():
            named = "<br>".join(_describe(one) for one in some[:IN_COMMENT])
            more = f"<br>and {len(some) - IN_COMMENT:,} more" if len(some) > IN_COMMENT else ""
            yield f"| {kind.value} | {len(some):,} | {named}{more} |"
        yield ""
    yield from (f"- **Drift**: {_plain(sentence)}" for sentence in diff.drifts)
    yield from (f"- {_plain(remark)}" for remark in diff.remarks)


def _describe(one: DataChange) -> str:
    return _code(one.name) + (f" {_plain(one.text)}" if one.text else "")


def _code(text: str) -> str:
    """Return a text of anybody's as code, which a page shows as it is."""
    return f"`{UNSAFE.sub(' ', make_printable(text)).strip()}`"


def _plain(text: str) -> str:
    return escape(UNSAFE.sub(" ", make_printable(text)))
