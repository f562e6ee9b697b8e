"""The classes of a build and their order: the labels file's, else the dataset's own, else sorted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.building.catalogue import Catalogue
from bakeoff.errors import DataError
from bakeoff.sources.dataset import Dataset
from bakeoff.sources.labels_file import read_labels, require_known
from bakeoff.sources.merged import require_same_labels
from bakeoff.sources.paths import shown

if TYPE_CHECKING:
    from bakeoff.sources.dataset import Part


def choose_classes(catalogue: Catalogue, parts: Sequence["Part"]) -> tuple[list[str], list[str]]:
    """The labels in the order of their ids, and a warning for each that nothing has."""
    tasks = {part.name: (part.dataset.task, part.dataset.multi_label) for part in parts}
    if len(set(tasks.values())) > 1:
        said = ", ".join(f"{name} is for {task}" for name, (task, _) in tasks.items())
        raise DataError(f"data.merge: datasets must be for the same task; {said}")
    found: list[set[str]] = [set() for _ in parts]
    for source, label in catalogue.table.execute(
        "SELECT DISTINCT source, label FROM labels JOIN examples USING (name)"
    ):
        found[source].add(label)
    labels = {part.name: _labels(part.dataset, found[source]) for source, part in enumerate(parts)}
    require_same_labels(labels)
    classes = labels[parts[0].name]
    if not classes:
        raise DataError(f"{parts[0].dataset.path}: no example has a label")
    held = set[str]().union(*found)
    return classes, [f"class {shown(label)!r} has no example" for label in classes if label not in held]


def _labels(dataset: Dataset, found: set[str]) -> list[str]:
    root = dataset.folder()
    declared = dataset.declared_classes(root)
    if dataset.labels:
        known = read_labels(root, dataset.labels)
        require_known({*found, *(declared or ())}, known, root, dataset.labels)
        return known
    return sorted(found) if declared is None else declared
