"""Every usable item gets its side, train, validation or test, by its dataset's rule; what training and validation hold
is never the same.
"""

import sqlite3
from collections.abc import Sequence
from itertools import chain
from pathlib import PurePosixPath

from bakeoff.dataset.building.catalogue import Catalogue
from bakeoff.dataset.building.stratified_split import draw_sides
from bakeoff.dataset.records.record import SEEN, TAUGHT, TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.dataset import Dataset, Part, SplitSettings, join_names
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import format_count, make_printable

MOST_SHOWN = 80  # characters of a name in a list
IN_NO_LIST = "in none of the split's lists"
IN_GAP = "in a gap between two sides (data.split.gap)"
WITH_JUDGED = "of a group that is judged on (data.unlabelled: taught)"
WITH_TEST = "has the bytes of an example of the test, or is of its group"


def choose_sides(
    catalogue: Catalogue, parts: Sequence[Part], needed: Sequence[str] = SEEN
) -> tuple[list[str], list[str]]:
    """Give every example its side; return how each dataset was split, and what the user should be warned of."""
    rules: list[str] = []
    warnings: list[str] = []
    with catalogue.changing() as table:
        # What is decided while a query runs is put aside here, since SQLite does not define changing what is read.
        table.execute("CREATE TEMP TABLE IF NOT EXISTS decided (key TEXT PRIMARY KEY, side TEXT, reason TEXT)")
        has_copies = _join_copies(table)
        for source, part in enumerate(parts):
            rule, odd = _split(table, source, part)
            rules.append(rule)
            warnings += odd
        if has_copies:
            _part_copies(table)
            warnings += _find_tested_copies(table)
        _require_examples(table, parts, needed)
    return rules, warnings


def _split(table: sqlite3.Connection, source: int, part: Part) -> tuple[str, list[str]]:
    """Give the examples of a dataset their sides; return its rule in words, and what the user should be warned of."""
    dataset, rule = part.dataset, part.dataset.split
    if part.side:
        _take_all(table, source, part)
        taught = _teach(table, source, "given")
        return f"split: {dataset.path} for {'training' if part.side == TRAIN else part.side}{taught}", []
    by, warnings = _choose_rule(table, source, dataset), list[str]()
    table.execute("UPDATE examples SET side = ? WHERE source = ? AND given = ?", (TRAIN, source, TAUGHT))
    if by == "given":
        warnings = _given(table, source, dataset)
    elif by == "blocks":
        _blocks(table, source, rule)
    elif by == "test":
        table.execute("UPDATE examples SET side = ? WHERE source = ?", (TEST, source))
    elif by == "given_test":
        _keep_test(table, source)
        warnings = draw_sides(table, source, rule)
    else:
        warnings = draw_sides(table, source, rule)
    taught = _teach(table, source, by)
    return f"split{part.name and f' of {part.name}'}: {_describe_rule(by, dataset)}{taught}", warnings


def _teach(table: sqlite3.Connection, source: int, by: str) -> str:
    """Take from training what a teacher is to answer, where others of its group are judged on; in blocks by place.

    Return how many stay, in words.
    """
    judged = f"unit IN (SELECT unit FROM examples WHERE side IN ('{VALIDATION}', '{TEST}') AND given IS NOT '{TAUGHT}')"
    where = f"side IS NOT '{TRAIN}'" + ("" if by == "blocks" else f" OR {judged}")
    reason = "UPDATE examples SET side = NULL, left_out = COALESCE(left_out, ?) WHERE source = ? AND given = ?"
    table.execute(f"{reason} AND ({where})", (WITH_JUDGED, source, TAUGHT))
    stay = "SELECT COUNT(*) FROM examples WHERE source = ? AND given = ? AND side = ?"
    [count] = table.execute(stay, (source, TAUGHT, TRAIN)).fetchone()
    return f"; {format_count(count, 'example')} without a label for a teacher to answer" if count else ""


def _require_examples(table: sqlite3.Connection, parts: Sequence[Part], needed: Sequence[str]) -> None:
    """Refuse sides without an example: those that are needed, and the test where a rule names one."""
    rules = [part.dataset.split for part in parts]
    has_test = any(part.side == TEST for part in parts) or any(
        rule.test or rule.test_list or rule.by in ("given_test", "test") for rule in rules
    )
    for side in (*needed, *([TEST] if has_test else [])):
        if not table.execute("SELECT 1 FROM examples WHERE side = ?", [side]).fetchone():
            first = parts[0].dataset
            raise DataError(f"{first.path}: no example is left for {side}; {_suggest(side, first)}")


def _take_all(table: sqlite3.Connection, source: int, part: Part) -> None:
    """Put all of a folder on its side."""
    other = "SELECT MIN(name), given FROM examples WHERE source = ? AND given NOT IN (?, ?)"
    name, given = table.execute(other, (source, part.side, TAUGHT)).fetchone()
    if name is not None:
        raise DataError(
            f"{part.dataset.path}: says itself that {make_printable(name)} is for {given}, but all of it is for "
            f"{part.side} (data.validation_path, data.test_path); name a folder without sides"
        )
    table.execute("UPDATE examples SET side = ? WHERE source = ?", (part.side, source))


def _join_copies(table: sqlite3.Connection) -> bool:
    """Groups that share an image with the same bytes become one. Return whether any bytes are there twice."""
    table.execute("CREATE INDEX IF NOT EXISTS by_bytes ON examples (sha256)")
    copies = (
        "SELECT sha256, unit FROM examples WHERE sha256 IN "
        "(SELECT sha256 FROM examples GROUP BY sha256 HAVING COUNT(*) > 1) ORDER BY sha256, unit"
    )
    above: dict[str, str] = {}

    def top(unit: str) -> str:
        while above.get(unit, unit) != unit:
            unit = above[unit]
        return unit

    last: tuple[str, str] | None = None
    for sha256, unit in table.execute(copies):
        if last and last[0] == sha256:
            first, second = sorted((top(last[1]), top(unit)))
            above[second] = first
        last = (sha256, unit)
    moved = [(top(unit), unit) for unit in above if top(unit) != unit]
    if moved:
        table.execute("CREATE INDEX IF NOT EXISTS by_unit ON examples (unit)")
        table.executemany("UPDATE examples SET unit = ? WHERE unit = ?", moved)
    return last is not None


def _part_copies(table: sqlite3.Connection) -> None:
    """Given sides and blocks may still hold the same bytes: validation keeps them, training does without."""
    copies = (
        "SELECT a.name, MIN(b.name) FROM examples a JOIN examples b ON a.sha256 = b.sha256 "
        "WHERE a.side = ? AND b.side = ? AND a.sha256 IN "
        "(SELECT sha256 FROM examples GROUP BY sha256 HAVING COUNT(DISTINCT side) > 1) GROUP BY a.name"
    )
    for name, other in table.execute(copies, (TRAIN, VALIDATION)).fetchall():
        reason = f"the same bytes as {make_printable(other)}, which stays in validation"
        table.execute("UPDATE examples SET side = NULL, left_out = ? WHERE name = ?", (reason, name))


def _find_tested_copies(table: sqlite3.Connection) -> list[str]:
    """Given sides may test what is trained on. Nothing is taken from training for that: evaluation refuses the test."""
    copies = (
        "SELECT COUNT(DISTINCT a.name), MIN(a.name), MIN(b.name) FROM examples a JOIN examples b "
        "ON a.sha256 = b.sha256 WHERE a.side = ? AND b.side IN (?, ?)"
    )
    count, name, other = table.execute(copies, (TEST, *SEEN)).fetchone()
    if not count:
        return []
    pair = f"{make_printable(name)} and {make_printable(other)} for one pair"
    return [f"{count:,} examples of the test have the bytes of others in training or validation, {pair}"]


def _choose_rule(table: sqlite3.Connection, source: int, dataset: Dataset) -> str:
    rule = dataset.split
    if rule.validation_list:
        return "given"
    if rule.fold and rule.by == "auto":
        return "fraction"
    if rule.by != "auto":
        return rule.by
    counts = "SELECT COUNT(given), SUM(given = ?), COUNT(*) FROM examples WHERE source = ? AND given IS NOT ?"
    given, tested, every = table.execute(counts, (TEST, source, TAUGHT)).fetchone()
    if 0 < given < every and given == tested:
        return "given_test"
    if 0 < given < every:
        missing = "SELECT MIN(name) FROM examples WHERE source = ? AND given IS NULL"
        [name] = table.execute(missing, [source]).fetchone()
        raise DataError(
            f"{dataset.path}: {every - given} of {every} examples have no split, {make_printable(name)} for one; "
            "give every example one, or set data.split.by: fraction"
        )
    return "given" if given else "fraction"


def _describe_rule(by: str, dataset: Dataset) -> str:
    rule = dataset.split
    if rule.validation_list:
        return "by " + join_names([file for file in (rule.train_list, rule.validation_list, rule.test_list) if file])
    if by == "given":
        return f"by {dataset.describe_sides()}"
    if by == "test":
        return "all of it for the test"
    together = ", groups kept together" if rule.group else ""
    if by == "blocks" and rule.test:
        shares = (
            f"the last {rule.test:.0%} of each group for the test, {rule.validation:.0%} before them for validation"
        )
        return f"{shares}, a gap of {rule.gap} before each{together}"
    if by == "blocks":
        return f"the last {rule.validation:.0%} of each group for validation, a gap of {rule.gap} before it{together}"
    tested = f" and {rule.test:.0%} for the test" if rule.test else ""
    share = f"{rule.validation:.0%}" if rule.folds is None else f"part {rule.folds[0]} of {rule.folds[1]}"
    drawn = f"{share} of every class drawn for validation{tested}, seed {rule.seed}{together}"
    if by == "given_test":
        return f"the test by {dataset.describe_sides()}; of the others {drawn}"
    return drawn + ("; the dataset itself names no split (data.split)" if rule.by == "auto" and not rule.fold else "")


def _given(table: sqlite3.Connection, source: int, dataset: Dataset) -> list[str]:
    warnings = _by_lists(table, source, dataset) if dataset.split.validation_list else []
    of_side = "SELECT 1 FROM examples WHERE source = ? AND given = ?"
    if not table.execute(of_side, (source, VALIDATION)).fetchone():
        stand_in = "UPDATE examples SET given = ? WHERE source = ? AND given = ?"
        if table.execute(stand_in, (VALIDATION, source, TEST)).rowcount:
            warnings.append(
                "the dataset has a test and no validation, so its test is the validation, by which weights are chosen "
                "(data.split.by: given_test keeps the test and draws validation from the rest)"
            )
    table.execute(
        "UPDATE examples SET side = given WHERE source = ? AND left_out IS NULL AND given IS NOT ?", (source, TAUGHT)
    )
    return warnings


def _keep_test(table: sqlite3.Connection, source: int) -> None:
    """Keep the test that the dataset names, and leave out what belongs to it."""
    table.execute("UPDATE examples SET side = given WHERE source = ? AND given = ?", (source, TEST))
    table.execute(
        "UPDATE examples SET left_out = ? WHERE source = ? AND side IS NULL AND unit IN "
        "(SELECT unit FROM examples WHERE side = ?)",
        (WITH_TEST, source, TEST),
    )


def _by_lists(table: sqlite3.Connection, source: int, dataset: Dataset) -> list[str]:
    """A name in a list may be the path, or the file's name with or without its ending."""
    root, rule, warnings = dataset.folder(), dataset.split, []
    table.execute("CREATE TEMP TABLE IF NOT EXISTS listed (entry TEXT PRIMARY KEY, side TEXT, is_used INTEGER)")
    table.execute("DELETE FROM listed")
    for file, entry, side in rule.read_lists(root):
        if not table.execute("INSERT OR IGNORE INTO listed VALUES (?, ?, 0)", (entry, side)).rowcount:
            held = table.execute("SELECT side FROM listed WHERE entry = ?", [entry]).fetchone()[0]
            if held != side:
                raise DataError(f"{(root / file).as_posix()}: {make_printable(entry)[:MOST_SHOWN]} is in two lists")
    rest = TRAIN if rule.train_list is None else None
    table.execute("DELETE FROM decided")
    own = "source = ? AND given IS NOT ?"  # lists say nothing of what a teacher answers
    for [name] in table.execute(f"SELECT name FROM examples WHERE {own}", (source, TAUGHT)):
        path = PurePosixPath(name)
        names = (name, path.name, path.stem, path.with_suffix("").as_posix())
        marks = ", ".join("?" * len(names))
        match = table.execute(f"SELECT entry, side FROM listed WHERE entry IN ({marks})", names).fetchone()
        if match:
            table.execute("UPDATE listed SET is_used = 1 WHERE entry = ?", [match[0]])
        given = match[1] if match else rest
        table.execute("INSERT INTO decided VALUES (?, ?, ?)", (name, given, None if given else IN_NO_LIST))
    table.execute(
        f"UPDATE examples SET (given, left_out) = (SELECT side, reason FROM decided WHERE key = name) WHERE {own}",
        (source, TAUGHT),
    )
    lost, entry = table.execute("SELECT COUNT(*), MIN(entry) FROM listed WHERE is_used = 0").fetchone()
    if lost:
        warnings.append(
            f"{lost:,} names of the split's lists are no usable example, {make_printable(entry)[:MOST_SHOWN]} for one"
        )
    return warnings


def _blocks(table: sqlite3.Connection, source: int, rule: SplitSettings) -> None:
    """The end of every group, in the order of the numbers in the names, is for validation, or for the test after it."""
    sizes = table.execute("SELECT unit, COUNT(*) FROM examples WHERE source = ? GROUP BY unit ORDER BY unit", [source])
    names = table.execute("SELECT name FROM examples WHERE source = ? ORDER BY unit, natural, name", [source])
    sides = chain.from_iterable(_cut_block(size, rule) for _, size in sizes)
    table.execute("DELETE FROM decided")
    table.executemany(
        "INSERT INTO decided VALUES (?, ?, ?)",
        ((name, side, None if side else IN_GAP) for [name], side in zip(names, sides, strict=True)),
    )
    table.execute(
        "UPDATE examples SET (side, left_out) = (SELECT side, reason FROM decided WHERE key = name) WHERE source = ?",
        [source],
    )


def _cut_block(size: int, rule: SplitSettings) -> list[str | None]:
    """Return the side of each example of a group, in their order; None in a gap."""
    if size == 1:
        return [TRAIN]
    taken = min(max(round(size * rule.validation), 1), size - 1)
    tested = min(max(round(size * rule.test), 1), size - 1 - taken) if rule.test and size > 2 else 0
    end = max(size - tested - (rule.gap if tested else 0), 0)  # of validation
    begin = max(end - taken, 0)
    trained = max(begin - rule.gap, 0)
    before, after = [None] * (begin - trained), [None] * (size - tested - end)
    return [*[TRAIN] * trained, *before, *[VALIDATION] * (end - begin), *after, *[TEST] * tested]


def _suggest(side: str, dataset: Dataset) -> str:
    if dataset.split.by == "test" and side != TEST:
        return "with data.split.by: test it can only be judged on: `bakeoff evaluate --data OPTION --split test`"
    if dataset.split.by in ("auto", "given") and side == VALIDATION:
        return "add a validation folder, or set data.split.by: fraction to take a share of the training examples"
    if side == TEST:
        return "set data.split.test to a larger share, or correct what names the test (docs/records.md)"
    return "the split needs at least two groups that can be parted (docs/records.md)"
