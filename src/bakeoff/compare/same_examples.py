"""Two evaluations of the same examples -> what both are counted on; of others, what differs."""

from collections.abc import Sequence

from bakeoff.compare.judged import Judged, Name
from bakeoff.errors import DataError

NAMED = 3  # examples in a message


def common_examples(a: Judged, b: Judged, called: tuple[str, str]) -> list[Name]:
    """All examples, in the order of A. `called`: the runs' names, for a message."""
    if a.kind != b.kind:
        raise DataError(
            f"{called[0]} and {called[1]}: must be of one task, got answers of {a.kind} and of {b.kind}; "
            "numbers of different tasks say nothing about each other"
        )
    only_a = [name for name in a.rows if name not in b.rows]
    only_b = [name for name in b.rows if name not in a.rows]
    other = [name for name in a.rows if name in b.rows and a.truth(name) != b.truth(name)]
    found = [
        f"{len(names):,} {what} ({_listed(names)})"
        for names, what in ((only_a, "only in A"), (only_b, "only in B"), (other, "with another truth")) if names
    ]  # fmt: skip
    if found:
        raise DataError(
            f"A, {called[0]}, and B, {called[1]}: must be judged on the same examples, got {', '.join(found)} beside "
            f"{len(a.rows) - len(only_a) - len(other):,} that are the same; evaluate both on the same records"
        )
    if not a.rows:
        raise DataError(f"{called[0]} and {called[1]}: must be judged on examples, got none")
    return list(a.rows)


def _listed(names: Sequence[Name]) -> str:
    return ", ".join(file for file, _ in names[:NAMED]) + (", …" if len(names) > NAMED else "")
