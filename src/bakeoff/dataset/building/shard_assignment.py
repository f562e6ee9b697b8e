"""Items that become records: those that passed the check, the classes they have, and the shard each is in.

Examples are spread over shards by a hash of their names, so that one example more or less changes one or two shards,
not all. With 8 shards the last three bits choose; a ninth takes half of the first one's (those with the next bit set),
a tenth half of the second's, and so on (linear hashing).
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import PurePosixPath
from typing import Any

from bakeoff.dataset.building.catalogue import Catalogue
from bakeoff.dataset.building.class_filter import order_classes
from bakeoff.dataset.building.write_shards import EXAMPLES_PER_SHARD
from bakeoff.dataset.records.record import SEEN, SPLITS
from bakeoff.dataset.sources.dataset import Dataset, Part, hash_place
from bakeoff.dataset.sources.labels import find_nearest
from bakeoff.dataset.sources.parsing import quote
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import format_count, make_printable

MOST_BYTES = 200_000_000  # of a shard
MOST_NAMED = 10  # classes in a warning
AT_ONCE = 20_000  # examples
BITS = 16  # of the hash; so many shards at most
DIGITS = re.compile("[0-9]+")


def fill_examples(catalogue: Catalogue, datasets: Sequence[Dataset]) -> None:
    """List the items that can become records, with what their side and shard depend on."""
    of_item = (f"json_extract(items.content, '$.{key}')" for key in ("group", "split"))
    of_verdict = (f"json_extract(verdicts.content, '$.{key}')" for key in ("bytes", "labels", "boxes"))
    passed = (
        f"SELECT source, name, {', '.join([*of_item, *of_verdict])}, sha256, likeness "
        "FROM items JOIN verdicts USING (name) WHERE reason IS NULL ORDER BY name"
    )
    with catalogue.changing() as table:
        table.execute("DELETE FROM examples")
        table.execute("DELETE FROM labels")
        rows = table.execute(passed)
        while some := rows.fetchmany(AT_ONCE):
            found = _find_groups([(source, name) for source, name, *_ in some], datasets)
            examples, labelled = list[tuple[Any, ...]](), list[tuple[str, str]]()
            for source, name, group, given, size, labels, boxes, sha256, likeness in some:
                rule = datasets[source].split
                group = group or found.get((source, name))
                if group is None:
                    group = str(PurePosixPath(name).parent) if rule.by == "blocks" else name
                natural = DIGITS.sub(lambda digits: digits[0].zfill(20), name) if rule.by == "blocks" else name
                unit, place = f"{source}:{group}", hash_place(0, name)
                examples.append((name, source, unit, given, natural, place, size, sha256, likeness))
                labelled += [(name, label) for label in _list_labels(labels, boxes)]
            table.executemany("INSERT INTO examples VALUES (?, ?, ?, ?, ?, NULL, NULL, ?, ?, NULL, ?, ?)", examples)
            table.executemany("INSERT INTO labels VALUES (?, ?)", labelled)


def _list_labels(labels: str | None, boxes: str | None) -> Sequence[str]:
    """Return the labels of an example once, in their order."""
    own = _sort_labels(labels)
    return sorted({*own, *(box[4] for box in json.loads(boxes))}) if boxes else own


@lru_cache(maxsize=1024)
def _sort_labels(labels: str | None) -> Sequence[str]:
    return sorted({*json.loads(labels)}) if labels else ()


def _find_groups(places: Sequence[tuple[int, str]], datasets: Sequence[Dataset]) -> dict[tuple[int, str], str | None]:
    """Return the group that its dataset's pattern finds in the name of each (source, name)."""
    found: dict[tuple[int, str], str | None] = {}
    for source in {source for source, _ in places}:
        own = [place for place in places if place[0] == source]
        found |= zip(own, datasets[source].split.find_groups([name for _, name in own]), strict=True)
    return found


def choose_classes(
    catalogue: Catalogue, parts: Sequence[Part], known: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Return the labels in the order of their ids, and a warning for each that nothing has.

    The order is that of the `known` ones, else the labels file's, else the dataset's own, else sorted.
    """
    tasks = {part.name: (part.dataset.task, part.dataset.multi_label) for part in parts}
    if len(set(tasks.values())) > 1:
        different = ", ".join(f"{name} is for {task}" for name, (task, _) in tasks.items())
        raise DataError(f"data.merge: datasets must be for the same task; {different}")
    labels_by_part: list[set[str]] = [set() for _ in parts]
    held = "SELECT DISTINCT source, label FROM labels JOIN examples USING (name)"
    for source, label in catalogue.table.execute(held):
        labels_by_part[source].add(label)
    every = set[str]().union(*labels_by_part)
    if known:
        if not every:
            raise DataError(f"{parts[0].dataset.path}: names no labels, so nothing can be judged on it; annotate some")
        require_judgeable(every, known, parts[0].dataset.path)
        return list(known), []
    classes = order_classes(parts, labels_by_part)
    if not classes:
        raise DataError(f"{parts[0].dataset.path}: no example has a label; annotate some (docs/records.md)")
    return classes, [f"class {make_printable(label)!r} has no example" for label in classes if label not in every]


def require_judgeable(labels: Iterable[str], known: Sequence[str], place: str) -> None:
    """Raise DataError if a dataset has labels that a model does not know."""
    if strange := sorted(set(labels) - set(known)):
        raise DataError(
            f"{place}: has labels that the model lacks: {_name_some(strange, known)}; the model knows "
            f"{_name_some(known)}; leave such examples out, or judge a model that knows them"
        )


def find_odd_classes(catalogue: Catalogue, known_warnings: Sequence[str]) -> list[str]:
    """Return a line on the classes with one example, maybe typing mistakes, and one on those that a side lacks.

    Classes that `known_warnings` name are left out.
    """
    query = (
        "SELECT label, SUM(side = ?), SUM(side = ?), SUM(side = ?) FROM labels JOIN examples USING (name) "
        "WHERE side IS NOT NULL GROUP BY label ORDER BY label"
    )
    counts = {label: sides for label, *sides in catalogue.table.execute(query, SPLITS)}
    single = [label for label, sides in counts.items() if sum(sides) == 1]
    several = [label for label, sides in counts.items() if sum(sides) > 1]
    warnings = []
    if single and several:
        names = _name_some(single, several)
        warnings.append(f"{format_count(len(single), 'class')} with one example only, maybe mistyped: {names}")
    several = [label for label in several if not any(f"class {label!r} is in" in line for line in known_warnings)]
    there = SPLITS if any(sides[-1] for sides in counts.values()) else SEEN
    for place, side in enumerate(there):
        if lacking := [label for label in several if not counts[label][place]]:
            warnings.append(f"{format_count(len(lacking), 'class')} without a {side} example: {_name_some(lacking)}")
    return warnings


def _name_some(labels: Sequence[str], others: Sequence[str] = ()) -> str:
    """Return the first labels, each with the nearest of others."""
    near = {label: find_nearest(label, others) for label in labels[:MOST_NAMED]}
    named = ", ".join(quote(label) + (f" (or {quote(other)}?)" if other else "") for label, other in near.items())
    return named + (f" and {len(labels) - MOST_NAMED:,} more" if len(labels) > MOST_NAMED else "")


def choose_shards(catalogue: Catalogue, datasets: Sequence[Dataset]) -> dict[str, int]:
    """Give every example its shard; return how many each split has. A split without an example has no entry."""
    counts = {}
    spread = f"SELECT place & {(1 << BITS) - 1}, COUNT(*), SUM(bytes) FROM examples WHERE side = ? GROUP BY 1"
    with catalogue.changing() as table:
        for side in SPLITS:
            rows = table.execute(spread, [side]).fetchall()
            if not rows:
                continue
            # Of merged datasets with numbers of their own the largest counts.
            wanted = max((getattr(dataset.shards, side) or 0 for dataset in datasets), default=0)
            counts[side] = count = wanted or count_shards(rows)
            held = sum(row[1] for row in rows)
            if count > held:
                raise DataError(f"data.shards.{side}: must be at most the {held} examples of the split, got {count}")
            table.create_function("shard_of", 1, partial(find_shard, count=count), deterministic=True)
            table.execute("UPDATE examples SET shard = shard_of(place) WHERE side = ?", [side])
        table.execute("CREATE INDEX IF NOT EXISTS by_shard ON examples (side, shard, place)")
    return counts


def count_shards(rows: Sequence[tuple[int, int, int]]) -> int:
    """For (hash, examples, bytes): about 1,024 examples a shard, and none above 200 MB if that can be had."""
    count = max(1, -(-sum(row[1] for row in rows) // EXAMPLES_PER_SHARD))
    while count < 1 << BITS:
        sizes = [0] * count
        for place, _, size in rows:
            sizes[find_shard(place, count)] += size
        if max(sizes) <= MOST_BYTES:
            return count
        count += max(1, count // 8)
    return 1 << BITS


def find_shard(place: int, count: int) -> int:
    """Return which of `count` shards an example is in, by the hash of its name."""
    wide = 1 << (count - 1).bit_length()
    low = place & wide - 1
    return low if low < count else low - wide // 2
