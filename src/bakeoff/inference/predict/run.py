"""Files through a model: answers as lines, and pictures and films with the predictions drawn on them."""

import json
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import Bar
from bakeoff.inference.predict.object_tracker import Tracks
from bakeoff.inference.predict.output_formats import Row, draw_answers, film, image_row, keep_sure, rows_of
from bakeoff.inference.predict.read_images import InputFile, Video, is_video, read_clip, read_image

if TYPE_CHECKING:
    from bakeoff.inference.predict.model_interface import Model

RESULTS, IMAGES, PICTURES = "results.jsonl", "images.jsonl", "pictures"
MANY_FRAMES = 10_000  # five minutes of film, and of work, as a processor goes


@dataclass
class PredictionCounts:
    images: int = 0  # and frames, and clips
    rows: int = 0
    failures: list[tuple[Path, str]] = field(default_factory=list)


class FilePredictor:
    def __init__(
        self, model: "Model", out: Path, min_score: float, *, draws: bool, follows_objects: bool = False
    ) -> None:
        """`min_score`: of what is drawn; lines have all that the model answers."""
        self.tally = PredictionCounts()
        self._model, self._out, self._min_score, self._draws = model, out, min_score, draws
        self._follows_objects = follows_objects
        self._taken: set[Path] = set()
        self._units: dict[Path, int] = {}
        self._counted = 0  # units of the current file that were counted

    def units(self, sources: list[InputFile]) -> int:
        """Return the number of images, frames and clips, as far as the files state it."""
        of_clips = self._model.task == "video"
        self._units = {source.path: 1 if of_clips else _frames_of(source.path) for source in sources}
        return sum(self._units.values())

    def long_films(self) -> list[tuple[Path, int]]:
        """Return the films that are answered frame by frame for minutes, and their frames, once `units` has counted."""
        return [(path, frames) for path, frames in self._units.items() if frames > MANY_FRAMES]

    def run(self, sources: list[InputFile], bar: Bar) -> PredictionCounts:
        make_own_folder(self._out)
        with _text(self._out / RESULTS) as results, _text(self._out / IMAGES) as images:
            self._results, self._images = results, images
            for source in sources:
                try:
                    self._counted = 0
                    self._one(source, bar)
                except (DataError, OSError) as error:
                    self.tally.failures.append((source.path, str(error)))
                bar.advance(self._units[source.path] - self._counted)
        return self.tally

    def _one(self, source: InputFile, bar: Bar) -> None:
        of_clips = self._model.task == "video"
        if is_video(source.path):
            with closing(Video(source.path)) as video:
                if of_clips:  # all frames are one answer; it is drawn onto the middle one
                    frames = read_clip(video)
                    self._draw(source, frames[len(frames) // 2], self._answer(source, frames))
                else:
                    self._frames(source, video, bar)
        elif of_clips:
            raise DataError("is no video, and this model looks at clips")
        else:
            pixels = read_image(source.path)
            self._draw(source, pixels, self._answer(source, pixels))

    def _frames(self, source: InputFile, video: Video, bar: Bar) -> None:
        """Each frame is an image."""
        with film(self._place(source, ".mp4") if self._draws else None, video.rate) as shown:
            tracks = Tracks(float(video.rate), self._min_score) if self._follows_objects else None
            for number, pixels in enumerate(video.read()):
                rows = self._answer(source, pixels, number, float(video.rate), tracks)
                if shown:
                    shown.add(draw_answers(pixels, self._sure(rows)))
                if number < video.frames - 1:  # the last is counted with the file
                    bar.advance()
                    self._counted += 1

    def _draw(self, source: InputFile, pixels: np.ndarray, rows: list[Row]) -> None:
        if self._draws:
            draw_answers(pixels, self._sure(rows)).save(self._place(source, ".jpg"), quality=92)

    def _answer(
        self, source: InputFile, pixels: np.ndarray, frame: int | None = None, rate: float = 1.0,
        tracks: Tracks | None = None,
    ) -> list[Row]:  # fmt: skip
        image, predictions = (
            image_row(self.tally.images + 1, str(source.path), pixels, frame, rate),
            self._model.answer(pixels),
        )
        if tracks:
            predictions = predictions | {"tracks": np.array(tracks.follow(predictions))}
        rows = rows_of(predictions, self._model.labels, image)
        self._images.write(json.dumps(image) + "\n")
        self._results.writelines(json.dumps(row) + "\n" for row in rows)
        self.tally.images += 1
        self.tally.rows += len(rows)
        return rows

    def _sure(self, rows: list[Row]) -> list[Row]:
        """Return what is drawn."""
        return keep_sure(rows, self._min_score, self._model.task)

    def _place(self, source: InputFile, suffix: str) -> Path:
        """Return a file of its own, also where two sources have one name."""
        first = place = (self._out / PICTURES / source.name).with_suffix(suffix)
        number = 1
        while place in self._taken:
            number += 1
            place = first.with_stem(f"{first.stem}_{number}")
        self._taken.add(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def format_tally(model: "Model", tally: PredictionCounts) -> str:
    one, several = ("clip", "clips") if model.task == "video" else ("image", "images and frames")
    seen = f"{tally.images:,} {one if tally.images == 1 else several}"
    return f"{model.task} of {format_count(len(model.labels), 'class')}: {seen}, {format_count(tally.rows, 'answer')}"


def require_own_folder(out: Path) -> None:
    """Refuse a folder in which something of somebody else's would be written over."""
    if out.exists() and not out.is_dir():
        raise WorkspaceError(f"--out: must be a folder, {out} is a file")
    if out.is_dir() and any(out.iterdir()) and not (out / RESULTS).is_file():
        raise WorkspaceError(f"--out: must be an empty folder, a new one, or one of an earlier predict, got {out}")


def make_own_folder(out: Path) -> None:
    require_own_folder(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        _text(out / RESULTS).close()
    except OSError as error:
        raise WorkspaceError(f"--out: {out} cannot be written to ({error.strerror}); choose another folder") from None


def _frames_of(path: Path) -> int:
    """Return the number of frames, or 1 if the file does not state it or is broken."""
    with suppress(DataError, OSError):
        if is_video(path):
            with closing(Video(path)) as video:
                return max(1, video.frames)
    return 1


def _text(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8")
