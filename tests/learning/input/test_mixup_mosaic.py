"""Other examples mixed into one: compared with NumPy's composition, and the same however a batch is come by."""

import hashlib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Box, Record
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.copy_paste import CopyPaste
from bakeoff.learning.input.augment.crop import SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.mixup import Mixup
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.augment.scene import draw, fold_name, make_key, split_key
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.batches import Portion, first_examples, training_batches
from bakeoff.learning.input.mixup_mosaic import Draw
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from bakeoff.learning.lr.decays import Constant
from bakeoff.learning.plan.phases import Span, TrainingPhase
from bakeoff.learning.training.setup import Feed

EXAMPLES, SIDE, HEIGHT, WIDTH, SEED, FILL = 11, 48, 40, 60, 5, 127.5
CLASSES = tuple(f"c{number:02d}" for number in range(2 * EXAMPLES))
SHAPE = Shape("detection", SIDE, 1, batch_size=1, decode_threads=2, prefetch_batches=2)
MOST = 12  # boxes of a mixed example here
MOSAIC, PASTE, MIXUP = Mosaic(probability=1.0), CopyPaste(probability=1.0, most=2), Mixup(probability=1.0)
ALL = Augment(
    mosaic=Mosaic(),
    copy_paste=CopyPaste(probability=0.5, most=1),
    mixup=Mixup(probability=0.5),
    turn=Turn(mirror=0.5),
    colour=Colour(brightness=0.2),
)
PLAIN = replace(ALL, mosaic=None, copy_paste=None, mixup=None)
Batches = list[dict[str, np.ndarray]]


@dataclass(frozen=True)
class Kitchen:
    """Examples whose pixels tell where they are from: row, column and number in red, green and blue."""

    folder: Path
    split: Split
    images: list[np.ndarray]
    boxes: list[np.ndarray]  # (2, 4), of the classes 2 * number + 1 and the next

    def store(self) -> RecordReader:
        return RecordReader(self.folder, self.split, "skip")

    def batches(self, augment: Augment, steps: range, **more: Any) -> Batches:
        shape = replace(SHAPE, **{key: more.pop(key) for key in ("batch_size", "decode_threads") if key in more})
        dataset = training_batches(
            self.store(), shape, order=ExampleOrder(self.split.examples, SEED), steps=steps, augment=augment,
            encode=pad, **more,
        )  # fmt: skip
        return list(dataset.as_numpy_iterator())

    def rows(self, augment: Augment, count: int, store: RecordReader | None = None) -> Batches:
        """Return the first examples, one after the other and without a graph, which takes seconds to make."""
        order = ExampleOrder(self.split.examples, SEED)
        examples = first_examples(store or self.store(), SHAPE, order=order, augment=augment, count=count)
        return [{name: example[name].numpy() for name in ("image", "boxes", "classes")} for example in examples]


def pad(example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    left = MOST - tf.size(example["classes"])
    boxes, classes = tf.pad(example["boxes"], [[0, left], [0, 0]]), tf.pad(example["classes"], [[0, left]])
    return {"boxes": tf.ensure_shape(boxes, [MOST, 4]), "classes": tf.ensure_shape(classes, [MOST])}


@pytest.fixture
def cook(png: Callable[[np.ndarray], bytes], write_train: Callable[..., Split], tmp_path: Path) -> Callable[..., Any]:
    def make(examples: int = EXAMPLES) -> Kitchen:
        random = np.random.default_rng(1)
        rows, columns = np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), indexing="ij")
        images, boxes, records = [], [], []
        for number in range(examples):
            image = np.stack([6 * rows, 4 * columns, np.full_like(rows, 20 * number)], axis=-1).astype(np.uint8)
            low = random.uniform(0, 0.6, (2, 2))
            both = np.concatenate([low, low + random.uniform(0.15, 0.4, (2, 2))], axis=1).astype(np.float32)
            pair = tuple(Box(*map(float, box), CLASSES[2 * number + k]) for k, box in enumerate(both))
            records.append(Record(f"r{number:02d}", (png(image),), HEIGHT, WIDTH, boxes=pair, format="png"))
            images.append(image)
            boxes.append(both)
        return Kitchen(tmp_path, write_train(records, CLASSES), images, boxes)

    return make


@pytest.fixture
def kitchen(cook: Callable[..., Kitchen]) -> Kitchen:
    return cook()


def partners(example: int, name: str, count: int, examples: int = EXAMPLES, epoch: int = 0) -> list[int]:
    """Draw them as the documentation has it: first whether, then which of all the others."""
    random = np.random.default_rng([SEED, epoch, example, zlib.crc32(name.encode())])
    random.random()
    others = [number for number in range(examples) if number != example]
    return [others[place] for place in random.integers(0, len(others), count)]


def stream(count: int) -> list[int]:
    epochs = [np.random.default_rng([SEED, epoch]).permutation(EXAMPLES) for epoch in range(-(-count // EXAMPLES))]
    return np.concatenate(epochs)[:count].tolist()


def drawn(name: str, example: int, of_partners: int) -> tf.Tensor:
    key = make_key(SEED, epoch=tf.constant(0, tf.int64), example=tf.constant(example, tf.int64))
    return split_key(fold_name(key, name), 1 + of_partners)[0]


def assert_equal(batches: Batches, expected: Batches) -> None:
    assert len(batches) == len(expected) > 0
    for one, other in zip(batches, expected, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


# What comes of it.


def compose(kitchen: Kitchen, numbers: Sequence[int], draws: np.ndarray, mosaic: Mosaic) -> dict[str, np.ndarray]:
    """Put four pictures around a point, pixel by pixel."""
    point = np.round(SIDE * (mosaic.min_tile + draws[:2] * (1 - 2 * mosaic.min_tile)))
    image, boxes, classes = np.full((SIDE, SIDE, 3), FILL), [], []
    for place, number in enumerate(numbers):
        below, right = divmod(place, 2)
        size = SIDE * (mosaic.smallest + draws[2 + place] * (mosaic.largest - mosaic.smallest))
        corner = [point[0] - (0 if below else size), point[1] - (0 if right else size)]
        first = [point[0] if below else 0, point[1] if right else 0]
        end = [SIDE if below else point[0], SIDE if right else point[1]]
        for y in range(int(first[0]), int(end[0])):
            for x in range(int(first[1]), int(end[1])):
                v, u = (y + 0.5 - corner[0]) / size, (x + 0.5 - corner[1]) / size
                if 0 <= v < 1 and 0 <= u < 1:
                    image[y, x] = kitchen.images[number][int(v * HEIGHT), int(u * WIDTH)]
        for k, box in enumerate(kitchen.boxes[number]):
            on_canvas = np.tile(corner, 2) + box * size
            cut = np.clip(on_canvas, np.tile(first, 2), np.tile(end, 2))
            seen = np.prod(np.maximum(cut[2:] - cut[:2], 0)) / np.prod(on_canvas[2:] - on_canvas[:2])
            if seen >= mosaic.min_seen:
                boxes.append(cut / SIDE)
                classes.append(2 * number + k + 1)
    return {"image": image, "boxes": np.array(boxes).reshape(-1, 4), "classes": np.array(classes)}


def test_mosaic_is_four_pictures_around_a_point_with_their_boxes_cut(kitchen: Kitchen) -> None:
    rows = kitchen.rows(Augment(mosaic=MOSAIC, resize=("nearest",)), EXAMPLES)
    lost = 0
    for example, mixed in zip(stream(EXAMPLES), rows, strict=True):
        numbers = [example, *partners(example, "mosaic", 3)]
        expected = compose(kitchen, numbers, draw(drawn("mosaic", example, 3), 6).numpy(), MOSAIC)
        different = (np.abs(mixed["image"] - expected["image"]) > 1e-3).any(axis=-1)
        assert different.mean() < 0.005  # where a pixel's centre lies between two of the image, either is nearest
        assert mixed["classes"].tolist() == expected["classes"].tolist()
        np.testing.assert_allclose(mixed["boxes"], expected["boxes"], atol=1e-5)
        lost += 8 - len(mixed["classes"])
    assert lost > EXAMPLES  # of a box that is hardly seen nobody asks


def test_mixup_is_a_share_of_each_with_the_boxes_of_both(kitchen: Kitchen) -> None:
    alone = {number: row for number, row in zip(stream(EXAMPLES), kitchen.rows(Augment(), EXAMPLES), strict=True)}
    shares = []
    for example, mixed in zip(stream(22), kitchen.rows(Augment(mixup=MIXUP), 22), strict=True):
        epoch = len(shares) // EXAMPLES
        own, other = alone[example], alone[partners(example, "mixup", 1, epoch=epoch)[0]]
        apart, moved = (own["image"] - other["image"]).ravel(), (mixed["image"] - other["image"]).ravel()
        share = float(moved @ apart / (apart @ apart))
        np.testing.assert_allclose(mixed["image"], share * own["image"] + (1 - share) * other["image"], atol=1e-2)
        np.testing.assert_array_equal(mixed["boxes"], np.concatenate([own["boxes"], other["boxes"]]))
        np.testing.assert_array_equal(mixed["classes"], np.concatenate([own["classes"], other["classes"]]))
        shares.append(share)
    assert 0.1 < min(shares) < 0.45 and 0.55 < max(shares) < 0.9 and len(set(np.round(shares, 5))) == 22


@pytest.mark.parametrize("alpha", [1.5, 8.0])
def test_share_of_a_mixup_is_from_the_beta_distribution(alpha: float) -> None:
    from bakeoff.learning.input.augment.layer import DecodedExample

    white, black = (
        DecodedExample(tf.fill([1, 1, 1, 3], level), tf.zeros([0, 4]), tf.zeros([0], tf.int64)) for level in (1.0, 0.0)
    )
    keys = tf.stack([tf.range(2000), tf.zeros([2000], tf.int32)], axis=1)
    mixup = Mixup(alpha=alpha)
    blend = compile_graph(
        lambda keys: tf.map_fn(lambda key: mixup.mix(white, black, key).image[0, 0, 0, 0], keys, tf.float32)
    )
    shares = blend(keys).numpy()
    # Of Beta(a, a) the mean is a half, and the variance 1 / (4 (2 a + 1)).
    assert shares.mean() == pytest.approx(0.5, abs=0.02)
    assert shares.var() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.12)


def test_pasted_objects_are_their_own_pixels_elsewhere_and_hide_little(kitchen: Kitchen) -> None:
    alone = {number: row for number, row in zip(stream(EXAMPLES), kitchen.rows(Augment(), EXAMPLES), strict=True)}
    pasted = 0
    for place, mixed in enumerate(kitchen.rows(Augment(copy_paste=PASTE), 22)):
        example = stream(22)[place]
        own, epoch = alone[example], place // EXAMPLES
        [partner] = partners(example, "copy_paste", 1, epoch=epoch)
        other, canvas, hides = alone[partner], own["image"].copy(), np.zeros((SIDE, SIDE), bool)
        np.testing.assert_array_equal(mixed["boxes"][:2], own["boxes"])
        for box, label in zip(mixed["boxes"][2:], mixed["classes"][2:], strict=True):
            original = other["boxes"][label - 1 - 2 * partner]
            low, high = np.floor(original[:2] * SIDE).astype(int), np.ceil(original[2:] * SIDE).astype(int)
            spot = np.round(low + (box[:2] - original[:2]) * SIDE).astype(int)
            np.testing.assert_allclose(box - original, np.tile((spot - low) / SIDE, 2), atol=1e-5)
            area = tuple(slice(*ends) for ends in zip(spot, spot + high - low, strict=True))
            canvas[area] = other["image"][tuple(slice(*ends) for ends in zip(low, high, strict=True))]
            hides[area] = True
            pasted += 1
        np.testing.assert_array_equal(mixed["image"], canvas)
        for top, left, bottom, right in np.round(own["boxes"] * SIDE).astype(int):
            assert hides[top:bottom, left:right].mean() < PASTE.most_hidden + 0.12  # boxes end between pixels
    assert pasted > 15


def test_a_kind_of_mixing_draws_by_itself(kitchen: Kitchen) -> None:
    """Whether others are on decides nothing of it: pasted objects, when a mixup follows, are where they were."""
    pasted = kitchen.rows(Augment(copy_paste=PASTE), 8)
    both = kitchen.rows(Augment(copy_paste=PASTE, mixup=MIXUP), 8)
    for one, other in zip(pasted, both, strict=True):
        np.testing.assert_array_equal(one["boxes"], other["boxes"][: len(one["boxes"])])
        assert len(other["classes"]) == len(one["classes"]) + 2


def test_others_are_drawn_evenly_and_as_often_as_asked() -> None:
    draw_all = Draw(ExampleOrder(EXAMPLES, SEED), Augment(mosaic=Mosaic(probability=0.3), mixup=MIXUP))
    rows = np.array([draw_all.at(epoch, 4) for epoch in range(2000)])
    assert (rows[:, :3] >= 0).all(axis=1).mean() == pytest.approx(0.3, abs=0.04)
    assert ((rows[:, :3] >= 0).sum(axis=1) % 3 == 0).all()
    counts = np.bincount(rows[:, 3], minlength=EXAMPLES)
    assert counts[4] == 0 and counts[counts > 0].min() > 140 and counts.max() < 260


# The same however a batch is come by.


@pytest.fixture(scope="module")
def remembered() -> Batches:
    """What a test made at the cost of seconds, for the other."""
    return []


def mix_first(kitchen: Kitchen, remembered: Batches) -> dict[str, np.ndarray]:
    """Return the first 24 examples, mixed in every way, as one batch; every kitchen has the same."""
    if not remembered:
        remembered += kitchen.batches(ALL, range(1), batch_size=24)
    return remembered[0]


def cut(batch: dict[str, np.ndarray], size: int) -> Batches:
    return [
        {name: value[first : first + size] for name, value in batch.items()}
        for first in range(0, len(batch["image"]), size)
    ]


def test_batches_are_the_same_from_any_step_with_other_sizes_threads_and_shares(
    kitchen: Kitchen, remembered: Batches
) -> None:
    """Sizes, threads, shares and a later step at once, for each graph takes seconds to make."""
    alone = mix_first(kitchen, remembered)
    halves = [{name: value[2:] for name, value in batch.items()} for batch in cut(alone, 4)]
    assert_equal(
        kitchen.batches(ALL, range(1, 6), batch_size=4, decode_threads=5, portion=Portion(share=(1, 2))), halves[1:]
    )
    # All kinds are at work here, and examples without any.
    counts = {int(count) for count in (alone["classes"] > 0).sum(axis=1)}
    assert len(counts) > 3


def fed(
    store: RecordReader, steps: range, augment: Augment, span: Span, mixed_steps: int | None, together: int = 1
) -> Batches:
    """Return the batches of a phase as a training takes them."""
    feed = Feed(
        store, ExampleOrder(EXAMPLES, SEED), augment, pad, lambda size: replace(SHAPE, batch_size=size), together,
        mixed_steps=mixed_steps,
    )  # fmt: skip
    phase = TrainingPhase(span, Constant(1.0), (), "last")
    return [{name: value.numpy() for name, value in batch.items()} for batch in feed.batches(phase, steps)]


def test_nothing_is_mixed_from_the_step_on_and_what_follows_is_a_plain_run_to_the_bit(
    kitchen: Kitchen, remembered: Batches
) -> None:
    plain, mixed = kitchen.batches(PLAIN, range(8), batch_size=3), cut(mix_first(kitchen, remembered), 3)
    whole, store = Span("all", 0, 8, 0, batch_size=3, rate_factor=1.0), kitchen.store()
    assert_equal(fed(store, range(2, 6), ALL, whole, 3), mixed[2:3] + plain[3:6])
    assert_equal(fed(store, range(3, 6), ALL, whole, 3), plain[3:6])
    for one, other in zip(mixed, plain, strict=True):
        assert not np.array_equal(one["image"], other["image"])


def test_the_step_is_one_of_the_run_also_in_phases_and_after_a_resume(kitchen: Kitchen) -> None:
    """Of 10 steps the first 6 are mixed: all of the first phase, and two of the second, each of two batches of two."""
    assert Augment(until=0.6).mixed_steps(10) == 6 and Augment(until=0.55).mixed_steps(10) == 6
    assert Augment(until=0.7).mixed_steps(1000) == 700 and Augment(until=1.0).mixed_steps(7) == 7
    store, blended = kitchen.store(), Augment(mixup=MIXUP)
    first = Span("one", 0, 4, 0, batch_size=3, rate_factor=1.0)
    second = Span("two", 4, 6, 24, batch_size=2, rate_factor=1.0)

    def batches(span: Span, steps: range, mixed: int, augment: Augment = blended) -> Batches:
        return fed(store, steps, augment, span, mixed, together=2)

    assert_equal(batches(first, range(4), 6), batches(first, range(4), 10))
    expected = batches(second, range(4, 10), 10)[:4] + batches(second, range(4, 10), 10, Augment())[4:]
    for start in (4, 5, 6):
        assert_equal(batches(second, range(start, 10), 6), expected[2 * (start - 4) :])


def test_without_mixing_no_example_is_read_but_those_of_the_batch(kitchen: Kitchen) -> None:
    store = kitchen.store()
    read, asked = store.read, []

    def noted(examples: np.ndarray) -> list[bytes | None]:
        asked.extend(examples.tolist())
        return read(examples)

    store.read = noted  # type: ignore[method-assign]
    span = Span("all", 0, 3, 0, batch_size=1, rate_factor=1.0)
    for augment, mixed_steps in ((PLAIN, None), (PLAIN, 3), (ALL, 0)):
        asked.clear()
        fed(store, range(3), augment, span, mixed_steps)
        assert asked == stream(3)
    asked.clear()
    fed(store, range(3), Augment(mixup=MIXUP), span, 2)
    assert asked == [*stream(1), *partners(stream(1)[0], "mixup", 1), stream(2)[1],
                     *partners(stream(2)[1], "mixup", 1), stream(3)[2]]  # fmt: skip


def test_batches_of_a_run_without_mixing_are_those_of_before_there_was_any(kitchen: Kitchen) -> None:
    """Of changes that only move pixels, which any machine does alike."""
    moves = Augment(expand=Expand(largest=2.0), crop=SsdCrop(), resize=("nearest",), turn=Turn(0.5, 0.5, 0.5))
    content = hashlib.sha256()
    for batch in kitchen.batches(moves, range(8), batch_size=4):
        content.update((2 * batch["image"]).astype(np.int16).tobytes() + batch["classes"].astype(np.int64).tobytes())
    assert content.hexdigest()[:16] == "3b5827d89d5ecb9a"


# Odd sets.


def test_place_of_a_damaged_partner_is_taken_by_the_next_of_the_order(kitchen: Kitchen) -> None:
    order = stream(EXAMPLES)
    usual = kitchen.rows(Augment(mixup=MIXUP), EXAMPLES)
    other = {example: partners(example, "mixup", 1)[0] for example in order}
    bad = other[order[0]]
    instead = order[(order.index(bad) + 1) % EXAMPLES]
    damage_one(kitchen, bad)
    store = kitchen.store()
    rows = kitchen.rows(Augment(mixup=MIXUP), EXAMPLES, store=store)
    assert list(store.bad) == [bad]
    assert rows[0]["classes"][2:].tolist() == [2 * instead + 1, 2 * instead + 2]
    for place, example in enumerate(order):
        if bad not in (example, other[example]):
            assert_equal([rows[place]], [usual[place]])
    batches = kitchen.batches(Augment(mixup=MIXUP), range(4, 6))  # by another store, from another step
    for batch, row in zip(batches, rows[4:6], strict=True):
        assert batch["classes"][0, :4].tolist() == row["classes"].tolist()
        np.testing.assert_allclose(batch["image"][0], row["image"], atol=1e-3)


def damage_one(kitchen: Kitchen, example: int) -> None:
    [shard] = kitchen.split.shards
    offset, length = np.load(kitchen.folder / f"index-{shard.file}.npy")[example]
    content = bytearray((kitchen.folder / shard.file).read_bytes())
    content[offset + length // 2] ^= 0x10
    (kitchen.folder / shard.file).write_bytes(content)


@pytest.mark.parametrize("examples", [1, 2])
def test_sets_of_one_and_two_examples_are_mixed_with_what_there_is(cook: Callable[..., Kitchen], examples: int) -> None:
    kitchen = cook(examples)
    for row in kitchen.rows(Augment(mosaic=MOSAIC if examples == 1 else None, mixup=MIXUP), 4):
        assert row["image"].shape == (SIDE, SIDE, 3)
        assert set(row["classes"].tolist()) <= {1, 2} if examples == 1 else sorted(row["classes"]) == [1, 2, 3, 4]


def test_objects_are_not_pasted_where_there_are_none(
    png: Callable[[np.ndarray], bytes], write_train: Callable[..., Split], tmp_path: Path
) -> None:
    image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    records = [Record(f"r{number}", (png(image),), HEIGHT, WIDTH, format="png") for number in range(3)]
    kitchen = Kitchen(tmp_path, write_train(records, CLASSES), [image] * 3, [])
    for row in kitchen.rows(Augment(mosaic=MOSAIC, copy_paste=PASTE, mixup=MIXUP), 3):
        assert row["classes"].size == 0 and row["boxes"].shape == (0, 4)
