"""Two data sets -> every change between them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from bakeoff.dataset.records.record import TRAIN, Box
from bakeoff.experiments.data_diff.data_change import ChangeKind, DataChange, DataDiff, describe_box, describe_labels
from bakeoff.experiments.data_diff.find_drift import find_drift
from bakeoff.experiments.data_diff.match_boxes import ChangedBoxes, Shape, compare_boxes
from bakeoff.experiments.data_diff.match_pictures import Matching, Pair, PictureLooks, match_pictures, name_place
from bakeoff.experiments.data_diff.open_data import Example, OpenData
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import format_count

MOST = 0.5  # share of the things of a class that must have one new class, for it to be renamed
Renamed = Mapping[str, str]  # the new name of a class by its old one


def compare_data(a: OpenData, b: OpenData) -> DataDiff:
    """Raises DataError for data sets that cannot be compared."""
    if a.task != b.task:
        raise DataError(f"{b.name}: is for {b.task}, {a.name} is for {a.task}; compare data for one task")
    looks = PictureLooks()
    matching = match_pictures(a.examples, b.examples, looks)
    if not matching.pairs:
        raise DataError(
            f"{a.name} and {b.name}: have no picture in common, neither by bytes nor by name and look, among "
            f"{len(a.examples):,} and {len(b.examples):,}; name two versions of one data set"
        )
    renamed = find_renamed_classes(matching.pairs, a.labels, b.labels)
    changes = [
        *_compare_classes(a.labels, b.labels, renamed),
        *(change for pair in matching.pairs for change in _compare_pair(pair, renamed)),
        *(_tell(ChangeKind.REPLACED, pair, "another picture under this name") for pair in matching.replaced),
        *(DataChange(ChangeKind.WENT, one.name, describe_labels(one), before=one) for one in matching.went),
        *(DataChange(ChangeKind.CAME, one.name, describe_labels(one), after=one) for one in matching.came),
        *_find_copies(a, b, matching, looks),
    ]
    drifts = find_drift(a, b, renamed) if changes else []
    return DataDiff(a, b, len(matching.pairs), changes, drifts, list(_remark(a, b, matching)))


def find_renamed_classes(pairs: Sequence[Pair], before: set[str], after: set[str]) -> dict[str, str]:
    """Return the new name of each class that is gone while most of its things have one class that was not there."""
    gone, new = before - after, after - before
    met: Counter[tuple[str, str]] = Counter()
    for pair in pairs if gone and new else ():
        if len(pair.before.labels) == len(pair.after.labels) == 1:
            met[pair.before.labels[0], pair.after.labels[0]] += 1
        changed = compare_boxes(pair.before.boxes, pair.after.boxes, _shapes(pair))
        met.update((one.before[0].label, one.after[0].label) for one in changed if one.kind is ChangeKind.BOX_RECLASSED)
    from_old, to_new = Counter[str](), Counter[str]()
    for (one, other), count in met.items():
        from_old[one] += count
        to_new[other] += count
    return {
        one: other
        for (one, other), count in met.items()
        if one in gone and other in new and count > MOST * from_old[one] and count > MOST * to_new[other]
    }


def _shapes(pair: Pair) -> tuple[Shape, Shape]:
    return (pair.before.height, pair.before.width), (pair.after.height, pair.after.width)


def _compare_classes(before: set[str], after: set[str], renamed: Renamed) -> Iterator[DataChange]:
    for one, other in sorted(renamed.items()):
        yield DataChange(ChangeKind.CLASS_RENAMED, other, f"{one} → {other}")
    yield from (DataChange(ChangeKind.CLASS_CAME, label, "") for label in sorted(after - before - {*renamed.values()}))
    yield from (DataChange(ChangeKind.CLASS_WENT, label, "") for label in sorted(before - after - renamed.keys()))


def _compare_pair(pair: Pair, renamed: Renamed) -> Iterator[DataChange]:
    before, after = pair.before, pair.after
    if before.name != after.name:
        yield from _compare_names(pair)
    if before.split != after.split and before.split and after.split:
        yield _tell(ChangeKind.CHANGED_SPLIT, pair, f"{before.split} → {after.split}")
    if pair.has_new_bytes:
        sizes = [f"{one.width}x{one.height}" for one in (before, after)]
        endings = [PurePosixPath(one.name).suffix for one in (before, after)]
        pairs = (f"{was} → {now}" for was, now in (sizes, endings) if was != now)
        yield _tell(ChangeKind.REENCODED, pair, ", ".join(pairs) or "other bytes of the same picture")
    if tuple(sorted(renamed.get(label, label) for label in before.labels)) != after.labels:
        yield _tell(ChangeKind.LABEL, pair, f"{describe_labels(before)} → {describe_labels(after)}")
    called = tuple(replace(box, label=renamed.get(box.label, box.label)) for box in before.boxes)
    for changed in compare_boxes(called, after.boxes, _shapes(pair)):
        yield _tell(changed.kind, pair, _describe_boxes(changed, pair), changed.before, changed.after)


def _compare_names(pair: Pair) -> Iterator[DataChange]:
    old, new = PurePosixPath(pair.before.name), PurePosixPath(pair.after.name)
    is_renamed = old.stem != new.stem if pair.has_new_bytes else old.name != new.name  # .png may have become .jpg
    if is_renamed:
        yield _tell(ChangeKind.RENAMED, pair, f"was {old}")
    if name_place(pair.before) != name_place(pair.after):
        yield _tell(ChangeKind.MOVED, pair, f"{old.parent} → {new.parent}")


def _tell(
    kind: ChangeKind, pair: Pair, text: str, before: tuple[Box, ...] = (), after: tuple[Box, ...] = ()
) -> DataChange:
    return DataChange(kind, pair.after.name, text, pair.before, pair.after, before, after)


def _describe_boxes(changed: ChangedBoxes, pair: Pair) -> str:
    sides = [(changed.before, pair.before), (changed.after, pair.after)]
    return " → ".join(" and ".join(describe_box(box, one) for box in boxes) for boxes, one in sides if boxes)


def _find_copies(a: OpenData, b: OpenData, matching: Matching, looks: PictureLooks) -> Iterator[DataChange]:
    """Yield what is new in B and looks like a picture of another split of B, or else like one that A had."""
    changed = [pair.after for pair in matching.pairs if pair.has_new_bytes or pair.before.split != pair.after.split]
    new = [*matching.came, *(pair.after for pair in matching.replaced)]
    leaking: set[frozenset[str]] = set()
    for one, other in looks.find_alike(b.examples, [*new, *changed]):
        names = frozenset((one.name, other.name))
        if one.split != other.split and one.split and other.split and names not in leaking:
            leaking.add(names)
            trained, judged = (one, other) if one.split == TRAIN else (other, one)
            text = f"for {judged.split}, {_how_alike(one, other)} {trained.name}, for {trained.split}"
            yield DataChange(ChangeKind.LEAK, judged.name, text, before=trained, after=judged)
    told = {name for names in leaking for name in names}
    for one, other in looks.find_alike(a.examples, new):
        if other.name not in told:
            told.add(other.name)
            yield DataChange(
                ChangeKind.ALIKE, other.name, f"{_how_alike(one, other)} {one.name}", before=one, after=other
            )


def _how_alike(one: Example, other: Example) -> str:
    return "has the bytes of" if one.digest == other.digest else "looks like"


def _remark(a: OpenData, b: OpenData, matching: Matching) -> Iterator[str]:
    if seen := sum(pair.before.split == TRAIN and pair.after.split not in ("", TRAIN) for pair in matching.pairs):
        yield (
            f"{format_count(seen, 'picture')} for training in A, for validation or test in B: "
            "a model that was trained on A must not be judged on B"
        )
    for letter, one in (("A", a), ("B", b)):
        if one.rejected:
            yield f"{format_count(one.rejected, 'file')} of {letter} cannot be used and are not compared"
        if not any(example.split for example in one.examples):
            yield f"{letter} says no splits, so no leak can be seen; its records (`bakeoff diff REVISION`) have them"
