"""What can change between two data sets, and one such change."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from bakeoff.dataset.records.record import SIDES, Box
from bakeoff.experiments.data_diff.open_data import Example, OpenData


class ChangeKind(Enum):
    """In the order in which they are shown."""

    LEAK = "leak"
    CLASS_RENAMED = "class renamed"
    CLASS_CAME = "class came"
    CLASS_WENT = "class went"
    LABEL = "label changed"
    BOX_RECLASSED = "box re-classed"
    BOX_CAME = "box came"
    BOX_WENT = "box went"
    BOX_MOVED = "box moved"
    BOX_RESIZED = "box resized"
    BOX_SPLIT = "box split"
    BOXES_JOINED = "boxes joined"
    CAME = "picture came"
    WENT = "picture went"
    REPLACED = "picture replaced"
    RENAMED = "picture renamed"
    MOVED = "picture moved"
    CHANGED_SPLIT = "picture changed split"
    REENCODED = "picture re-encoded"
    ALIKE = "near-duplicate"


@dataclass(frozen=True)
class DataChange:
    kind: ChangeKind
    name: str  # of the picture as it is, or was; of the class
    text: str  # what was, and what is
    before: Example | None = None
    after: Example | None = None
    boxes_before: tuple[Box, ...] = ()  # those that changed
    boxes_after: tuple[Box, ...] = ()

    @property
    def tree(self) -> dict[str, Any]:
        tree: dict[str, Any] = {"kind": self.kind.value, "name": self.name, "text": self.text}
        if self.before and self.after and self.before.name != self.after.name:
            tree["was"] = self.before.name
        for key, example, boxes in (("a", self.before, self.boxes_before), ("b", self.after, self.boxes_after)):
            if example and boxes:
                tree[f"boxes_{key}"] = [box_in_pixels(box, example) for box in boxes]
        return tree


@dataclass(frozen=True)
class DataDiff:
    a: OpenData
    b: OpenData
    same: int  # pictures that both have
    changes: Sequence[DataChange]
    drifts: Sequence[str] = ()  # what is distributed otherwise, in words
    remarks: Sequence[str] = ()
    by_kind: Mapping[ChangeKind, list[DataChange]] = field(init=False)

    def __post_init__(self) -> None:
        by_kind: dict[ChangeKind, list[DataChange]] = {}
        for kind in ChangeKind:
            if some := [one for one in self.changes if one.kind is kind]:
                by_kind[kind] = sorted(some, key=lambda one: (one.name, one.text))
        object.__setattr__(self, "by_kind", by_kind)

    @property
    def tree(self) -> dict[str, Any]:
        sides = {
            key: {"name": one.name, "pictures": len(one.examples), "boxes": one.boxes, "rejected": one.rejected}
            for key, one in (("a", self.a), ("b", self.b))
        }
        return {
            "version": 1, **sides, "same_pictures": self.same,
            "counts": {kind.value: len(some) for kind, some in self.by_kind.items()},
            "changes": [one.tree for some in self.by_kind.values() for one in some],
            "drift": list(self.drifts), "remarks": list(self.remarks),
        }  # fmt: skip


def box_in_pixels(box: Box, example: Example) -> dict[str, Any]:
    sides = {"ymin": example.height, "xmin": example.width, "ymax": example.height, "xmax": example.width}
    return {"label": box.label} | {side: round(getattr(box, side) * sides[side], 1) for side in SIDES}


def describe_box(box: Box, example: Example) -> str:
    """Return `ball 10,20,110,80`: its class, then xmin, ymin, xmax and ymax in pixels."""
    pixels = box_in_pixels(box, example)
    return f"{box.label} " + ",".join(f"{pixels[side]:.0f}" for side in ("xmin", "ymin", "xmax", "ymax"))


def describe_labels(example: Example) -> str:
    """Return `cat`, or `2 ball, 1 robot` of boxes."""
    counts = Counter(box.label for box in example.boxes)
    return ", ".join([*example.labels, *(f"{count} {label}" for label, count in sorted(counts.items()))]) or "nothing"
