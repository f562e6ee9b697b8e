"""What goes to MLflow with an exported model: bytes of images in, a table of answers out."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.tracking.sync.pyfunc_model import Predictor, _load_pyfunc

RED, BLUE = (200, 0, 0), (0, 0, 200)


def file_of(pixels: np.ndarray, form: str = "PNG", **more: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, form, **more)
    return buffer.getvalue()


def square(colour: tuple[int, ...], size: int = 8) -> np.ndarray:
    return np.full((size, size, len(colour)), colour, np.uint8)


def exported(folder: Path, rank: int, answer: Callable[[tf.Tensor], dict[str, tf.Tensor]]) -> Predictor:
    """A SavedModel of a network that can be worked out by hand, with two labels."""
    module = tf.Module()
    spec = tf.TensorSpec([*[None] * (rank - 1), 3], tf.uint8, name="images")
    module.answer = tf.function(answer, input_signature=[spec])
    tf.saved_model.save(module, str(folder / "saved_model"), signatures={"serving_default": module.answer})
    (folder / "labels.txt").write_text("red one\nblue\n", encoding="utf-8")
    return _load_pyfunc(str(folder))


def shares(images: tf.Tensor) -> tf.Tensor:
    """Of red and of blue in all pixels: (n, 2)."""
    totals = tf.reduce_sum(tf.cast(images, tf.float32), axis=list(range(1, images.shape.rank - 1)))
    return totals[:, ::2] / tf.reduce_sum(totals, axis=1, keepdims=True)


def one_label(images: tf.Tensor) -> dict[str, tf.Tensor]:
    probabilities = shares(images)
    return {
        "classes": tf.argmax(probabilities, axis=1) + 1,
        "scores": tf.reduce_max(probabilities, axis=1),
        "probabilities": probabilities,
    }


@pytest.mark.parametrize("given", [list, lambda rows: pd.DataFrame({"image": rows}), lambda rows: rows[0]])
def test_one_label_is_answered_with_its_text_and_all_probabilities(
    given: Callable[[list[bytes]], Any], tmp_path: Path
) -> None:
    predictor = exported(tmp_path, 4, one_label)
    predictions = predictor.predict(given([file_of(square((150, 0, 50))), file_of(square(BLUE, 5))])).to_dict("records")
    assert predictions[0] == {"class": 1, "text": "red one", "score": 0.75, "probabilities": [0.75, 0.25]}
    assert predictions[1:] in ([], [{"class": 2, "text": "blue", "score": 1.0, "probabilities": [0.0, 1.0]}])


def test_several_labels_are_all_answered(tmp_path: Path) -> None:
    predictor = exported(tmp_path, 4, lambda images: {"scores": shares(images)})
    [predictions] = predictor.predict([file_of(square(RED))]).to_dict("records")
    assert predictions == {"texts": ["red one", "blue"], "scores": [1.0, 0.0]}


def test_a_clip_is_a_list_of_frames(tmp_path: Path) -> None:
    predictor = exported(tmp_path, 5, one_label)
    frames = [file_of(square(colour)) for colour in (RED, BLUE, BLUE, BLUE)]
    [predictions] = predictor.predict(pd.DataFrame({"clip": [frames]})).to_dict("records")
    assert (predictions["text"], predictions["probabilities"]) == ("blue", [0.25, 0.75])


def test_boxes_are_those_that_count(tmp_path: Path) -> None:
    def detect(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return {
            "boxes": tf.constant([[[0.0, 0.25, 0.5, 1.0], [0.0, 0.0, 0.0, 0.0]]]),
            "scores": tf.constant([[0.5, 0.0]]), "classes": tf.constant([[2, 1]], tf.int64),
            "count": tf.shape(images)[:1],
        }  # fmt: skip

    [predictions] = exported(tmp_path, 4, detect).predict([file_of(square(RED))]).to_dict("records")
    assert predictions == {"boxes": [[0.0, 0.25, 0.5, 1.0]], "classes": [2], "texts": ["blue"], "scores": [0.5]}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], np.ndarray]:
    """The pixels that reach the network, of two rows and two columns."""
    predictor = exported(
        tmp_path_factory.mktemp("mirror"), 4,
        lambda images: {"scores": tf.reshape(tf.cast(images, tf.float32), [1, -1])},
    )  # fmt: skip
    return lambda data: np.array(predictor.predict([data])["scores"][0]).reshape(-1, 3).astype(int)


CORNERS = np.array([[[10, 20, 30], [40, 50, 60]], [[70, 80, 90], [100, 110, 120]]], np.uint8)


def test_pixels_are_those_of_the_file(seen: Callable[[bytes], np.ndarray]) -> None:
    assert seen(file_of(CORNERS)).tolist() == CORNERS.reshape(-1, 3).tolist()
    assert seen(file_of(CORNERS[:, :, 0])).tolist() == [[10] * 3, [40] * 3, [70] * 3, [100] * 3]  # grey
    jpeg = file_of(CORNERS, "JPEG", quality=90)
    assert seen(jpeg).tolist() == tf.io.decode_jpeg(jpeg, channels=3).numpy().reshape(-1, 3).tolist()


def test_an_image_is_turned_upright_as_exif_says(seen: Callable[[bytes], np.ndarray]) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # is shown turned to the right: the left column becomes the upper row
    turned = seen(file_of(CORNERS, "PNG", exif=exif))
    assert turned.tolist() == [[70, 80, 90], [10, 20, 30], [100, 110, 120], [40, 50, 60]]


def test_what_is_transparent_shows_white_and_16_bits_become_8(seen: Callable[[bytes], np.ndarray]) -> None:
    alpha = np.array([[[255], [0]], [[255], [255]]], np.uint8)
    assert seen(file_of(np.concatenate([CORNERS, alpha], axis=2))).tolist() == [
        [10, 20, 30], [255, 255, 255], [70, 80, 90], [100, 110, 120],
    ]  # fmt: skip
    deep = np.array([[0, 257], [65535, 257 * 100]], np.uint16)
    assert seen(file_of(deep)).tolist() == [[0] * 3, [1] * 3, [255] * 3, [100] * 3]


@pytest.mark.parametrize("row", [b"no image", "text", 7])
def test_a_row_that_is_no_image_is_named(row: object, tmp_path: Path) -> None:
    predictor = exported(tmp_path, 4, one_label)
    with pytest.raises(ValueError, match=r"^row 1: .*\ban image\b"):
        predictor.predict([file_of(square(RED)), row])


def test_frames_of_different_sizes_are_no_clip(tmp_path: Path) -> None:
    predictor = exported(tmp_path, 5, one_label)
    with pytest.raises(ValueError, match=r"^row 0: .*\bof one size\b"):
        predictor.predict(pd.DataFrame({"clip": [[file_of(square(RED)), file_of(square(RED, 9))]]}))
