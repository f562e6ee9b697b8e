"""One record of another program, understood: its image or raw frames, its labels by name, its boxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.dataset.building.image_check import RejectedItem, require_length
from bakeoff.dataset.records.shards import read_frame
from bakeoff.dataset.records.wire import Value, decode_features
from bakeoff.dataset.sources.dataset import Corners, Item
from bakeoff.dataset.sources.labels import read_labels
from bakeoff.dataset.sources.parsing import parse_whole
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.foundation.formatting import make_printable

SIDES = ("xmin", "ymin", "xmax", "ymax")
KEYS = frozenset(
    ["feature", "label", "image/encoded", *(f"image/object/bbox/{side}" for side in SIDES)]
    + [f"image/{of}class/{kind}" for of in ("", "object/") for kind in ("text", "label")]
)
Features = dict[str, Value]


@dataclass(frozen=True)
class ForeignRecord:
    image: bytes = b""
    labels: tuple[str, ...] = ()
    boxes: tuple[Corners, ...] = ()
    notes: tuple[str, ...] = ()
    raw: bytes | None = None  # frames, one after the other


def read_foreign(dataset: TfRecords, root: Path, item: Item) -> ForeignRecord:
    """Raises RejectedItem with what does not fit the layout."""
    assert item.span
    require_length(item.span[1])
    try:
        features = decode_features(read_frame(root / item.path, *item.span), KEYS)
    except ValueError as error:
        raise RejectedItem(str(error)) from None
    known = read_labels(root, dataset.labels) if dataset.labels else None
    if dataset.layout == "s3dg":
        return ForeignRecord(labels=_read_multi_hot(features, known or []), raw=_read_one(features, "feature"))
    if dataset.layout == "inception":
        image = _read_one(features, "image/encoded")
        return ForeignRecord(image, _read_labels(features, "image/class", known, dataset.first_id))
    return _read_scene(features, known, dataset.first_id)


def _read_scene(features: Features, known: list[str] | None, first_id: int) -> ForeignRecord:
    labels = _read_labels(features, "image/object/class", known, first_id)
    corners = [_read_numbers(features, f"image/object/bbox/{side}") for side in SIDES]
    counts = {len(labels), *map(len, corners)}
    if len(counts) > 1:
        counted = ", ".join(f"{len(values)} {side}" for side, values in zip(SIDES, corners, strict=True))
        raise RejectedItem(f"has {len(labels)} classes and {counted}")
    boxes = tuple((x0, y0, x1, y1, label) for x0, y0, x1, y1, label in zip(*corners, labels, strict=True))
    return ForeignRecord(_read_one(features, "image/encoded"), boxes=boxes)


def _read_labels(features: Features, prefix: str, known: list[str] | None, first_id: int) -> tuple[str, ...]:
    """Return labels by text where there is one; else by id, which needs the labels."""
    texts = features.get(f"{prefix}/text", [])
    ids = features.get(f"{prefix}/label", [])
    if (texts and len(texts) == len(ids)) or (texts and not ids):
        try:
            return tuple(text.decode() for text in texts)  # type: ignore[union-attr]
        except (UnicodeDecodeError, AttributeError):
            raise RejectedItem(f"{prefix}/text must be UTF-8 text, got {texts[0]!r}") from None
    if texts:
        raise RejectedItem(f"has {len(texts)} {prefix}/text and {len(ids)} {prefix}/label")
    if ids and known is None:
        raise RejectedItem(f"{prefix}/label without a text; name a labels file (data.labels)")
    try:
        places, known = [parse_whole(number, f"{prefix}/label", 0) - first_id for number in ids], known or []
    except ValueError as error:
        raise RejectedItem(str(error)) from None
    for place in places:
        if not 0 <= place < len(known):
            raise RejectedItem(
                f"{prefix}/label {place + first_id} is none of {first_id} to {first_id + len(known) - 1}"
            )
    return tuple(known[place] for place in places)


def _read_multi_hot(features: Features, known: list[str]) -> tuple[str, ...]:
    flags = _read_one(features, "label")
    if len(flags) != len(known):
        raise RejectedItem(f"label has {len(flags)} bytes, the labels file {len(known)} labels")
    if set(flags) - {0, 1}:
        raise RejectedItem(f"label must be bytes of 0 and 1, got {make_printable(repr(flags[:20]))}")
    return tuple(label for label, flag in zip(known, flags, strict=True) if flag)


def _read_one(features: Features, key: str) -> bytes:
    values = features.get(key, [])
    if len(values) != 1 or not isinstance(values[0], bytes):
        there = ", ".join(sorted(features)[:12]) or "none"
        raise RejectedItem(f"must have one {key}, has {len(values)}; keys: {make_printable(there)} (data.layout)")
    return values[0]


def _read_numbers(features: Features, key: str) -> Sequence[float]:
    values = features.get(key, [])
    if any(isinstance(value, bytes) for value in values):
        raise RejectedItem(f"{key} must be numbers")
    return values  # type: ignore[return-value]
