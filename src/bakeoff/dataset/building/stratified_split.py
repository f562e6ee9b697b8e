"""A split by shares: so many of the groups of every class for validation and for the test, the same ones when others
come and go.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator

from bakeoff.dataset.records.record import TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.dataset import Split, hash_place
from bakeoff.dataset.sources.paths import make_printable

FREE = "source = ? AND side IS NULL AND left_out IS NULL"  # examples whose side nobody has named
Held = dict[str, Counter[str]]  # label -> how many groups of each side have it


def draw_sides(table: sqlite3.Connection, source: int, rule: Split) -> list[str]:
    """Give the examples of a dataset that have no side yet theirs; return the classes that cannot be parted.

    What the test gets is taken from training alone: validation is the same with a test and without one.
    """
    table.execute("DROP TABLE IF EXISTS units")
    table.execute("CREATE TEMP TABLE units (unit TEXT PRIMARY KEY, size INT, place INT, stratum TEXT, side TEXT)")
    sizes = table.execute(f"SELECT unit, COUNT(*) FROM examples WHERE {FREE} GROUP BY unit", [source])
    table.executemany(
        "INSERT INTO units VALUES (?, ?, ?, '', NULL)",
        ((unit, size, hash_place(rule.seed, unit.partition(":")[2])) for unit, size in sizes),
    )
    table.execute("DROP TABLE IF EXISTS unit_labels")
    table.execute(
        "CREATE TEMP TABLE unit_labels AS SELECT DISTINCT unit, label FROM labels JOIN examples USING (name) "
        "WHERE unit IN (SELECT unit FROM units)"
    )
    table.execute("CREATE INDEX temp.of_unit ON unit_labels (unit)")
    counts = dict(table.execute("SELECT label, COUNT(*) FROM unit_labels GROUP BY label"))
    table.create_function("rarity", 1, lambda label: counts[label], deterministic=True)
    table.execute(  # a group counts for the rarest of its classes
        "UPDATE units SET stratum = COALESCE((SELECT label FROM unit_labels WHERE unit_labels.unit = units.unit "
        "ORDER BY rarity(label), label LIMIT 1), '')"
    )
    if rule.folds:
        _deal_folds(table, *rule.folds)
        alone = _describe_unparted(table, counts, _count_held(table))
        _take_over(table, source)
        return alone
    table.execute("DELETE FROM decided")
    strata = table.execute("SELECT stratum, SUM(size), COUNT(*) FROM units GROUP BY stratum").fetchall()
    for stratum, examples, units in strata:
        _divide(table, stratum, examples, units, rule.validation)
    table.execute("UPDATE units SET side = (SELECT side FROM decided WHERE key = unit)")
    if not table.execute("SELECT 1 FROM units WHERE side = ?", [VALIDATION]).fetchone():
        # Every class is in one group only. Those without any class go first, then whoever comes.
        count = table.execute("SELECT COUNT(*) FROM units").fetchone()[0]
        table.execute(
            "UPDATE units SET side = ? WHERE unit IN "
            "(SELECT unit FROM units ORDER BY stratum != '', place, unit LIMIT ?)",
            (VALIDATION, min(count - 1, max(1, round(count * rule.validation)))),
        )
    held = _repair(table, counts)
    alone = _describe_unparted(table, counts, held)
    if rule.test:
        _take_test(table, rule.test, held)
    _take_over(table, source)
    return alone


def _deal_folds(table: sqlite3.Connection, number: int, parts: int) -> None:
    """Deal the groups of every class to the parts, the next to the one that has least; one part is validation.

    No group's part depends on `number`, so that each example is in validation once. No group is moved for a class that
    only one part has.
    """
    every, last = [0] * parts, None
    held: list[int] = []
    dealt: list[tuple[str, str]] = []
    for unit, size, stratum in table.execute("SELECT unit, size, stratum FROM units ORDER BY stratum, place, unit"):
        if stratum != last:
            held, last = [0] * parts, stratum
        part = min(range(parts), key=lambda one: (held[one], every[one], one))
        held[part] += size
        every[part] += size
        dealt.append((VALIDATION if part == number - 1 else TRAIN, unit))
    table.executemany("UPDATE units SET side = ? WHERE unit = ?", dealt)


def _take_over(table: sqlite3.Connection, source: int) -> None:
    """Give every example the side of its group."""
    table.execute(
        f"UPDATE examples SET side = (SELECT side FROM units WHERE units.unit = examples.unit) WHERE {FREE}", [source]
    )


def _divide(table: sqlite3.Connection, stratum: str, examples: int, units: int, share: float) -> None:
    wanted, taken, chosen = round(examples * share), 0, 0
    ordered = table.execute("SELECT unit, size FROM units WHERE stratum = ? ORDER BY place, unit", [stratum])
    for position, (unit, size) in enumerate(ordered):
        nearer = abs(taken + size - wanted) <= abs(taken - wanted)
        last_chance = chosen == 0 and position == units - 1
        is_taken = (nearer or last_chance) and chosen < units - 1 and taken < max(wanted, 1)
        if is_taken:
            taken, chosen = taken + size, chosen + 1
        table.execute("INSERT INTO decided VALUES (?, ?, NULL)", (unit, VALIDATION if is_taken else TRAIN))


def _take_test(table: sqlite3.Connection, share: float, held: Held) -> None:
    """Move a share of the groups of every class from training to the test, never the last one that has a class."""
    strata = table.execute("SELECT stratum, SUM(size) FROM units GROUP BY stratum ORDER BY stratum").fetchall()
    ordered = "SELECT unit, size FROM units WHERE stratum = ? AND side = ? ORDER BY place DESC, unit"
    for stratum, examples in strata:
        wanted, taken = max(1, round(examples * share)), 0
        for unit, size in table.execute(ordered, (stratum, TRAIN)).fetchall():
            labels = [row[0] for row in table.execute("SELECT label FROM unit_labels WHERE unit = ?", [unit])]
            is_nearer = abs(taken + size - wanted) <= abs(taken - wanted)
            if not is_nearer or any(held[label][TRAIN] < 2 for label in labels):
                continue
            table.execute("UPDATE units SET side = ? WHERE unit = ?", (TEST, unit))
            taken += size
            for label in labels:
                held[label][TRAIN] -= 1


def _repair(table: sqlite3.Connection, counts: dict[str, int]) -> Held:
    """Move a group where a class of two or more is on one side only; return how many groups each side has."""
    held = _count_held(table)
    for label in sorted(counts, key=lambda label: (counts[label], label)):
        for missing, other in ((VALIDATION, TRAIN), (TRAIN, VALIDATION)):
            if held[label][missing] or counts[label] < 2:
                continue
            for unit, its in list(_candidates(table, label, other)):
                if all(held[one][other] > 1 for one in its):
                    table.execute("UPDATE units SET side = ? WHERE unit = ?", (missing, unit))
                    for one in its:
                        held[one][other] -= 1
                        held[one][missing] += 1
                    break
    return held


def _count_held(table: sqlite3.Connection) -> Held:
    held: Held = defaultdict(Counter)
    sides = "SELECT label, side, COUNT(*) FROM unit_labels JOIN units USING (unit) GROUP BY label, side"
    for label, side, number in table.execute(sides):
        held[label][side] = number
    return held


def _describe_unparted(table: sqlite3.Connection, counts: dict[str, int], held: Held) -> list[str]:
    """Name the classes that could not be helped."""
    examples = dict(table.execute("SELECT label, COUNT(*) FROM labels GROUP BY label"))
    return [
        f"class {make_printable(label)!r} is in {next(iter(+held[label]))} only: "
        f"its {examples[label]} examples cannot be parted without parting groups or other classes"
        for label in sorted(counts)
        if len(+held[label]) < 2 and examples[label] > 1
    ]


def _candidates(table: sqlite3.Connection, label: str, side: str) -> Iterator[tuple[str, list[str]]]:
    units = table.execute(
        "SELECT unit FROM unit_labels JOIN units USING (unit) WHERE label = ? AND side = ? ORDER BY size, place, unit",
        (label, side),
    ).fetchmany(1000)
    for [unit] in units:
        yield unit, [row[0] for row in table.execute("SELECT label FROM unit_labels WHERE unit = ?", [unit])]
