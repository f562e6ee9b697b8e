"""Image files -> predictions of a trained network. This file is stored with the model, and needs no bakeoff."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import numpy as np
    import pandas as pd
    import tensorflow as tf
    from PIL import Image, ImageOps
except ModuleNotFoundError as error:
    remedy = "pip install -r requirements.txt, the file beside MLmodel"
    raise ModuleNotFoundError(f"the model needs the package {error.name}, which is not here: {remedy}") from None

ORIENTATION, UPRIGHT = 0x0112, 1  # EXIF
CLIPS = 5  # dimensions of a batch of clips; of images it has one less


class Predictor:
    """What MLflow loads:

    model = mlflow.pyfunc.load_model("models:/NAME/1")
    model.predict([Path("photo.jpg").read_bytes()])    # or a table with one column of bytes; a clip is a list of frames
    -> a table with a row for each: detection       boxes [[ymin, xmin, ymax, xmax], ...] 0..1, classes, texts, scores
                                    one label       class, text, score, probabilities
                                    several labels  texts, scores
    """

    def __init__(self, folder: Path) -> None:
        self._labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
        is_checkpoint = (folder / "model.keras").is_file()
        self._answer, rank = (_open_checkpoint if is_checkpoint else _open_export)(folder)
        self._takes_clips = rank == CLIPS

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        return pd.DataFrame([self._row(number, value) for number, value in enumerate(_values(model_input))])

    def _row(self, number: int, value: Any) -> dict[str, Any]:
        try:
            pixels = np.stack([_pixels(frame) for frame in value]) if self._takes_clips else _pixels(value)
        except (OSError, TypeError, ValueError, tf.errors.InvalidArgumentError) as error:
            wanted = "a list of images of one size" if self._takes_clips else "an image"
            raise ValueError(f"row {number}: must be the bytes of {wanted} ({str(error)[:200]})") from None
        answer = self._answer(images=tf.constant(pixels[None]))
        outputs = {name: value.numpy()[0] for name, value in answer.items()}
        if "boxes" in outputs:
            count = int(outputs["count"])
            boxes, scores = (outputs[name][:count].astype(float).tolist() for name in ("boxes", "scores"))
            classes = [int(number) for number in outputs["classes"][:count]]
            texts = [self._labels[number - 1] for number in classes]
            return {"boxes": boxes, "classes": classes, "texts": texts, "scores": scores}
        if "classes" in outputs:
            number = int(outputs["classes"])
            shares = outputs["probabilities"].astype(float).tolist()
            text, score = self._labels[number - 1], float(outputs["scores"])
            return {"class": number, "text": text, "score": score, "probabilities": shares}
        return {"texts": self._labels, "scores": outputs["scores"].astype(float).tolist()}


def _open_export(folder: Path) -> tuple[Callable[..., Any], int]:
    """Return the function that answers pixels, and the dimensions of a batch of them."""
    model = tf.saved_model.load(str(folder / "saved_model"))
    answer = model.signatures["serving_default"]
    answer.holder = model  # is kept, or its variables would be gone
    return answer, answer.structured_input_signature[1]["images"].shape.rank


def _open_checkpoint(folder: Path) -> tuple[Callable[..., Any], int]:
    """Return the same of a Keras model, with the graphs that stand before and behind it."""
    import keras

    network = keras.saving.load_model(folder / "model.keras", compile=False)
    graphs = tf.saved_model.load(str(folder / "answers"))
    rank = len(network.input_shape)
    images = tf.TensorSpec([None] * (rank - 1) + [3], tf.uint8, name="images")

    @tf.function(autograph=False, input_signature=[images])
    def answer(images: tf.Tensor) -> dict[str, tf.Tensor]:
        predictions = graphs.answer(network(graphs.fit(images), training=False))
        return graphs.restore(predictions, images) if hasattr(graphs, "restore") else predictions

    return answer, rank


def _values(given: Any) -> list[Any]:
    if isinstance(given, bytes):
        return [given]
    if isinstance(given, pd.DataFrame):
        return given.iloc[:, 0].tolist()
    return list(given)


def _pixels(data: bytes) -> np.ndarray:
    """Return an image as records hold it, (height, width, 3): upright, with white for what is transparent."""
    opened = Image.open(io.BytesIO(data))
    is_upright = opened.getexif().get(ORIENTATION, UPRIGHT) == UPRIGHT
    if opened.format == "JPEG" and opened.mode in ("RGB", "L") and is_upright:
        return tf.io.decode_image(data, channels=3, expand_animations=False).numpy()
    image = _of_8_bits(ImageOps.exif_transpose(opened))
    if image.mode in ("P", "PA", "LA", "La", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.array(image.convert("RGB"))


def _of_8_bits(image: Image.Image) -> Image.Image:
    if image.mode[0] not in "IF":
        return image
    deep = np.asarray(image).astype(float)
    most = 65535 if image.mode.startswith("I;16") or deep.max() > 255 else 255
    return Image.fromarray(np.clip(np.rint(deep * 255 / most), 0, 255).astype(np.uint8))


def _load_pyfunc(data_path: str) -> Predictor:
    """Return the predictor. MLflow calls this function by its name."""
    return Predictor(Path(data_path))
