"""Built records that somebody else sends are trained on, or refused in a line: shards, indexes, tables and manifest.

A half of the attempts damages bytes. The others are made by somebody who means to: every checksum and digest fits.
"""

import json
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from bakeoff.dataset.records.manifest import (
    BOXES_FILE,
    BoxTable,
    Manifest,
    Shard,
    Split,
    read_boxes,
    read_manifest,
    write_labels,
)
from bakeoff.dataset.records.record import SEEN, SIDES, Box, Record, encode_record, number_classes
from bakeoff.dataset.records.shards import ShardWriter, name_index, name_shard, read_frame, read_frames
from bakeoff.dataset.records.wire import (
    Feature,
    decode_features,
    encode_blobs,
    encode_features,
    encode_floats,
    encode_integers,
    encode_texts,
)  # fmt: skip
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import hash_file
from proofs.attacks.campaign import Attempt, Campaign, Wrong
from proofs.attacks.damage_bytes import damage

CLASSES, EXAMPLES, BATCH = ("a", "b", "c"), 4, 2
TASKS = ("detection", "classification", "video")
ODD_NUMBERS = (float("nan"), float("inf"), -1.0, 2.0, 1e30, -0.0)
ODD_INTEGERS = (0, -1, 4, 2**31, 2**63 - 1, -(2**63))
ODD_IMAGES = ("cut", "bomb", "wide", "gif", "svg", "empty", "noise", "other size", "grey", "one byte")
Features = dict[str, Feature]


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    from bakeoff.foundation.tf_loading import load_tensorflow

    load_tensorflow()
    whole = {task: folder / task for task in TASKS}
    for task, place in whole.items():
        write_records(task, place)
    for number, random in enumerate(randoms):
        task, place = random.choice(TASKS), folder / str(number)
        shutil.copytree(whole[task], place)
        name = random.choice(list(WAYS))
        how = WAYS[name](place, random)
        yield Attempt(f"{task}, {name}: {how}", partial(random.choice((train, evaluate, survey)), place, task))
        shutil.rmtree(place)


# Whole ones.


def write_records(task: str, folder: Path) -> None:
    folder.mkdir()
    examples = {split: [_encode_one(task, number) for number in range(EXAMPLES)] for split in SEEN}
    reseal(folder, task, examples)


def _encode_one(task: str, number: int) -> bytes:
    clip = task == "video"
    frames = tuple(draw_image("jpeg", number + frame) for frame in range(3 if clip else 1))
    label = CLASSES[number % len(CLASSES)]
    boxes = (Box(0.1, 0.2, 0.6, 0.7, label),) if task == "detection" else ()
    labels = () if task == "detection" else (label,)
    own = Record(f"r{number}", frames, 24, 32, boxes, labels, frames_per_second=5.0 if clip else 0.0)
    return encode_record(own, number_classes(CLASSES))


def draw_image(form: str, seed: int, size: tuple[int, int] = (32, 24), mode: str = "RGB") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    file = BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, form)
    return file.getvalue()


def reseal(folder: Path, task: str, examples: dict[str, list[bytes]], **other: Any) -> None:
    """Write shards, indexes, tables and a manifest that fit each other."""
    splits, boxes = {}, None
    for name, data in examples.items():
        with ShardWriter(folder, name_shard(name, 0, 1)) as writer:
            for one in data:
                writer.write(one)
        splits[name] = Split(len(data), 10_000, 1, dict.fromkeys(CLASSES, 1), (writer.describe(),))
    if task == "detection":
        with BoxTable(folder) as table:
            table.add_rows(np.tile(np.array([[0.1, 0.2, 0.6, 0.7]], np.float32), (EXAMPLES, 1)))
        boxes = table.sha256()
    write_labels(CLASSES, folder)
    manifest = Manifest(task, CLASSES, splits, boxes_sha256=boxes)
    replace(manifest, **other).write(folder)


# How they are spoilt.


def damage_a_file(folder: Path, random: Random) -> str:
    file = random.choice(sorted(folder.iterdir()))
    if random.random() < 0.1:
        file.unlink()
        return f"{file.name} removed"
    return f"{file.name}: {damage(file, random)}"


def replace_a_file(folder: Path, random: Random) -> str:
    """By what is no file of that kind, or none at all."""
    file = random.choice(sorted(folder.iterdir()))
    file.unlink()
    kind = random.choice(("folder", "pipe", "link to itself", "link to a device", "link to another", "pickled array"))
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "link to itself":
        file.symlink_to(file.name)
    elif kind == "link to a device":
        file.symlink_to("/dev/zero")
    elif kind == "link to another":
        file.symlink_to(random.choice(sorted(folder.iterdir())).name)
    else:
        np.save(folder / "odd.npy", np.array([{"a": 1}], object), allow_pickle=True)
        (folder / "odd.npy").rename(file)
    return f"{file.name} is a {kind}"


def lie_in_the_manifest(folder: Path, random: Random) -> str:
    """A value of its own tree is another one, and its digests fit again."""
    manifest, path = read_manifest(folder), folder / "manifest.json"
    tree = json.loads(path.read_text(encoding="utf-8"))
    places = list(_list_places(tree))
    place = random.choice(places)
    value = random.choice((None, -1, 0, 10**18, 2**70, 1.5, float("nan"), "", "../x", "x" * 5000, [], {}, True, "\0"))
    inner = tree
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:  # a stranger computes it as the reader does
        shards = {name: tuple(Shard(**shard) for shard in tree["splits"][name]["shards"]) for name in manifest.splits}
        splits = {name: replace(split, shards=shards[name]) for name, split in manifest.splits.items()}
        other = replace(
            manifest, task=tree["task"], classes=tuple(tree["classes"]), splits=splits, multi_label=tree["multi_label"]
        )
        tree |= other.digests
    except (TypeError, KeyError, ValueError, AttributeError):
        pass
    path.write_text(json.dumps(tree), encoding="utf-8")
    return f"{'.'.join(map(str, place))} is {str(value)[:20]!r}"


def _list_places(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        if key not in ("digest", "test_digest"):
            yield (*place, key)
            yield from _list_places(value, (*place, key))


def change_an_example(folder: Path, random: Random) -> str:
    manifest = read_manifest(folder)
    examples = {}
    for name, split in manifest.splits.items():
        file = folder / split.shards[0].file
        examples[name] = [read_frame(file, *span) for span in read_frames(file)]
    split, number = random.choice(SEEN), random.randrange(EXAMPLES)
    way = random.choice(list(EXAMPLE_WAYS))
    how, examples[split][number] = EXAMPLE_WAYS[way](examples[split][number], random)
    reseal(folder, manifest.task, examples)
    return f"{split} {number}, {way}: {how}"


def lie_in_an_index(folder: Path, random: Random) -> str:
    file = folder / name_index(name_shard(random.choice(SEEN), 0, 1))
    index = np.load(file)
    way = random.choice(("another row", "swapped", "floats", "strings", "zeros", "long", "negative"))
    row = random.randrange(len(index))
    if way == "another row":
        index[row, random.randrange(2)] = random.choice((0, 1, 2**40, 2**62))
    elif way == "negative":
        index[row] = -1
    elif way == "swapped":
        index = index[::-1]
    elif way == "long":
        index = np.concatenate([index, index])
    elif way == "zeros":
        index[:] = 0
    else:
        index = index.astype({"floats": float, "strings": "U20"}[way])
    np.save(file, index)
    return f"{file.name}, {way}"


def lie_in_the_boxes(folder: Path, random: Random) -> str:
    """The manifest has the digest of what is there."""
    manifest = read_manifest(folder)
    value = random.choice(ODD_NUMBERS)
    odd = (
        np.full((4, 4), value, np.float32), np.zeros((0, 4), np.float32), np.zeros((3,), np.float64),
        np.array([["a"]]), np.zeros((4, 4), np.complex64), np.zeros((2, 3, 4), np.float32),
    )  # fmt: skip
    chosen = random.choice(odd)
    np.save(folder / BOXES_FILE, chosen)
    replace(manifest, boxes_sha256=hash_file(folder / BOXES_FILE)).write(folder)
    return f"{chosen.dtype} {chosen.shape} of {value}"


WAYS: dict[str, Callable[[Path, Random], str]] = {
    "bytes": damage_a_file, "more bytes": damage_a_file, "no file": replace_a_file, "manifest": lie_in_the_manifest,
    "index": lie_in_an_index, "boxes": lie_in_the_boxes, "example": change_an_example,
    "another example": change_an_example,
}  # fmt: skip


# One example.


def _features(data: bytes) -> Features:
    """Decode an example to what `encode_features` takes."""
    coded: Features = {}
    for name, values in decode_features(data).items():
        if values and isinstance(values[0], bytes):
            coded[name] = encode_blobs(values)
        elif values and isinstance(values[0], float):
            coded[name] = encode_floats(values)
        else:
            coded[name] = encode_integers(values)
    return coded


def _drop_a_key(data: bytes, random: Random) -> tuple[str, bytes]:
    features = _features(data)
    gone = random.choice(sorted(features))
    del features[gone]
    return gone, encode_features(features)


def _another_kind(data: bytes, random: Random) -> tuple[str, bytes]:
    features = _features(data)
    key = random.choice(sorted(features))
    kinds = encode_floats([random.choice(ODD_NUMBERS)]), encode_integers([random.choice(ODD_INTEGERS)])
    features[key] = random.choice((*kinds, encode_texts(["\0ä"]), encode_blobs([b""]), encode_blobs([b"\xff"] * 3)))
    return key, encode_features(features)


def _odd_numbers(data: bytes, random: Random) -> tuple[str, bytes]:
    features = _features(data)
    sides = [f"image/object/bbox/{side}" for side in SIDES]
    keys = [key for key in features if key in sides or key.endswith(("label", "height", "width"))]
    key, count = random.choice(keys), random.choice((0, 1, 2, 70_000))
    draw = random.choice(ODD_NUMBERS if key in sides else ODD_INTEGERS)
    features[key] = (encode_floats if key in sides else encode_integers)([draw] * count)
    return f"{key} {count} times {draw}", encode_features(features)


def _many_boxes(data: bytes, random: Random) -> tuple[str, bytes]:
    """More than any picture has, all of them good."""
    features, count = _features(data), random.choice((500, 20_000))
    for side, value in zip(SIDES, (0.1, 0.1, 0.5, 0.5), strict=True):
        features[f"image/object/bbox/{side}"] = encode_floats([value] * count)
    features["image/object/class/label"] = encode_integers([1] * count)
    return str(count), encode_features(features)


def _odd_image(data: bytes, random: Random) -> tuple[str, bytes]:
    features, name = _features(data), random.choice(ODD_IMAGES)
    image = {
        "cut": lambda: draw_image("jpeg", 1)[: random.randrange(10, 500)],
        "bomb": lambda: make_bomb(30_000),
        "wide": lambda: draw_image("png", 1, (20_000, 2)),
        "gif": lambda: draw_image("gif", 1),
        "svg": lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "empty": lambda: b"",
        "noise": lambda: random.randbytes(1000),
        "other size": lambda: draw_image("jpeg", 1, (200, 3)),
        "grey": lambda: draw_image("png", 1, mode="L"),
        "one byte": lambda: b"\xff",
    }[name]()
    key = "clip/frames" if "clip/frames" in features else "image/encoded"
    count = random.choice((1, 2, 3, 300)) if key == "clip/frames" and len(image) < 10**5 else 1
    features[key] = encode_blobs([image] * count)
    return f"{name}, {count} times", encode_features(features)


def make_bomb(side: int) -> bytes:
    """Return a PNG of a kilobyte or so for each million pixels, whose header is true."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = zlib.compressobj(9)
    line = bytes((side + 7) // 8 + 1)
    body = b"".join(row.compress(line) for _ in range(side)) + row.flush()
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def _odd_wire(data: bytes, random: Random) -> tuple[str, bytes]:
    """Bytes that are no tf.Example, or a strange one, under a checksum that fits."""
    way = random.choice(("empty", "noise", "cut", "nested", "long length", "many fields", "twice"))
    made = {
        "empty": lambda: b"",
        "noise": lambda: random.randbytes(200),
        "cut": lambda: data[: random.randrange(len(data))],
        "nested": lambda: b"\x0a\x02" * 5000,
        "long length": lambda: b"\x0a" + b"\xff" * 8 + b"\x7f" + data,
        "many fields": lambda: b"\x0a\x00" * 300_000,
        "twice": lambda: data + data,
    }
    return way, made[way]()


EXAMPLE_WAYS: dict[str, Callable[[bytes, Random], tuple[str, bytes]]] = {
    "a key less": _drop_a_key, "another kind": _another_kind, "odd numbers": _odd_numbers, "many boxes": _many_boxes,
    "odd image": _odd_image, "odd pixels": _odd_image, "odd wire": _odd_wire,
}  # fmt: skip


# How they are read.


def _open(folder: Path, task: str) -> tuple[Manifest, Any, Any, Any]:
    from bakeoff.learning.input.record_reader import RecordReader
    from bakeoff.learning.input.view import Shape
    from bakeoff.learning.tasks.task import make_task
    from support.task_batches import MODELS, SIZE

    manifest = read_manifest(folder)
    if manifest.task != task:  # which run.yaml knows; `fitting_manifest` compares
        raise DataError(f"{folder}/manifest.json: is for another task than the run")
    stores = [RecordReader(folder, manifest.splits[name]) for name in SEEN]
    shape = Shape(task, SIZE[task], 3 if task == "video" else 1, BATCH, decode_threads=1, prefetch_batches=1)
    return manifest, stores, shape, make_task(MODELS[task], manifest.classes)


def train(folder: Path, task: str) -> None:
    """Make the batches of two steps, with every change that there is."""
    from bakeoff.learning.input.batches import training_batches
    from bakeoff.learning.input.record_reader import plain_errors_of
    from bakeoff.learning.input.shuffle import ExampleOrder
    from support.task_batches import CHANGES

    _, stores, shape, own = _open(folder, task)
    order = ExampleOrder(stores[0].examples, 1)
    with plain_errors_of(*stores):
        batches = training_batches(stores[0], shape, order=order, steps=range(2), augment=CHANGES, encode=own.encode)
        for batch in batches:
            if not all(np.isfinite(part.numpy()).all() for part in batch.values() if part.dtype.is_floating):
                raise Wrong("a batch has numbers that are none")


def evaluate(folder: Path, task: str) -> None:
    from bakeoff.learning.input.batches import evaluation_batches
    from bakeoff.learning.input.record_reader import plain_errors_of

    _, stores, shape, _ = _open(folder, task)
    with plain_errors_of(*stores):
        for batch in evaluation_batches(stores[1], shape):
            if not np.isfinite(batch["image"].numpy()).all():
                raise Wrong("a batch has numbers that are none")


def survey(folder: Path, task: str) -> None:
    """Read what needs no pixels: origins, the table of boxes."""
    manifest, stores, _, _ = _open(folder, task)
    for store in stores:
        list(store.origins(np.arange(store.examples)))
    if task == "detection" and not np.isfinite(read_boxes(folder, manifest)).all():
        raise Wrong("boxes.npy has numbers that are none")


CAMPAIGN = Campaign(200, attempts)
