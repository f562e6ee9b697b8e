"""Images and a model -> what it finds on them, as `bakeoff predict` writes it: boxes, names and scores."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import format_count

if TYPE_CHECKING:
    import os

    import numpy as np
    from PIL import Image

    from bakeoff.inference.predict.model_interface import Model

    One: TypeAlias = "str | os.PathLike[str] | np.ndarray | Image.Image"
    Images: TypeAlias = "One | Sequence[One]"

MIN_SCORE = 0.5
SHOWN, SIDE = 12, 320  # pictures in a notebook, and pixels of their longer side
ROWS = 10  # of an image, as text
IN_MEMORY = "image"  # what an array is called, with its number


@dataclass(frozen=True)
class Prediction:
    """What a model finds on one image, the best first."""

    file: str
    width: int  # of the image, in pixels
    height: int
    rows: tuple[dict[str, Any], ...]  # as in results.jsonl of `bakeoff predict`
    pixels: "np.ndarray" = field(repr=False, compare=False)

    @property
    def names(self) -> list[str]:
        """The label of each box, or the image's own."""
        return [row["category"] for row in self.rows]

    @property
    def scores(self) -> list[float]:
        return [row["score"] for row in self.rows]

    @property
    def boxes(self) -> list[list[float]]:
        """The `[x, y, width, height]` of each box, in pixels of the image; none of a classifier."""
        return [row["bbox"] for row in self.rows if "bbox" in row]

    @property
    def picture(self) -> "Image.Image":
        """The image with the boxes on it, or with its label."""
        from bakeoff.inference.predict.output_formats import draw_answers

        return draw_answers(self.pixels, self.rows)

    def __repr__(self) -> str:
        rows = [f"  {row['score']:.2f}  {row['category']}{_place(row)}" for row in self.rows[:ROWS]]
        rows += [f"  {len(self.rows) - ROWS} more"] if len(self.rows) > ROWS else []
        return "\n".join([f"{self.file}  {self.width} x {self.height}", *(rows or ["  nothing found"])])

    def _repr_html_(self) -> str:
        return draw_pictures([self])


class ImagePredictions(Sequence[Prediction]):
    """What a model finds on several images, in their order."""

    def __init__(self, predictions: Sequence[Prediction]) -> None:
        self._predictions = tuple(predictions)

    def __getitem__(self, at: Any) -> Any:
        return ImagePredictions(self._predictions[at]) if isinstance(at, slice) else self._predictions[at]

    def __len__(self) -> int:
        return len(self._predictions)

    def to_pandas(self) -> Any:
        """Return a table with a row for each box."""
        import pandas

        return pandas.DataFrame([row for one in self._predictions for row in one.rows])

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._predictions)) or "no images"

    def _repr_html_(self) -> str:
        return draw_pictures(self._predictions)


def predict_images(model: "Model", images: Sequence[Any], min_score: float) -> ImagePredictions:
    """Run the model on images. Of a detector's boxes those with a lower score are left out."""
    from bakeoff.inference.predict.output_formats import image_row, keep_sure, rows_of

    predictions = []
    for number, (name, pixels) in enumerate(_read(model, images), start=1):
        image = image_row(number, name, pixels)
        rows = keep_sure(rows_of(model.answer(pixels), model.labels, image), min_score, model.task)
        shown = pixels[len(pixels) // 2] if pixels.ndim == 4 else pixels
        predictions.append(Prediction(name, image["width"], image["height"], tuple(rows), shown))
    return ImagePredictions(predictions)


def _read(model: "Model", images: Sequence[Any]) -> Iterator[tuple[str, "np.ndarray"]]:
    """Yield the name and the pixels of each image; folders and patterns stand for the files in them."""
    import numpy as np

    from bakeoff.inference.predict.read_images import Video, is_video, read_clip, read_image, sources

    dimensions = 4 if model.task == "video" else 3
    for number, image in enumerate(images, start=1):
        if not isinstance(image, str):
            pixels = np.asarray(image.convert("RGB") if hasattr(image, "convert") else image)
            if pixels.ndim != dimensions or pixels.shape[-1] != 3 or pixels.dtype != np.uint8:
                shape = "(frames, height, width, 3)" if dimensions == 4 else "(height, width, 3)"
                raise DataError(f"images[{number - 1}]: must be uint8 of {shape}, got {pixels.dtype} {pixels.shape}")
            yield f"{IN_MEMORY} {number}", pixels
            continue
        for source in sources([image], None):
            if is_video(source.path) != (dimensions == 4):
                kind = "videos" if dimensions == 4 else "images; `bakeoff predict` takes videos apart"
                raise DataError(f"{source.path}: must not be there, for this model looks at {kind}")
            if dimensions == 4:
                with closing(Video(source.path)) as video:
                    yield str(source.path), read_clip(video)
            else:
                yield str(source.path), read_image(source.path)


def draw_pictures(predictions: Sequence[Prediction]) -> str:
    """Return small pictures with what was found on them, for a notebook."""
    from bakeoff.foundation.html import template

    pictures = []
    for one in predictions[:SHOWN]:
        picture = one.picture
        picture.thumbnail((SIDE, SIDE))
        pictures.append((template.embed_jpeg(picture), Path(one.file).name, format_count(len(one.rows), "answer")))
    return template.render("notebook_pictures.html.jinja", pictures=pictures, left_out=len(predictions) - len(pictures))


def _place(row: dict[str, Any]) -> str:
    if "bbox" not in row:
        return ""
    left, top, width, height = row["bbox"]
    return f" at {left:.0f}, {top:.0f}, {width:.0f} x {height:.0f}"
