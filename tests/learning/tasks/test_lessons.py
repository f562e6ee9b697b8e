"""What is learnt of an example, from its labels and a teacher's answers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Box, Record, encode_record
from bakeoff.dataset.records.wire import decode_features
from bakeoff.foundation.errors import DataError, OutOfRange
from bakeoff.learning.input.decode import parse_image, parse_scene
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.tasks.lessons import Lessons, match
from bakeoff.learning.tasks.teacher import Teacher
from bakeoff.learning.tasks.teacher_answers import FILE, TeacherAnswers, gather_answers, unite_classes
from support.drawing import encoded
from support.messages import missing_in

CLASSES = ("a", "b", "c")
TRUTH = {"found": (0.1, 0.1, 0.5, 0.5), "missed": (0.6, 0.6, 0.9, 0.9)}
NEAR, NEW = (0.1, 0.1, 0.5, 0.54), (0.0, 0.6, 0.3, 0.9)  # NEAR overlaps `found` by 0.16 / 0.176
SPREAD = 0.04
Write = Callable[..., Split]


@pytest.fixture
def store(write_train: Write, open_store: Any, tmp_path: Path) -> RecordReader:
    """A picture with two labelled boxes, and one without any."""
    boxes = (Box(*TRUTH["found"], "b"), Box(*TRUTH["missed"], "c"))
    records = [Record("labelled", (b"pixels",), 40, 60, boxes=boxes), Record("bare", (b"more",), 20, 30)]
    opened: RecordReader = open_store(tmp_path, write_train(records, CLASSES))
    return opened


def answers(*examples: list[tuple[tuple[float, ...], list[float]]]) -> TeacherAnswers:
    return TeacherAnswers(
        np.array([len(rows) for rows in examples]),
        np.array([box for rows in examples for box, _ in rows], np.float32).reshape(-1, 4),
        np.array([scores for rows in examples for _, scores in rows], np.float32).reshape(-1, len(CLASSES)),
        np.array([SPREAD for rows in examples for _ in rows], np.float32),
    )


TOLD = answers([(NEAR, [0.1, 0.6, 0.1]), (NEW, [0.7, 0.0, 0.2])], [(NEW, [0.1, 0.4, 0.0])])


def learn(store: RecordReader, told: TeacherAnswers, teacher: Teacher, example: int) -> dict[str, np.ndarray]:
    """What training gets of an example, through the record as the store then gives it."""
    lessons = Lessons.of(store, told, teacher)
    data = lessons.rewrite(example, store.read(np.array([example]))[0] or b"")
    taught = lessons.encode(lambda one: one)(parse_scene(tf.constant(data)))
    return {name: value.numpy() for name, value in taught.items()}


def test_a_box_that_the_teacher_found_has_its_classes_one_that_it_missed_its_label_and_a_new_one_comes(
    store: RecordReader,
) -> None:
    taught = learn(store, TOLD, Teacher("x", weight=0.25), 0)
    assert taught["classes"].tolist() == [2, 3, 1]
    told = np.array([0.1, 0.6, 0.1]) / 0.8
    np.testing.assert_allclose(taught["shares"][0], 0.75 * np.array([0, 1, 0]) + 0.25 * told, rtol=1e-6)
    np.testing.assert_array_equal(taught["shares"][1], [0, 0, 1])
    np.testing.assert_allclose(taught["shares"][2], [0.7, 0.0, 0.2], rtol=1e-6)
    np.testing.assert_allclose(taught["boxes"], [TRUTH["found"], TRUTH["missed"], NEW], rtol=1e-6)
    np.testing.assert_allclose(taught["spreads"], [0, 0, SPREAD])
    assert (taught["image"], *taught["size"]) == (b"pixels", 40, 60)


@pytest.mark.parametrize(("added_from", "count"), [(0.3, 1), (0.5, 0), (1.0, 0)])
def test_a_picture_without_labels_has_what_the_teacher_is_sure_of(
    added_from: float, count: int, store: RecordReader
) -> None:
    taught = learn(store, TOLD, Teacher("x", added_from=added_from), 1)
    assert taught["classes"].tolist() == [2][:count] and len(taught["boxes"]) == count


def test_a_teacher_without_weight_that_adds_nothing_leaves_the_labels(store: RecordReader) -> None:
    taught = learn(store, TOLD, Teacher("x", weight=0.0, added_from=1.0), 0)
    [data] = store.read(np.array([0]))
    truth = parse_scene(tf.constant(data))
    for name in ("boxes", "classes", "size", "height", "width", "image"):
        np.testing.assert_array_equal(taught[name], truth[name].numpy())
    np.testing.assert_array_equal(taught["shares"], np.eye(3)[[1, 2]])
    np.testing.assert_array_equal(taught["spreads"], [0, 0])


def test_boxes_lie_between_the_labelled_and_the_answered_one_and_a_temperature_evens_classes_out(
    store: RecordReader,
) -> None:
    taught = learn(store, TOLD, Teacher("x", weight=1.0, box_weight=0.5, temperature=2.0, added_from=1.0), 0)
    np.testing.assert_allclose(taught["boxes"][0], (0.1, 0.1, 0.5, 0.52), rtol=1e-6)
    np.testing.assert_allclose(taught["boxes"][1], TRUTH["missed"], rtol=1e-6)
    np.testing.assert_allclose(taught["spreads"], [0.5 * SPREAD, 0])
    roots = np.sqrt([0.1, 0.6, 0.1])
    np.testing.assert_allclose(taught["shares"][0], roots / roots.sum(), rtol=1e-6)


def test_scores_of_several_classes_never_make_more_than_one_object(store: RecordReader) -> None:
    told = answers([], [(NEW, [0.9, 0.9, 0.9])])
    np.testing.assert_allclose(learn(store, told, Teacher("x"), 1)["shares"], [[1 / 3] * 3], rtol=1e-6)


def test_an_image_learns_the_label_and_what_the_teacher_says(
    write_train: Write, open_store: Any, tmp_path: Path
) -> None:
    records = [Record(name, (b"pixels",), 8, 8, labels=(label,)) for name, label in (("x", "b"), ("y", "c"))]
    store = open_store(tmp_path, write_train(records, CLASSES))
    told = answers([((0, 0, 1, 1), [0.25, 0.5, 0.25])], [])  # the second picture could not be read
    lessons = Lessons.of(store, told, Teacher("x", weight=0.5))
    rewritten = [lessons.rewrite(number, data) for number, data in enumerate(store.read(np.arange(2)))]
    taught = [lessons.encode(lambda one: one)(parse_image(tf.constant(data))) for data in rewritten]
    assert [int(one["label"]) for one in taught] == [2, 3]
    np.testing.assert_allclose(taught[0]["shares"], [0.125, 0.75, 0.125])
    np.testing.assert_allclose(taught[1]["shares"], [0, 0, 1])


def test_a_share_of_the_examples_has_the_lessons_of_its_own_pictures(write_train: Write, tmp_path: Path) -> None:
    records = [Record(str(number), (b"x",), 8, 8, labels=(CLASSES[number],)) for number in range(3)]
    split = write_train(records, CLASSES)
    store, some = RecordReader(tmp_path, split), RecordReader(tmp_path, split, only=np.array([2, 0]))
    lessons = Lessons.of(store, answers([], [], []), Teacher("x"))
    some.rewrite = lessons.rewrite
    labels = [decode_features(data or b"")["image/class/label"] for data in some.read(np.arange(2))]
    assert labels == [[3], [1]]  # rows of the table, behind the padding
    assert some.names(np.arange(2)) == ["2", "0"]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"junk", ("record 0", "tf.Example")),
        (encode_record(Record("x", (encoded(0),), 24, 32, labels=("d",)), {"d": 4}), ("class",)),
    ],
)
def test_a_record_that_is_none_is_named(
    data: bytes, named: tuple[str, ...], store: RecordReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "read", lambda examples: [data] * len(examples))
    with pytest.raises(DataError) as raised:
        Lessons.of(store, TOLD, Teacher("x"))
    assert missing_in(str(raised.value), *named, "build_records") == []


def test_pairs_overlap_most_first_and_nothing_is_found_twice() -> None:
    overlap = np.array([[0.9, 0.6], [0.95, 0.55], [0.7, 0.4]])
    assert match(overlap).tolist() == [1, 0, -1]
    assert match(np.zeros((2, 0))).tolist() == [-1, -1]


def test_detections_of_one_place_are_one_object_with_a_score_for_each_class() -> None:
    boxes = np.array([NEAR, TRUTH["found"], NEW, TRUTH["found"]], np.float32)
    found, ids, spreads = np.array([0.8, 0.5, 0.4, 0.3]), np.array([2, 1, 2, 2]), np.array([0.1, 0.2, 0.3, 0.4])
    places, scores, sides = unite_classes(boxes, found, ids, spreads, 3)
    np.testing.assert_array_equal(places, boxes[[0, 2, 3]])  # the last is the second of its class there
    np.testing.assert_allclose(sides, [0.1, 0.3, 0.4])
    np.testing.assert_allclose(scores, [[0.5, 0.8, 0], [0, 0.4, 0], [0, 0.3, 0]], rtol=1e-6)


def test_answers_come_by_number_and_are_kept_as_equal_bytes(tmp_path: Path) -> None:
    batches = [{"number": tf.constant([2, 0])}, {"number": tf.constant([3])}]
    given = iter([[[0.2, 0.8], [1.0, 0.0]], [[0.5, 0.5]]])
    seen: list[int] = []
    told = gather_answers(lambda batch: {"probabilities": tf.constant(next(given))}, batches, 4, 2, seen.append)
    assert (told.counts.tolist(), seen) == ([1, 0, 1, 1], [2, 1])
    np.testing.assert_allclose(told.scores, [[1, 0], [0.2, 0.8], [0.5, 0.5]])
    for name in ("one", "two"):
        told.write(tmp_path / name)
    assert (tmp_path / "one" / FILE).read_bytes() == (tmp_path / "two" / FILE).read_bytes()
    again = TeacherAnswers.read(tmp_path / "one")
    np.testing.assert_array_equal(again.scores, told.scores)
    np.testing.assert_array_equal(again.spreads, [0, 0, 0])


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut", b"no archive"])
def test_a_damaged_file_of_answers_is_named(damage: bytes, tmp_path: Path) -> None:
    TOLD.write(tmp_path / "told")
    (tmp_path / "told" / FILE).write_bytes(damage)
    with pytest.raises(DataError, match=FILE):
        TeacherAnswers.read(tmp_path / "told")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run", " "),
        ("weight", 1.1),
        ("weight", float("nan")),
        ("temperature", 0),
        ("box_weight", -0.1),
        ("added_from", 2),
    ],
)
def test_senseless_settings_are_refused(key: str, value: Any) -> None:
    with pytest.raises(OutOfRange, match=key):
        replace(Teacher("x"), **{key: value})
