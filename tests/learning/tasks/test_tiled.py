"""Whole pictures answered tile by tile, from records to the score, and what does not change the answer."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Box, Record
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.batches import evaluation_batches, training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.detector_settings import Suppression
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.networks.tile_merge import merge_tiles
from bakeoff.learning.networks.tiles import Tiles
from bakeoff.learning.tasks.task import compile_answer, judge, make_task
from bakeoff.learning.tasks.tiled import answer_in_tiles, rows_of

TILES = Tiles(size=40)
MODEL = Ssd(32, 0.1, anchors=Anchors(scale=1.0), suppression=Suppression(min_score=0.0099), tiles=TILES)
SHAPE = Shape("detection", 32, 1, 4, 2, 1, tiles=TILES)
SIZES = ((40, 90), (30, 35), (70, 64))  # 3, 1 and 4 tiles, and the whole of two of them
OBJECTS = ((10, 30, 20, 42), (5, 5, 15, 15), (30, 25, 45, 40))  # the first and the last lie on seams


def white(*box: int, size: tuple[int, int]) -> np.ndarray:
    pixels = np.zeros((*size, 3), np.uint8)
    pixels[box[0] : box[2], box[1] : box[3]] = 255
    return pixels


@pytest.fixture
def store(
    png: Callable[[np.ndarray], bytes], write_train: Callable[..., Split],
    open_store: Callable[[Path, Split], RecordReader], tmp_path: Path,
) -> RecordReader:  # fmt: skip
    """Three pictures of different size with a white rectangle each."""
    records = [
        Record(
            f"r{number}", (png(white(*box, size=size)),), *size, format="png",
            boxes=(Box(*(np.array(box) / np.tile(size, 2)).tolist(), "a"),),
        )
        for number, (size, box) in enumerate(zip(SIZES, OBJECTS, strict=True))
    ]  # fmt: skip
    return open_store(tmp_path, write_train(records, ("a",)))


@pytest.fixture(scope="module")
def network() -> keras.Model:
    keras.utils.set_random_seed(0)
    return MODEL.build(1)


def find_white(views: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """What a perfect detector would answer: the rectangle around what is white, if much of it is there."""
    corners = []
    for image in views["image"].numpy():
        rows, columns = (np.flatnonzero((image[..., 0] > 127).any(axis=axis)) for axis in (1, 0))
        there = len(rows) >= 3 and len(columns) >= 3
        corners.append([rows[0], columns[0], rows[-1] + 1, columns[-1] + 1] if there else [0, 0, 0, 0])
    boxes = np.array(corners, np.float32)[:, None] / views["image"].shape[1]
    count = (boxes.max(axis=(1, 2)) > 0).astype(np.int32)
    ones = np.ones([len(boxes), 1])
    values = {"boxes": boxes, "scores": ones * 0.9, "classes": ones.astype(np.int64), "count": count}
    return {name: tf.constant(value) for name, value in values.items()}


@pytest.mark.parametrize("at_once", [1, 2, 50])
def test_an_object_on_a_seam_is_detected_once_on_the_whole_picture(store: RecordReader, at_once: int) -> None:
    task = make_task(MODEL, ("a",))
    batches = evaluation_batches(store, replace(SHAPE, batch_size=at_once))
    score = judge(task, {"network": answer_in_tiles(SHAPE.view, find_white)}, batches)["network"]
    assert [len(boxes.corners) for boxes in score.predictions] == [1, 1, 1]
    assert score.result()["mAP_50"] == 1.0 and score.result()["recall"] == 1.0
    for boxes, box in zip(score.predictions, OBJECTS, strict=True):
        np.testing.assert_allclose(boxes.corners[0], box, atol=2)  # a pixel of the network is up to 3 of the picture


def test_answers_are_those_of_each_tile_merged_whatever_goes_at_once(store: RecordReader, network: keras.Model) -> None:
    task = make_task(MODEL, ("a",))
    whole = compile_answer(network, task)
    alone = compile_answer(network, make_task(replace(MODEL, tiles=None), ("a",)))
    several = list(evaluation_batches(store, replace(SHAPE, batch_size=3)))
    for batch, same in zip(evaluation_batches(store, SHAPE), several, strict=True):
        [given] = rows_of(whole(batch))
        [again] = rows_of(whole(same))
        [picture] = batch["pixels"].numpy()
        windows = TILES.windows(*picture.shape[:2])
        cut = [picture[top:bottom, left:right].astype(np.float32) for top, left, bottom, right in windows]
        views = tf.stack([tf.image.resize(one, [32, 32], antialias=max(one.shape) > 40) for one in cut])
        merged = merge_tiles(rows_of(alone({"image": views})), windows, TILES)
        assert len(given["boxes"]) > 5
        for name in ("boxes", "scores", "classes"):
            np.testing.assert_allclose(given[name], merged[name], atol=1e-4)
            np.testing.assert_allclose(given[name], again[name], atol=1e-5)


def test_the_loss_of_a_picture_is_that_of_its_views_as_one_batch(store: RecordReader, network: keras.Model) -> None:
    task = make_task(MODEL, ("a",))
    answer = compile_answer(network, task, with_losses=True)
    for batch in evaluation_batches(store, SHAPE):
        picture, boxes = batch["pixels"].numpy()[0], batch["boxes"].numpy()[0]
        windows = TILES.windows(*picture.shape[:2])
        asked, views = [], []
        for top, left, bottom, right in windows:
            cut, rows = TILES.cut_truth(boxes, np.array([top, left, bottom, right]) / np.tile(picture.shape[:2], 2))
            classes = tf.ones([len(rows)], tf.int64)
            asked.append(task.encode({"boxes": tf.constant(cut, tf.float32), "classes": classes}))
            view = picture[top:bottom, left:right].astype(np.float32)
            views.append(tf.image.resize(view, [32, 32], antialias=max(view.shape) > 40))
        targets = {name: tf.stack([one[name] for one in asked]) for name in asked[0]}
        parts = task.losses(network(tf.stack(views), training=False), targets)
        counted = answer(batch)["losses"].numpy()[0]
        np.testing.assert_allclose(counted[:2], [parts["classes"], parts["boxes"]], rtol=1e-3)


def test_a_resumed_training_takes_the_same_crops(store: RecordReader) -> None:
    def batches(steps: range) -> list[dict[str, np.ndarray]]:
        made = training_batches(
            store,
            SHAPE,
            order=ExampleOrder(3, 0),
            steps=steps,
            augment=Augment(),
            encode=make_task(MODEL, ("a",)).encode,
        )
        return list(made.as_numpy_iterator())

    whole, rest = batches(range(6)), batches(range(3, 6))
    for one, other in zip(whole[3:], rest, strict=True):
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name])
    assert len({batch["image"].tobytes() for batch in whole}) == 6  # a crop in each epoch of its own
