"""A SavedModel that `export` wrote, answering one image or clip at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from bakeoff.errors import DataError, one_line
from bakeoff.predict.lite_model import Found

SIGNATURES = {"serving_default", "encoded", "labels"}
ANSWERS = ({"boxes", "scores", "classes", "labels", "count"}, {"classes", "scores", "labels", "probabilities"})
SEVERAL_ANSWERS = {"scores", "labels"}


class SavedModel:
    def __init__(self, path: Path) -> None:
        if not (path / "saved_model.pb").is_file():
            raise DataError(f"{path}: is no SavedModel, it holds no saved_model.pb")
        try:
            self._loaded = tf.saved_model.load(str(path))
        except (OSError, ValueError, tf.errors.OpError) as error:
            raise DataError(f"{path}: cannot be loaded ({one_line(error)})") from None
        signatures = getattr(self._loaded, "signatures", {})
        if not set(signatures) >= SIGNATURES:
            has, wanted = ", ".join(sorted(signatures)) or "none", ", ".join(sorted(SIGNATURES))
            raise DataError(
                f"{path}: is a SavedModel of other software, or of an earlier export: its signatures must be {wanted}, "
                f"as export writes them, got {has}"
            )
        self._of_pixels, self._of_files = signatures["serving_default"], signatures["encoded"]
        given = set(self._of_pixels.structured_outputs)
        if given not in (*ANSWERS, SEVERAL_ANSWERS):
            raise DataError(f"{path}: is a SavedModel of other software: it answers {', '.join(sorted(given))}")
        self.labels = tuple(label.decode() for label in signatures["labels"]()["labels"].numpy())
        self.task = _task(self._of_pixels)

    def answer(self, pixels: np.ndarray) -> Found:
        """uint8 (height, width, 3), or a clip (frames, height, width, 3), of any size."""
        return _first(self._of_pixels(images=tf.constant(pixels[None])))

    def answer_file(self, encoded: bytes | list[bytes]) -> Found:
        """An image file's bytes; of a clip those of its frames."""
        return _first(self._of_files(encoded=tf.constant([encoded])))


def _task(signature: Any) -> str:
    if "boxes" in signature.structured_outputs:
        return "detection"
    images = signature.structured_input_signature[1]["images"]
    return "video" if images.shape.rank == 5 else "classification"


def _first(found: dict[str, tf.Tensor]) -> Found:
    """Of one example, without its axis and what is padding."""
    values = {name: value.numpy()[0] for name, value in found.items() if name != "labels"}
    if "count" not in values:
        return values
    real = int(values.pop("count"))
    return {name: value[:real] for name, value in values.items()}
