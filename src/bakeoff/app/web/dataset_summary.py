"""What a dataset holds, in `.bakeoff/web/contents/<name>.json`, so that a server that starts again need not list it.

{"stamp": "9f3a…", "images": [["train", 160]], "pictures": [[0, "images/1.jpg", "train", [[8, 8, 80, 60, "ball"]], …]]}
A stamp is of the names, sizes and times of all files of a dataset. If the files are others, what was kept counts for
nothing.
"""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.app.web.safe_paths import own_folder
from bakeoff.dataset.records.record import SPLITS
from bakeoff.dataset.sources.dataset import Corners
from bakeoff.foundation.files import read_json, write_whole
from bakeoff.importing.datasets.detect_format import UNSAID, Survey
from bakeoff.importing.datasets.tree import Layout

FORMAT = 1  # of these files


@dataclass(frozen=True)
class DatasetImage:
    """An image of a dataset with its ground truth."""

    root: Path
    path: str
    side: str
    boxes: tuple[Corners, ...]
    labels: tuple[str, ...]
    in_shares: bool


@dataclass
class DatasetSummary:
    survey: Survey
    pictures: list[DatasetImage] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)

    @property
    def sides(self) -> list[str]:
        return [side for side in (*SPLITS, UNSAID) if self.survey.images[side]]


def keep(name: str, stamp: str, contents: DatasetSummary) -> None:
    """Write it down; a disk without room for it has it listed anew the next time."""
    survey, roots = contents.survey, list(dict.fromkeys(picture.root.as_posix() for picture in contents.pictures))
    tree = {
        "stamp": stamp, "kind": survey.layout.kind, "images": list(survey.images.items()),
        "objects": [[label, side, number] for (label, side), number in survey.objects.items()],
        "classes": survey.classes, "counts": [survey.rejected, survey.ignored], "rejected": contents.rejected,
        "roots": roots, "pictures": [
            [roots.index(one.root.as_posix()), one.path, one.side, one.boxes, one.labels, one.in_shares]
            for one in contents.pictures
        ],
    }  # fmt: skip
    with suppress(OSError, UnicodeEncodeError):  # half of a pair of surrogates in a name has no encoding
        folder = own_folder("contents")
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}.json", json.dumps(tree))


def recall(name: str, stamp: str) -> DatasetSummary | None:
    """Return what was kept of exactly these files."""
    tree = read_json(own_folder("contents") / f"{name}.json")
    if tree.get("stamp") != stamp:
        return None
    try:
        survey = Survey(Layout(tree["kind"], tree["kind"], {}))
        survey.images = Counter(dict(tree["images"]))
        survey.objects = Counter({(label, side): number for label, side, number in tree["objects"]})
        survey.classes, (survey.rejected, survey.ignored) = tree["classes"], tree["counts"]
        roots = [Path(root) for root in tree["roots"]]
        pictures = [
            DatasetImage(roots[root], path, side, tuple(map(tuple, boxes)), tuple(labels), in_shares)
            for root, path, side, boxes, labels, in_shares in tree["pictures"]
        ]
        return DatasetSummary(survey, pictures, list(tree["rejected"]))
    except (KeyError, TypeError, ValueError, IndexError):
        return None
