"""Every usable item gets its side, train or validation, by its dataset's rule; the same bytes are never on both."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from bakeoff.building.catalogue import Catalogue
from bakeoff.errors import DataError
from bakeoff.records.record import SPLITS, TRAIN, VALIDATION
from bakeoff.sources.dataset import TEST, Dataset, Part, Split, hash_place
from bakeoff.sources.raw_files import make_printable, read_lines

UNUSED_TEST = "in the test side, which is kept out of training and validation"
MOST_SHOWN = 80  # characters of a name in a list
IN_NO_LIST = "in neither of the split's lists"
IN_GAP = "in the gap between training and validation (data.split.gap)"


def choose_sides(catalogue: Catalogue, parts: Sequence[Part]) -> tuple[list[str], list[str]]:
    """Give every example its side; return how each dataset was split, and what the user should be warned of."""
    split: list[str] = []
    warnings: list[str] = []
    with catalogue.changing() as table:
        # What is decided while a query runs is put aside here, since SQLite does not define changing what is read.
        table.execute("CREATE TEMP TABLE IF NOT EXISTS decided (key TEXT PRIMARY KEY, side TEXT, reason TEXT)")
        _join_copies(table)
        for source, part in enumerate(parts):
            dataset, rule = part.dataset, part.dataset.split
            by = _choose_rule(table, source, dataset)
            split.append(f"split{part.name and f' of {part.name}'}: {_describe_rule(by, dataset)}")
            if by == "given":
                warnings += _given(table, source, dataset)
            elif by == "fraction":
                warnings += _fraction(table, source, rule)
            else:
                _blocks(table, source, rule)
        _part_copies(table)
        for side in SPLITS:
            if not table.execute("SELECT 1 FROM examples WHERE side = ?", [side]).fetchone():
                first = parts[0].dataset
                raise DataError(f"{first.path}: no example is left for {side}; {_suggest(side, first)}")
    return split, warnings


def _join_copies(table: sqlite3.Connection) -> None:
    """Groups that share an image with the same bytes become one."""
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


def _part_copies(table: sqlite3.Connection) -> None:
    """Given sides and blocks may still hold the same bytes: validation keeps them, training does without."""
    copies = (
        "SELECT a.name, MIN(b.name) FROM examples a JOIN examples b ON a.sha256 = b.sha256 "
        "WHERE a.side = ? AND b.side = ? AND a.sha256 IN "
        "(SELECT sha256 FROM examples GROUP BY sha256 HAVING COUNT(DISTINCT side) > 1) GROUP BY a.name"
    )
    table.execute("CREATE INDEX IF NOT EXISTS by_bytes ON examples (sha256)")
    for name, other in table.execute(copies, (TRAIN, VALIDATION)).fetchall():
        reason = f"the same bytes as {make_printable(other)}, which stays in validation"
        table.execute("UPDATE examples SET side = NULL, left_out = ? WHERE name = ?", (reason, name))


def _choose_rule(table: sqlite3.Connection, source: int, dataset: Dataset) -> str:
    rule = dataset.split
    if rule.validation_list:
        return "given"
    if rule.by != "auto":
        return rule.by
    given, every = table.execute("SELECT COUNT(given), COUNT(*) FROM examples WHERE source = ?", [source]).fetchone()
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
        return "by " + " and ".join(file for file in (rule.train_list, rule.validation_list) if file)
    if by == "given":
        return f"by {dataset.describe_sides()}"
    together = ", groups kept together" if rule.group else ""
    if by == "blocks":
        return f"the last {rule.validation:.0%} of each group for validation, a gap of {rule.gap} before it{together}"
    drawn = f"{rule.validation:.0%} of every class drawn for validation, seed {rule.seed}{together}"
    return drawn + ("; the dataset itself names no sides (data.split)" if rule.by == "auto" else "")


def _given(table: sqlite3.Connection, source: int, dataset: Dataset) -> list[str]:
    warnings = _by_lists(table, source, dataset) if dataset.split.validation_list else []
    of_side = "SELECT 1 FROM examples WHERE source = ? AND given = ?"
    if not table.execute(of_side, (source, VALIDATION)).fetchone():
        table.execute("UPDATE examples SET given = ? WHERE source = ? AND given = ?", (VALIDATION, source, TEST))
    table.execute("UPDATE examples SET left_out = ? WHERE source = ? AND given = ?", (UNUSED_TEST, source, TEST))
    table.execute("UPDATE examples SET side = given WHERE source = ? AND left_out IS NULL", [source])
    return warnings


def _by_lists(table: sqlite3.Connection, source: int, dataset: Dataset) -> list[str]:
    """A name in a list may be the path, or the file's name with or without its ending."""
    root, rule, warnings = dataset.folder(), dataset.split, []
    table.execute("CREATE TEMP TABLE IF NOT EXISTS listed (word TEXT PRIMARY KEY, side TEXT, found INTEGER)")
    table.execute("DELETE FROM listed")
    for key, file, side in (
        ("train_list", rule.train_list, TRAIN),
        ("validation_list", rule.validation_list, VALIDATION),
    ):
        for line in read_lines(root, file, f"data.split.{key}") if file else ():
            word = line.split()[0] if line.split() else ""
            if word and not table.execute("INSERT OR IGNORE INTO listed VALUES (?, ?, 0)", (word, side)).rowcount:
                held = table.execute("SELECT side FROM listed WHERE word = ?", [word]).fetchone()[0]
                if held != side:
                    raise DataError(f"{(root / file).as_posix()}: {make_printable(word)[:MOST_SHOWN]} is in both lists")  # type: ignore[operator]
    rest = TRAIN if rule.train_list is None else None
    table.execute("DELETE FROM decided")
    for [name] in table.execute("SELECT name FROM examples WHERE source = ?", [source]):
        path = PurePosixPath(name)
        words = (name, path.name, path.stem, path.with_suffix("").as_posix())
        marks = ", ".join("?" * len(words))
        found = table.execute(f"SELECT word, side FROM listed WHERE word IN ({marks})", words).fetchone()
        if found:
            table.execute("UPDATE listed SET found = 1 WHERE word = ?", [found[0]])
        given = found[1] if found else rest
        table.execute("INSERT INTO decided VALUES (?, ?, ?)", (name, given, None if given else IN_NO_LIST))
    table.execute(
        "UPDATE examples SET (given, left_out) = (SELECT side, reason FROM decided WHERE key = name) WHERE source = ?",
        [source],
    )
    lost, word = table.execute("SELECT COUNT(*), MIN(word) FROM listed WHERE found = 0").fetchone()
    if lost:
        warnings.append(
            f"{lost:,} names of the split's lists are no usable example, {make_printable(word)[:MOST_SHOWN]} for one"
        )
    return warnings


def _fraction(table: sqlite3.Connection, source: int, rule: Split) -> list[str]:
    """A share of the groups of every class, the same ones when others come and go."""
    table.execute("DROP TABLE IF EXISTS units")
    table.execute("CREATE TEMP TABLE units (unit TEXT PRIMARY KEY, size INT, place INT, stratum TEXT, side TEXT)")
    sizes = table.execute("SELECT unit, COUNT(*) FROM examples WHERE source = ? GROUP BY unit", [source])
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
    alone = _mend(table, counts)
    table.execute(
        "UPDATE examples SET side = (SELECT side FROM units WHERE units.unit = examples.unit) WHERE source = ?",
        [source],
    )
    return alone


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


def _mend(table: sqlite3.Connection, counts: dict[str, int]) -> list[str]:
    """Moves a group where a class of two or more is on one side only. Returns the classes that cannot be helped."""
    held: dict[str, Counter[str]] = defaultdict(Counter)
    sides = "SELECT label, side, COUNT(*) FROM unit_labels JOIN units USING (unit) GROUP BY label, side"
    for label, side, number in table.execute(sides):
        held[label][side] = number
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


def _blocks(table: sqlite3.Connection, source: int, rule: Split) -> None:
    """The end of every group, in the order of the numbers in the names, is for validation."""
    groups = table.execute("SELECT unit, COUNT(*) FROM examples WHERE source = ? GROUP BY unit", [source])
    table.execute("DELETE FROM decided")
    for unit, size in groups:
        taken = min(max(round(size * rule.validation), 1), size - 1) if size > 1 else 0
        names = table.execute("SELECT name FROM examples WHERE unit = ? ORDER BY natural, name", [unit])
        for position, [name] in enumerate(names):
            before = size - taken - position  # so many to the first of validation
            side = VALIDATION if before <= 0 else TRAIN if before > rule.gap or not taken else None
            table.execute("INSERT INTO decided VALUES (?, ?, ?)", (name, side, None if side else IN_GAP))
    table.execute(
        "UPDATE examples SET (side, left_out) = (SELECT side, reason FROM decided WHERE key = name) WHERE source = ?",
        [source],
    )


def _suggest(side: str, dataset: Dataset) -> str:
    if dataset.split.by in ("auto", "given") and side == VALIDATION:
        return "add a validation folder, or set data.split.by: fraction to take a share of the training examples"
    return "the split needs at least two groups that can be parted (docs/records.md)"
