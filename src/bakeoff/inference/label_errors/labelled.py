"""`data/records` -> its examples by their names: picture, label, and a digest of both."""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import SPLITS
from bakeoff.evaluation.examples_parquet import choose_kind
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.inference.evaluate.evaluation_data import Material
from bakeoff.inference.evaluate.leakage import (
    ExampleHashes,
    boxes_in,
    features_at,
    labels_in,
    picture_at,
    read_contents,
)
from bakeoff.inference.label_errors.suspect import Row

SIDES = ("ymin", "xmin", "ymax", "xmax")
PIXELS = 1.0  # a box of an evaluation may be off by so much
SHARE = 4  # decimals of a box's corners that count for a digest


class Labelled:
    """The examples of all splits, by name."""

    def __init__(self) -> None:
        self.manifest = read_manifest(workspace.RECORDS)
        self._materials = [
            Material(workspace.RECORDS, self.manifest, split)
            for split in SPLITS
            if split in self.manifest.splits and self.manifest.splits[split].examples
        ]

    @property
    def kind(self) -> str:
        return choose_kind(self.manifest.task, self.manifest.multi_label)

    @cached_property
    def contents(self) -> ExampleHashes:
        """Return names, hashes of bytes and hashes of pictures, of all splits one after the other."""
        each = [read_contents(material) for material in self._materials]
        joined = (np.concatenate([getattr(one, key) for one in each]) for key in ("names", "bytes", "likeness"))
        return ExampleHashes(*joined)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {str(name): number for number, name in enumerate(self.contents.names)}

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def require(self, name: str) -> None:
        if name not in self:
            nearest = [known for known in self._numbers if known.endswith(name.rpartition("/")[2])][:3]
            like = f"; is it {' or '.join(nearest)}?" if nearest else ""
            raise DataError(f"{name}: no example of {workspace.RECORDS.as_posix()} has this name{like}")

    def find_number(self, name: str) -> int:
        return self._numbers[name]

    def read_features(self, name: str) -> Mapping[str, Any]:
        return features_at(*self._place(self.find_number(name)))

    def read_picture(self, number: int) -> Any:
        """Return the picture as `look_alike` compares it. The caller holds `quiet_pillow`."""
        return picture_at(*self._place(number))

    def make_digest(self, name: str) -> str:
        """Return a digest of the picture and its label. It changes if either is edited."""
        label: Any = labels_in(features := self.read_features(name))
        if self.kind == "boxes":
            label = sorted((box[0], *(round(side, SHARE) for side in box[1:])) for box in boxes_in(features))
        content = json.dumps([str(self.contents.bytes[self.find_number(name)]), label])
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def is_same(self, row: Row) -> bool:
        """Return whether the label is still the one that an evaluation used."""
        features = self.read_features(row["file"])
        if self.kind == "one label":
            return labels_in(features) == [row["truth"]]
        if self.kind == "several labels":
            return labels_in(features) == sorted(row["truth"])
        height, width = features["image/height"][0], features["image/width"][0]
        now = sorted(
            (label, ymin * height, xmin * width, ymax * height, xmax * width)
            for label, ymin, xmin, ymax, xmax in boxes_in(features)
        )
        then = sorted((box["label"], *(box[side] for side in SIDES)) for box in row["truth"])
        return len(now) == len(then) and all(
            one[0] == other[0] and np.allclose(one[1:], other[1:], rtol=0, atol=PIXELS)
            for one, other in zip(now, then, strict=True)
        )

    def _place(self, number: int) -> tuple[Material, int]:
        for material in self._materials:
            if number < material.split.examples:
                return material, number
            number -= material.split.examples
        raise IndexError(number)
