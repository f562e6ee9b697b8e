import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Box, Record
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.scene import make_key
from bakeoff.learning.input.batches import evaluation_batches, training_batches
from bakeoff.learning.input.decode import choose_parser
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.tasks.task import make_task
from support.task_batches import ANY_PART, CHANGES, CLASSES, EXAMPLES, MODELS, SIZE, Batcher, Batches, taken


@pytest.fixture
def batcher(
    request: pytest.FixtureRequest,
    png: Callable[[np.ndarray], bytes],
    write_train: Callable[..., Split],
    open_store: Callable[[Path, Split], RecordReader],
    tmp_path: Path,
) -> Batcher:
    """Parametrised by the task, indirectly."""
    task = request.param
    draw = np.random.default_rng(4)
    records, raw = [], []
    for number, label in enumerate(CLASSES):
        height, width = 20 + number, 30 - number
        frames = [draw.integers(0, 256, (height, width, 3), np.uint8) for _ in range(4 if task == "video" else 1)]
        low = draw.uniform(0, 0.4, (number, 2))
        corners = np.concatenate([low, low + draw.uniform(0.2, 0.6, (number, 2))], axis=1)
        records.append(
            Record(
                f"r{number}",
                tuple(png(frame) for frame in frames),
                height,
                width,
                boxes=tuple(Box(*map(float, box), label) for box in corners) if task == "detection" else (),
                labels=() if task == "detection" else (label,),
                format="png",
                frames_per_second=5.0 if task == "video" else 0.0,
            )
        )
        raw.append(frames)
    return Batcher(task, records, raw, open_store(tmp_path, write_train(records, CLASSES)))


@dataclass(frozen=True)
class Usual:
    """The batches of three epochs, and what is known of them before the first is made."""

    spec: Any
    batches: Batches


@pytest.fixture(scope="module")
def by_task() -> dict[str, Usual]:
    """To be made once for each task."""
    return {}


@pytest.fixture
def usual(batcher: Batcher, by_task: dict[str, Usual]) -> Usual:
    if batcher.task not in by_task:
        dataset = batcher.training_dataset(range(7), **ANY_PART[batcher.task])
        by_task[batcher.task] = Usual(dataset.element_spec, taken(dataset))
    return by_task[batcher.task]


def in_the_kitchen(*tasks: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("batcher", tasks or list(MODELS), indirect=True)


def assert_equal(a: Any, b: Any) -> None:
    """Equal to the last bit, with equal structure."""
    tf.nest.map_structure(np.testing.assert_array_equal, a, b)
    assert len(a) == len(b) > 0


# Training.


@in_the_kitchen()
def test_batches_from_a_step_on_equal_those_of_a_run_from_the_start_with_other_threads(
    batcher: Batcher, usual: Usual
) -> None:
    batches = batcher.training(range(4, 7), decode_threads=7, prefetch_batches=5, **ANY_PART[batcher.task])
    assert_equal(batches, usual.batches[4:])


def one_by_one(batches: Batches) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
    return [
        (image, {name: value[row] for name, value in targets.items()})
        for images, targets in batches
        for row, image in enumerate(images)
    ]


@pytest.mark.parametrize(
    ("batcher", "batch_size"),
    [("classification", 1), ("classification", 12), ("detection", 12), ("video", 4)],
    indirect=["batcher"],
)
def test_example_of_an_epoch_looks_the_same_in_batches_of_any_size(
    batcher: Batcher, batch_size: int, usual: Usual
) -> None:
    batches = batcher.training(range(12 // batch_size), batch_size=batch_size, **ANY_PART[batcher.task])
    assert_equal(one_by_one(batches), one_by_one(usual.batches)[:12])


@in_the_kitchen("classification", "video")
def test_every_example_is_trained_on_once_an_epoch_though_batches_cross_epochs(usual: Usual) -> None:
    labels = np.concatenate([targets["label"] for _, targets in usual.batches])
    for epoch in range(3):
        assert sorted(labels[epoch * EXAMPLES : (epoch + 1) * EXAMPLES]) == [1, 2, 3, 4, 5, 6, 7]


@in_the_kitchen("classification", "video")
def test_examples_come_in_the_order_named_with_their_own_pixels(batcher: Batcher) -> None:
    _, numbers = ExampleOrder(EXAMPLES, seed=3).at(np.arange(9))
    batches = batcher.training(range(3), seed=3, augment=Augment())
    images = np.concatenate([images for images, _ in batches])
    assert np.concatenate([targets["label"] for _, targets in batches]).tolist() == (numbers + 1).tolist()
    for image, number in zip(images, numbers, strict=True):
        # Frames 0, 1.5 and 3 of four are wanted; the one in the middle is rounded to the even one.
        frames = [batcher.raw[number][frame] for frame in ((0, 2, 3) if batcher.task == "video" else (0,))]
        expected = [tf.image.resize(frame, (16, 16), antialias=True) for frame in frames]
        np.testing.assert_allclose(image if batcher.task == "video" else image[None], expected, atol=1e-2)


@in_the_kitchen("detection")
def test_boxes_become_the_targets_of_their_own_image(batcher: Batcher) -> None:
    """Example n has n boxes of class n + 1, so that its targets hold no other class."""
    _, numbers = ExampleOrder(EXAMPLES, seed=0).at(np.arange(9))
    batches = batcher.training(range(3), augment=Augment())
    classes = np.concatenate([targets["classes"] for _, targets in batches])
    assert [set(row) - {0} for row in classes] == [{number + 1} if number else set() for number in numbers]


@in_the_kitchen()
def test_batch_is_to_the_bit_what_direct_execution_gives(batcher: Batcher, usual: Usual) -> None:
    """Each example changed alone, outside tf.data, by the key of its seed, epoch and number."""
    shape = replace(batcher.shape, **ANY_PART[batcher.task])
    encode = make_task(MODELS[batcher.task], CLASSES).encode
    epochs, numbers = ExampleOrder(EXAMPLES, seed=0).at(np.arange(9))
    rows = []
    for data, epoch, number in zip(batcher.store.read(numbers), epochs, numbers, strict=True):
        key = make_key(0, epoch=tf.constant(epoch), example=tf.constant(number))
        parsed = choose_parser(shape)(tf.constant(data))
        example = augment_and_resize.distort(parsed, shape.view, augment=CHANGES, key=key)
        rows.append((example["image"], encode(example)))
    for number, (images, targets) in enumerate(usual.batches[:3]):
        alone = rows[3 * number : 3 * number + 3]
        np.testing.assert_array_equal(images, np.stack([image for image, _ in alone]))
        for name, value in targets.items():
            np.testing.assert_array_equal(value, np.stack([target[name] for _, target in alone]))


@in_the_kitchen("classification")
def test_example_looks_different_in_each_epoch_and_under_each_seed(batcher: Batcher, usual: Usual) -> None:
    looks = set()
    for batches in (usual.batches, batcher.training(range(7), seed=1)):
        for image, targets in one_by_one(batches):
            looks.add((int(targets["label"]), image.tobytes()))
    assert len(looks) == 2 * 21


@in_the_kitchen()
def test_shapes_of_batches_are_known_beforehand(batcher: Batcher, usual: Usual) -> None:
    frames, size = ((3,) if batcher.task == "video" else ()), SIZE[batcher.task]
    targets = dict(usual.spec)
    images = targets.pop("image")
    assert images.shape.as_list() == [3, *frames, size, size, 3] and images.dtype == tf.float32
    anchors = 4 * 4 + 2 * 2 + 1
    expected = {"classes": [3, anchors], "boxes": [3, anchors, 4]} if batcher.task == "detection" else {"label": [3]}
    assert {name: spec.shape.as_list() for name, spec in targets.items()} == expected


@in_the_kitchen("classification")
def test_every_batch_is_full(batcher: Batcher) -> None:
    assert [len(images) for images, _ in batcher.training(range(4), batch_size=5, augment=Augment())] == [5, 5, 5, 5]


@in_the_kitchen("classification")
def test_deterministic_mode_still_reads_ahead(batcher: Batcher, deterministic_operations: None) -> None:
    """TensorFlow takes prefetching away from pipelines that it thinks have state, unless they say otherwise."""
    ahead = threading.Event()

    class Watched:
        reads = 0

        def read(self, examples: np.ndarray) -> list[bytes]:
            self.reads += 1
            if self.reads >= 3:
                ahead.set()
            return batcher.store.read(examples)

    batches = training_batches(
        Watched(),  # type: ignore[arg-type]
        replace(batcher.shape, prefetch_batches=4),
        order=ExampleOrder(EXAMPLES, 0),
        steps=range(20),
        augment=Augment(),
        encode=lambda example: {"label": example["label"]},
    )
    waiting = iter(batches)
    next(waiting)
    assert ahead.wait(timeout=15), "no batch was read before it was asked for"


@in_the_kitchen()
def test_deterministic_mode_gives_the_same_batches(
    batcher: Batcher, usual: Usual, deterministic_operations: None
) -> None:
    batches = batcher.training(range(2, 5), decode_threads=4, **ANY_PART[batcher.task])
    assert_equal(batches, usual.batches[2:5])


# Evaluation.


@in_the_kitchen()
def test_evaluation_takes_every_example_once_in_the_order_of_the_shards(batcher: Batcher) -> None:
    batches = batcher.evaluation()
    assert [batch["number"].tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6]]


@in_the_kitchen()
def test_last_short_batch_of_an_evaluation_is_kept(batcher: Batcher) -> None:
    for batch_size, sizes in ((4, [4, 3]), (100, [7])):
        assert [len(batch["image"]) for batch in batcher.evaluation(batch_size=batch_size)] == sizes


@in_the_kitchen("classification", "video")
def test_evaluation_shows_the_whole_image_with_its_label(batcher: Batcher) -> None:
    batches = batcher.evaluation()
    assert np.concatenate([batch["label"] for batch in batches]).tolist() == [1, 2, 3, 4, 5, 6, 7]
    for image, frames in zip(np.concatenate([batch["image"] for batch in batches]), batcher.raw, strict=True):
        shown = frames if batcher.task == "classification" else [frames[0], frames[2], frames[3]]
        expected = [tf.image.resize(frame, (16, 16), antialias=True) for frame in shown]
        np.testing.assert_allclose(image.reshape(-1, 16, 16, 3), expected, atol=1e-2)


@in_the_kitchen("detection")
def test_evaluation_pads_boxes_with_the_background_class(batcher: Batcher) -> None:
    first, second, third = batcher.evaluation()
    assert first["classes"].tolist() == [[0, 0], [2, 0], [3, 3]]
    assert second["classes"].tolist() == [[4] * 3 + [0] * 2, [5] * 4 + [0], [6] * 5]
    assert third["classes"].tolist() == [[7] * 6]
    for batch in (first, second, third):
        for row, number in enumerate(batch["number"]):
            given = [(box.ymin, box.xmin, box.ymax, box.xmax) for box in batcher.records[number].boxes]
            np.testing.assert_allclose(batch["boxes"][row][: len(given)], np.reshape(given, (-1, 4)), rtol=1e-6)
            assert not batch["boxes"][row][len(given) :].any()


@in_the_kitchen("detection")
def test_evaluation_keeps_the_size_of_the_original_image(batcher: Batcher) -> None:
    batches = batcher.evaluation(batch_size=7)
    assert batches[0]["height"].tolist() == [20, 21, 22, 23, 24, 25, 26]
    assert batches[0]["width"].tolist() == [30, 29, 28, 27, 26, 25, 24]
    assert batches[0]["image"].shape == (7, 32, 32, 3)


@in_the_kitchen()
def test_evaluation_does_not_depend_on_threads_and_batch_size(batcher: Batcher) -> None:
    usual = np.concatenate([batch["image"] for batch in batcher.evaluation()])
    other = batcher.evaluation(batch_size=2, decode_threads=5, prefetch_batches=1)
    np.testing.assert_array_equal(np.concatenate([batch["image"] for batch in other]), usual)


@in_the_kitchen("classification")
def test_evaluation_can_be_gone_through_again(batcher: Batcher) -> None:
    batches = evaluation_batches(batcher.store, batcher.shape)
    assert_equal(list(batches.as_numpy_iterator()), list(batches.as_numpy_iterator()))
