"""TFRecords as the predecessors wrote them: boxes of the Object Detection API and of ftc-ml, labels, raw clips."""

from pathlib import Path

import numpy as np

from bakeoff.dataset.records.shards import make_frame
from bakeoff.dataset.records.wire import encode_blobs, encode_features, encode_floats, encode_integers, encode_texts
from support.drawing import encoded, pixels, write

MAP = "item { id: 1 name: 'ball' } item { id: 2 name: 'cube' }"


def write_records(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        for row in rows:
            data = encode_features(row)
            head, tail = make_frame(data)
            file.write(head + data + tail)


def scene(seed: int, ids: list[int], labels: list[str] | None, count: int | None = None) -> dict:
    count = len(ids) if count is None else count
    row = {"image/encoded": encode_blobs([encoded(seed, "PNG")]), "image/object/class/label": encode_integers(ids)}
    if labels is not None:
        row["image/object/class/text"] = encode_texts(labels)
    for side, share in (("xmin", 0.25), ("ymin", 0.25), ("xmax", 0.75), ("ymax", 0.5)):
        row[f"image/object/bbox/{side}"] = encode_floats([share] * count)
    return row


def write_boxes(folder: Path, train: str, validation: str, labels: str, first_id: int) -> None:
    """Write six training and two validation pictures of one box each; ids count from `first_id`."""
    for name, numbers in ((train, range(6)), (validation, range(6, 8))):
        rows = [scene(number, [first_id + number % 2], [("ball", "cube")[number % 2]]) for number in numbers]
        write_records(folder / name, rows)
    write(folder / labels, MAP)


def write_raw_clips(folder: Path, frames: int, side: int) -> None:
    """Write four training clips and two of validation, as the S3D-G estimator reads them."""
    for split, numbers in (("train", range(4)), ("validation", range(4, 6))):
        rows = []
        for number in numbers:
            clip = np.stack([pixels(100 * number + frame, side, side) for frame in range(frames)])
            flags = bytes([number % 2, 1 - number % 2])
            rows.append({"feature": encode_blobs([clip.tobytes()]), "label": encode_blobs([flags])})
        (folder / split).mkdir(parents=True)
        write_records(folder / split / "0000001.tfrecord", rows)
    write(folder / "labels.txt", "gate\ntrain\n")
