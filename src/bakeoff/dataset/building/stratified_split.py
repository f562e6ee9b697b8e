"""A split by shares: so many of the groups of every class for validation and for the test, the same ones when others
come and go.
"""

import sqlite3

import numpy as np

from bakeoff.dataset.records.record import TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.dataset import SplitSettings, hash_place
from bakeoff.foundation.formatting import make_printable

SIDES = (TRAIN, VALIDATION, TEST)
IN_TRAIN, IN_VALIDATION, IN_TEST = range(len(SIDES))
FREE = "source = ? AND side IS NULL AND left_out IS NULL"  # examples whose side nobody has named
NO_CLASS = 0  # the number of the empty name, which comes before every other
MOST_TRIED = 1000  # groups, to bring a class to a side that lacks it


def draw_sides(table: sqlite3.Connection, source: int, rule: SplitSettings) -> list[str]:
    """Give the examples of a dataset that have no side yet theirs; return the classes that cannot be parted.

    What the test gets is taken from training alone: validation is the same with a test and without one.
    """
    groups = FreeGroups(table, source, rule.seed)
    if rule.folds:
        groups.deal(*rule.folds)
    else:
        groups.divide(rule.validation)
        groups.repair()
    examples = dict(table.execute("SELECT label, COUNT(*) FROM labels GROUP BY label"))
    alone = [
        f"class {make_printable(label)!r} is in {side} only: "
        f"its {examples[label]} examples cannot be parted without parting groups or other classes"
        for label, side in groups.list_unparted()
        if examples[label] > 1
    ]
    if rule.test:
        groups.take_test(rule.test)
    groups.write_sides(table, source)
    return alone


class FreeGroups:
    """The groups of a dataset whose side is to be drawn, by number in the order of their names, and their classes.

    Names stay in the catalogue. What is held here takes about 30 bytes a group, and 8 for each class of it.
    """

    def __init__(self, table: sqlite3.Connection, source: int, seed: int) -> None:
        table.execute("DROP TABLE IF EXISTS free_groups")
        table.execute("CREATE TEMP TABLE free_groups (number INTEGER PRIMARY KEY, unit TEXT UNIQUE, size INT)")
        named = f"SELECT unit, COUNT(*) FROM examples WHERE {FREE} GROUP BY unit ORDER BY unit"
        table.execute(f"INSERT INTO free_groups (unit, size) {named}", [source])
        sized = table.execute("SELECT size, unit FROM free_groups ORDER BY number")
        rows = ((size, hash_place(seed, unit.partition(":")[2])) for size, unit in sized)
        columns = np.fromiter(rows, dtype=[("size", np.int64), ("place", np.int64)])
        self._sizes, self._places = columns["size"], columns["place"]
        self._classes = sorted({"", *(label for [label] in table.execute("SELECT DISTINCT label FROM labels"))})
        self._read_classes(table)
        self._sides = np.full(len(columns), IN_TRAIN, np.int8)

    def _read_classes(self, table: sqlite3.Connection) -> None:
        number = {label: place for place, label in enumerate(self._classes)}
        held = table.execute(
            "SELECT DISTINCT number, label FROM examples JOIN free_groups USING (unit) JOIN labels USING (name) "
            "ORDER BY number"
        )
        pairs = np.fromiter(
            ((group - 1, number[label]) for group, label in held), dtype=[("group", np.int32), ("class", np.int32)]
        )
        self._owners, self._labels = pairs["group"], pairs["class"]
        self._starts = np.searchsorted(self._owners, np.arange(len(self._sizes) + 1))  # of a group's labels
        self._counts = np.bincount(self._labels, minlength=len(self._classes))
        self._by_rarity = np.argsort(self._counts, kind="stable")
        rarity = np.argsort(self._by_rarity)  # the place of each class among them
        rarest = np.full(len(self._sizes), len(self._classes))
        np.minimum.at(rarest, self._owners, rarity[self._labels])
        # A group counts for the rarest of its classes.
        self._strata = np.append(self._by_rarity, NO_CLASS)[rarest].astype(np.int32)

    def divide(self, share: float) -> None:
        """Put a share of the examples of every class into validation, but never all groups of a class."""
        for stratum in self._each_stratum(np.lexsort((self._places, self._strata))):
            wanted, taken, chosen = round(int(self._sizes[stratum].sum()) * share), 0, 0
            for position, group in enumerate(stratum):
                size = int(self._sizes[group])
                is_nearer = abs(taken + size - wanted) <= abs(taken - wanted)
                is_last_chance = chosen == 0 and position == len(stratum) - 1
                if (is_nearer or is_last_chance) and chosen < len(stratum) - 1 and taken < max(wanted, 1):
                    self._sides[group] = IN_VALIDATION
                    taken, chosen = taken + size, chosen + 1
        if not self._sides.any():
            # Every class is in one group only. Those without any class go first, then whoever comes.
            order = np.lexsort((self._places, self._strata != NO_CLASS))
            count = len(order)
            self._sides[order[: min(count - 1, max(1, round(count * share)))]] = IN_VALIDATION

    def deal(self, number: int, parts: int) -> None:
        """Deal the groups of every class to the parts, the next to the one that has least; one part is validation.

        No group's part depends on `number`, so that each example is in validation once. No group is moved for a class
        that only one part has.
        """
        every = [0] * parts
        for stratum in self._each_stratum(np.lexsort((self._places, self._strata))):
            held = [0] * parts
            for group in stratum:
                part = min(range(parts), key=lambda one: (held[one], every[one], one))
                held[part] += int(self._sizes[group])
                every[part] += int(self._sizes[group])
                self._sides[group] = IN_VALIDATION if part == number - 1 else IN_TRAIN

    def repair(self) -> None:
        """Move a group where a class of two or more is on one side only."""
        held = self._count_held()
        for label in self._by_rarity:
            for missing, other in ((IN_VALIDATION, IN_TRAIN), (IN_TRAIN, IN_VALIDATION)):
                if held[label, missing] or self._counts[label] < 2:
                    continue
                for group in self._smallest_of(label, other)[:MOST_TRIED]:
                    its = self._labels_of(group)
                    if (held[its, other] > 1).all():
                        self._sides[group] = missing
                        held[its, other] -= 1
                        held[its, missing] += 1
                        break

    def take_test(self, share: float) -> None:
        """Move a share of every class from training to the test, never the last group that has a class."""
        held = self._count_held()
        for stratum in self._each_stratum(np.lexsort((-self._places, self._strata))):
            wanted, taken = max(1, round(int(self._sizes[stratum].sum()) * share)), 0
            for group in stratum[self._sides[stratum] == IN_TRAIN]:
                size, its = int(self._sizes[group]), self._labels_of(group)
                if abs(taken + size - wanted) <= abs(taken - wanted) and (held[its, IN_TRAIN] > 1).all():
                    self._sides[group] = IN_TEST
                    held[its, IN_TRAIN] -= 1
                    taken += size

    def list_unparted(self) -> list[tuple[str, str]]:
        """Return the classes that are on one side only, each with that side."""
        held = self._count_held() > 0
        alone = np.flatnonzero(held.sum(axis=1) == 1)
        return [(self._classes[label], SIDES[held[label].argmax()]) for label in alone]

    def write_sides(self, table: sqlite3.Connection, source: int) -> None:
        """Give every example the side of its group."""
        table.execute("DELETE FROM decided")
        units = table.execute("SELECT unit FROM free_groups ORDER BY number")
        rows = ((unit, SIDES[side]) for [unit], side in zip(units, self._sides, strict=True))
        table.executemany("INSERT INTO decided VALUES (?, ?, NULL)", rows)
        table.execute(f"UPDATE examples SET side = (SELECT side FROM decided WHERE key = unit) WHERE {FREE}", [source])

    def _each_stratum(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut groups that are sorted by stratum into one array for each."""
        return np.split(order, np.flatnonzero(np.diff(self._strata[order])) + 1)

    def _smallest_of(self, label: int, side: int) -> np.ndarray:
        """Return the groups of a class that are on this side, the smallest first."""
        groups = self._owners[self._labels == label]
        groups = groups[self._sides[groups] == side]
        return groups[np.lexsort((self._places[groups], self._sizes[groups]))]

    def _labels_of(self, group: int) -> np.ndarray:
        return self._labels[self._starts[group] : self._starts[group + 1]]

    def _count_held(self) -> np.ndarray:
        """Return how many groups of each side have each class."""
        held = np.zeros((len(self._classes), len(SIDES)), np.int64)
        np.add.at(held, (self._labels, self._sides[self._owners]), 1)
        return held
