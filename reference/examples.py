"""Records of each task -> a page: the keys of their tf.Example with dtype, shape and meaning.

The keys are those that the code writes for a record of 3 boxes, 2 labels or 5 frames, so the counts tell the shapes.
"""

from bakeoff.dataset.records.record import Box, Record, encode_record, number_classes
from bakeoff.dataset.records.wire import Value, decode_features
from reference.texts import make_table, read_texts, require_text

LABELS = ("one", "two")
IMAGE = b"\xff\xd8"  # no decoder sees it
BOX = Box(0.1, 0.2, 0.3, 0.4, "one")
PLACE = {"name": "a", "height": 2, "width": 4}
RECORDS = {
    "Detection": Record(**PLACE, frames=(IMAGE,), boxes=(BOX, BOX, BOX)),  # type: ignore[arg-type]
    "Classification": Record(**PLACE, frames=(IMAGE,), labels=LABELS[:1]),  # type: ignore[arg-type]
    "Video": Record(**PLACE, frames=(IMAGE,) * 5, labels=LABELS, frames_per_second=12.0),  # type: ignore[arg-type]
}
SHAPES = {1: "1", 2: "labels", 3: "boxes", 5: "frames"}
DTYPES = {bytes: "bytes", float: "float32", int: "int64"}


def make_record_page() -> str:
    texts = read_texts("records")
    page = f"# Records\n\n{texts['intro']}\n"
    for task, record in RECORDS.items():
        features = decode_features(encode_record(record, number_classes(LABELS)))
        rows = [_row(key, features[key], texts["keys"]) for key in sorted(features)]
        page += f"## {task}\n\n{texts['tasks'][task]}\n{make_table(('key', 'dtype', 'shape', 'meaning'), rows)}"
    return page + texts["notes"]


def _row(key: str, values: Value, meanings: dict[str, str]) -> tuple[str, ...]:
    meaning = require_text(meanings.get(key), key, "it into reference/texts/records.yaml")
    return f"`{key}`", DTYPES[type(values[0])], f"({SHAPES[len(values)]})", meaning
