"""What was taken for what, as a table whose cells are the darker the more of their row they hold."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

MOST_CLASSES = 30  # a larger table can't be read; the pairs below it can
MOST_PAIRS = 10


def section(pairs: Sequence[Mapping[str, Any]], classes: Sequence[str]) -> Iterator[str]:
    """Of rows {"actual": …, "predicted": …}; labels beyond the classes, such as for nothing, come last."""
    counts = Counter((row["actual"], row["predicted"]) for row in pairs)
    labels = [*classes, *dict.fromkeys(label for pair in counts for label in pair if label not in classes)]
    yield "<h2>What was taken for what</h2>"
    if len(labels) <= MOST_CLASSES:
        yield "<p class=soft>Down what is true, across what the model gave; shading is the share of the row.</p>"
        yield from _table(counts, labels)
    wrong = [(pair, count) for pair, count in counts.most_common() if pair[0] != pair[1]]
    if wrong:
        told = [f"{escape(true)} → {escape(given)} ({count:,})" for (true, given), count in wrong[:MOST_PAIRS]]
        yield f"<p>Most often: {', '.join(told)}.</p>"


def _table(counts: Mapping[tuple[str, str], int], labels: Sequence[str]) -> Iterator[str]:
    heads = "".join(f"<th>{escape(label)}" for label in labels)
    yield f"<div class=confusion><table><tr><th>true ↓ given&nbsp;→{heads}"
    for true in labels:
        total = max(1, sum(counts.get((true, given), 0) for given in labels))
        cells = "".join(_cell(counts.get((true, given), 0), total, same=true == given) for given in labels)
        yield f"<tr><th>{escape(true)}{cells}"
    yield "</table></div>"


def _cell(count: int, total: int, *, same: bool) -> str:
    if not count:
        return "<td>"
    colour, shade = "74,123,208" if same else "240,150,0", 0.12 + 0.6 * count / total
    return f"<td{' class=same' if same else ''} style='background:rgba({colour},{shade:.2f})'>{count:,}"
