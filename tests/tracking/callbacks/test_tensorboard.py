"""Event files as TensorFlow reads them back: every record once, whatever happened to the run."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.tracking.callbacks.tensorboard import Events


def read(folder: Path) -> list[tuple[str, int, tf.compat.v1.Summary.Value]]:
    """(tag, step, value) in the order in which TensorBoard sees them."""
    return [
        (value.tag, event.step, value)
        for file in sorted(folder.glob("*tfevents*"))
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
    ]


def scalars(folder: Path) -> list[tuple[str, int, float]]:
    return [(tag, step, round(value.simple_value, 6)) for tag, step, value in read(folder)]


def test_scalars_are_read_back_with_their_steps(tmp_path: Path) -> None:
    with closing(Events(tmp_path / "events", 0)) as events:
        events.scalars(10, {"train/loss": 2.5, "learning_rate": 0.1})
        assert scalars(tmp_path / "events") == [("train/loss", 10, 2.5), ("learning_rate", 10, 0.1)]  # while it trains
        events.scalars(20, {"train/loss": 1.5})
    assert scalars(tmp_path / "events")[2:] == [("train/loss", 20, 1.5)]
    [file] = (tmp_path / "events").iterdir()
    [first, *_] = tf.compat.v1.train.summary_iterator(str(file))
    assert first.file_version == "brain.Event:2"


def test_what_came_after_the_checkpoint_is_there_once_when_it_is_done_again(tmp_path: Path) -> None:
    def life(done: int, *steps: int) -> None:
        with closing(Events(tmp_path, done)) as events:
            for step in steps:
                events.scalars(step, {"loss": step / 10})

    life(0, 10, 20, 30)
    life(20, 30, 40, 50)
    life(20, 30)
    life(30, 40, 50)
    life(50)
    assert scalars(tmp_path) == [("loss", step, step / 10) for step in (10, 20, 30, 40, 50)]


def test_a_record_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    with closing(Events(tmp_path, 0)) as events:
        events.scalars(10, {"loss": 1.0})
        events.scalars(20, {"loss": 2.0})
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    with closing(Events(tmp_path, 20)) as events:
        events.scalars(30, {"loss": 3.0})
    assert scalars(tmp_path) == [("loss", 10, 1.0), ("loss", 30, 3.0)]


def test_a_run_that_writes_events_from_its_middle_on_has_the_history_before(tmp_path: Path) -> None:
    history = [LogLine(10, {"train/loss": 2.0}), LogLine(20, {"validation/mAP": 0.5}, "head")]
    with closing(Events(tmp_path, 20, history)) as events:
        events.scalars(30, {"train/loss": 1.0})
    expected = [("train/loss", 10, 2.0), ("validation/mAP", 20, 0.5), ("train/loss", 30, 1.0)]
    assert scalars(tmp_path) == expected
    with closing(Events(tmp_path, 30, history)):
        pass
    assert scalars(tmp_path) == expected


def test_a_histogram_counts_every_finite_number(tmp_path: Path) -> None:
    numbers = np.array([[0.0, 1.0, 1.0], [30.0, np.nan, np.inf]], np.float32)
    with closing(Events(tmp_path, 0)) as events:
        events.histograms(5, {"weights/kernel": numbers, "nothing": np.array([np.nan])})
    [(tag, step, value)] = read(tmp_path)
    assert (tag, step) == ("weights/kernel", 5)
    histogram = value.histo
    assert (histogram.min, histogram.max, histogram.num) == (0.0, 30.0, 4.0)
    assert (histogram.sum, histogram.sum_squares) == (32.0, 902.0)
    # Thirty buckets of width 1, that of each number ending above it, but the last, which holds its upper edge.
    assert list(histogram.bucket) == [1.0, 2.0, *[0.0] * 27, 1.0]
    assert list(histogram.bucket_limit) == pytest.approx(list(range(1, 31)))


def test_a_picture_is_read_back_with_its_size(tmp_path: Path) -> None:
    Image.new("RGB", (20, 10), (0, 0, 255)).save(tmp_path / "sheet.jpg")
    with closing(Events(tmp_path / "events", 0)) as events:
        events.picture(7, "samples", tmp_path / "sheet.jpg")
    [(tag, step, value)] = read(tmp_path / "events")
    assert (tag, step, value.image.width, value.image.height) == ("samples", 7, 20, 10)
    assert tf.io.decode_jpeg(value.image.encoded_image_string).numpy()[5, 5, 2] > 240
