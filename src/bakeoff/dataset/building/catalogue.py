"""Everything that a build knows of its items, in a SQLite file: memory stays the same for a hundred or a million.

items     as the sources list them, with a stamp that changes when the item or its file does: a hash
verdicts  what the check found; kept while the stamp is the same, so a killed build need not check again
examples  the items that become records: which side, which shard
"""

import json
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bakeoff.dataset.building.validate import ItemVerdict
from bakeoff.dataset.records.record import Box
from bakeoff.dataset.records.wire import to_signed
from bakeoff.dataset.sources.dataset import Item, hash_place

PREPARE = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL; -- what a power cut takes is checked again, and the rest stays whole
PRAGMA cache_size = -16000;
PRAGMA temp_store = FILE;
CREATE TABLE IF NOT EXISTS items (
  name TEXT PRIMARY KEY, source INTEGER, stamp INTEGER, content TEXT, unpaired INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS verdicts (
  name TEXT PRIMARY KEY, stamp INTEGER, reason TEXT, ignored INTEGER, sha256 TEXT, likeness INTEGER, content TEXT
  ) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS examples (
  name TEXT PRIMARY KEY, source INTEGER, unit TEXT, given TEXT, natural TEXT, side TEXT, left_out TEXT,
  place INTEGER, bytes INTEGER, shard INTEGER, sha256 TEXT, likeness INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS labels (name TEXT, label TEXT, PRIMARY KEY (name, label)) WITHOUT ROWID;
"""
DUPLICATE = "is listed twice; the first annotation counts"
_encode = json.JSONEncoder(separators=(",", ":")).encode  # `dumps` makes an encoder each time
AT_ONCE = 256  # items that are listed in one transaction
PackedItem = tuple[int, str]  # the number of its dataset, and the item as the catalogue keeps it
# Why it is refused, whether it is ignored, its SHA-256, the hash of its picture, the whole verdict, its name.
PackedVerdict = tuple[str | None, bool, str, int, str, str]
PackedRow = tuple[int, str, str]  # of an example: the number of its dataset, its item, its verdict


class ItemRow(NamedTuple):
    name: str
    source: int
    stamp: int
    content: str
    unpaired: bool

    @classmethod
    def of(cls, source: int, item: Item, stamp: str = "") -> "ItemRow":
        content = pack_content(item)
        return cls(item.name, source, hash_place(0, f"{stamp}:{content}"), content, item.unpaired)


class Catalogue:
    def __init__(self, path: Path) -> None:
        self.table = _open(path)

    def close(self) -> None:
        self.table.close()

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction: all of it or nothing is kept."""
        self.table.execute("BEGIN")
        with self.table:
            yield self.table

    def list_items(
        self, rows: Iterable[tuple[int, Item]], stamp: Callable[[int, Item], str]
    ) -> Iterator[list[tuple[str, PackedItem]]]:
        """Replace what was listed before by (source, item). Of two items of one name the first stays.

        `stamp` says of an item what changes when its file does.
        Yield the names and items of each part of the list that have no verdict yet, as soon as they are listed. An
        image without an annotation is not among them: its annotation may still follow.
        """
        source = iter(rows)
        is_new = not self.count("verdicts")  # then none of those to come is an earlier build's
        self.table.execute("DELETE FROM items")
        while some := list(islice(source, AT_ONCE)):
            with self.changing():
                listed = self._list_some(some, stamp)
            known = set[str]() if is_new else self._find_checked([name for name, _ in listed])
            yield [row for row in listed if row[0] not in known]
        if not is_new:
            self.table.execute(
                "DELETE FROM verdicts WHERE NOT EXISTS "
                "(SELECT 1 FROM items WHERE items.name = verdicts.name AND items.stamp = verdicts.stamp)"
            )

    def _find_checked(self, names: Sequence[str]) -> set[str]:
        """Return which items of these names have a verdict that still holds."""
        held = "SELECT name FROM items JOIN verdicts USING (name, stamp) WHERE name IN "
        rows = self.table.execute(f"{held} ({', '.join('?' * len(names))})", names)
        return {name for (name,) in rows}

    def _list_some(
        self, rows: Sequence[tuple[int, Item]], stamp: Callable[[int, Item], str]
    ) -> list[tuple[str, PackedItem]]:
        """Return the names and contents of those that are new and will not change."""
        marks = ", ".join("?" * len(rows))
        names = [item.name for _, item in rows]
        known = {name for (name,) in self.table.execute(f"SELECT name FROM items WHERE name IN ({marks})", names)}
        new: list[ItemRow] = []
        listed: list[tuple[str, PackedItem]] = []
        for source, item in rows:
            if item.name not in known:
                known.add(item.name)
                new.append(ItemRow.of(source, item, stamp(source, item)))
                if not item.unpaired:
                    listed.append((item.name, (source, new[-1].content)))
            elif not item.unpaired:
                self._insert(new)
                known.add(self._add_again(source, item, stamp))
        self._insert(new)
        return listed

    def count(self, table: str, where: str = "1") -> int:
        return int(self.table.execute(f"SELECT COUNT(*) FROM {table} WHERE {where}").fetchone()[0])

    def unchecked(self) -> Iterator[tuple[str, PackedItem]]:
        """Yield the names and items without a verdict. It reads ahead, so that verdicts can be added meanwhile."""
        last = ""
        query = (
            "SELECT name, source, content FROM items WHERE name > ? AND NOT EXISTS "
            "(SELECT 1 FROM verdicts WHERE verdicts.name = items.name) ORDER BY name LIMIT 1024"
        )
        while rows := self.table.execute(query, [last]).fetchall():
            for name, source, content in rows:
                yield name, (source, content)
            last = rows[-1][0]

    def add_verdicts(self, verdicts: Iterable[PackedVerdict]) -> None:
        with self.changing() as table:
            table.executemany(
                "INSERT OR REPLACE INTO verdicts SELECT name, stamp, ?, ?, ?, ?, ? FROM items WHERE name = ?", verdicts
            )

    def verdicts(self, where: str = "1") -> Iterator[tuple[int, ItemVerdict]]:
        query = f"SELECT source, verdicts.content FROM verdicts JOIN items USING (name) WHERE {where} ORDER BY name"
        for source, content in self.table.execute(query):
            yield source, unpack_verdict(content)

    def shard(self, side: str, shard: int) -> Generator[PackedRow, None, None]:
        """What one shard holds, in its order."""
        query = (
            "SELECT items.source, items.content, verdicts.content FROM examples JOIN items USING (name) "
            "JOIN verdicts USING (name) WHERE side = ? AND shard = ? ORDER BY place, name"
        )
        yield from self.table.execute(query, [side, shard])

    def _insert(self, items: list[ItemRow]) -> None:
        self.table.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", items)
        items.clear()

    def _add_again(self, source: int, item: Item, stamp: Callable[[int, Item], str]) -> str:
        """Keep the row of an image that is annotated twice, report the second annotation, and return its name."""
        [held] = self.table.execute("SELECT unpaired FROM items WHERE name = ?", [item.name]).fetchone()
        if held:  # the image was seen before its annotation
            row = ItemRow.of(source, item, stamp(source, item))
            self.table.execute("REPLACE INTO items VALUES (?, ?, ?, ?, ?)", row)
            return item.name
        number = 2
        while self.table.execute("SELECT 1 FROM items WHERE name = ?", [f"{item.name} ({number})"]).fetchone():
            number += 1
        name = f"{item.name} ({number})"
        self._insert([ItemRow.of(source, Item(name, item.path, item.media, problem=DUPLICATE))])
        return name


def unpack_item(content: str) -> Item:
    tree = json.loads(content)
    for key in ("labels", "notes"):
        tree[key] = tuple(tree.get(key, ()))
    tree["boxes"] = tuple(tuple(box) for box in tree.get("boxes", ()))
    for key in ("recorded", "span"):
        tree[key] = tuple(tree[key]) if tree.get(key) else None
    return Item(**tree)


def unpack_verdict(content: str) -> ItemVerdict:
    tree = json.loads(content)
    for key in ("changes", "notes", "labels"):
        tree[key] = tuple(tree.get(key, ()))
    tree["boxes"] = tuple(Box(*box) for box in tree.get("boxes", ()))
    return ItemVerdict(**tree)


def pack_verdict(verdict: ItemVerdict) -> PackedVerdict:
    likeness = to_signed(verdict.likeness)
    return verdict.reason, verdict.ignored, verdict.sha256, likeness, pack_content(verdict), verdict.name


def pack_content(value: Item | ItemVerdict) -> str:
    tree = {key: held for key, held in vars(value).items() if held or (held == 0 and held is not False)}
    if isinstance(value, ItemVerdict) and value.boxes:
        tree["boxes"] = [(box.ymin, box.xmin, box.ymax, box.xmax, box.label) for box in value.boxes]
    return _encode(tree)


def _open(path: Path) -> sqlite3.Connection:
    try:
        return _connect(path)
    except sqlite3.DatabaseError:  # damaged: begin again
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    table = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        table.executescript(PREPARE)
    except BaseException:
        table.close()
        raise
    return table
