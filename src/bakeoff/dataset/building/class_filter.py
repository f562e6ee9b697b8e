"""The classes of a build in their order; and `data.classes`, which must be classes that the dataset has."""

from collections.abc import Iterable, Sequence

from bakeoff.dataset.building.catalogue import Catalogue, unpack_item
from bakeoff.dataset.sources.dataset import Dataset, Part
from bakeoff.dataset.sources.labels import read_labels, require_known, require_same_labels
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.foundation.errors import DataError, choices
from bakeoff.foundation.formatting import make_printable

KEY = "data.classes"


def require_chosen(catalogue: Catalogue, parts: Sequence[Part]) -> None:
    """Refuse a chosen class that the dataset lacks, before any file is read.

    TFRecords are read first, if no labels file names their classes.
    """
    for place, part in enumerate(parts):
        dataset = part.dataset
        if not dataset.classes or part.side not in (None, parts[0].side):
            continue
        root = dataset.folder()
        known = set(read_labels(root, dataset.labels) if dataset.labels else dataset.declared_classes(root) or ())
        if not known and not isinstance(dataset, TfRecords):
            for [content] in catalogue.table.execute("SELECT content FROM items WHERE source = ?", [place]):
                item = unpack_item(content)
                known |= {*item.labels, *(corners[4] for corners in item.boxes)}
        if known:
            _require_each(dataset, known)


def order_classes(parts: Sequence[Part], labels_by_part: Sequence[set[str]]) -> list[str]:
    """Return the labels in the order of their ids, of those that each part was found to have."""
    own = {part.name: _order_labels(part, labels_by_part[place], parts[0]) for place, part in enumerate(parts)}
    if not any(part.side for part in parts):
        require_same_labels(own)
    first, *others = own.values()  # a folder for one side alone may lack a class
    return [*first, *sorted({label for labels in others for label in labels} - set(first))]


def _order_labels(part: Part, used: set[str], first: Part) -> list[str]:
    dataset = part.dataset
    declared = dataset.declared_classes(dataset.folder())
    if dataset.classes:
        if isinstance(dataset, TfRecords) and not dataset.labels and part is first:
            _require_each(dataset, used)
        return list(dataset.classes)
    if dataset.labels:
        root = (first if part.side else part).dataset.folder()
        known = read_labels(root, dataset.labels)
        require_known({*used, *(declared or ())}, known, root, dataset.labels)
        return known
    return sorted(used) if declared is None else declared


def _require_each(dataset: Dataset, known: Iterable[str]) -> None:
    for label in dataset.classes:
        if label not in known:
            there = choices(label, sorted(map(make_printable, known)))
            raise DataError(f"{KEY}: {dataset.path} has no class {make_printable(label)!r}; {there}")
