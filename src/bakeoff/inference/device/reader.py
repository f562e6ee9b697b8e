"""A program for a robot: frames of a camera or a film in, objects as lines of JSON out.

    python -m bakeoff.inference.device.reader model.tflite /dev/video0
    {"frame": 12, "time_s": 0.4, "objects": [{"id": 3, "label": "ball", "score": 0.91, "box": [0.4, 0.1, 0.6, 0.2]}]}

A box is ymin xmin ymax xmax, shares of the image. The number of an object stays the same while it is seen. A robot's
own program can begin as a copy of this one: it reads lines from its output, or calls `find_objects`.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np

from bakeoff.foundation.errors import DataError, errors_in_one_line, one_line
from bakeoff.inference.predict.light_runtime import Small
from bakeoff.inference.predict.object_tracker import Tracks

CAMERAS = {"/dev/video": "v4l2", "video=": "dshow"}  # beginnings of names: cameras of Linux and of Windows
USUAL_RATE = 30.0


def read_frames(name: str) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the rate and the pixels of each frame; of a camera for ever. The rate is 30 where the source has none."""
    form = next((form for beginning, form in CAMERAS.items() if name.startswith(beginning)), None)
    try:
        with av.open(name, format=form) as container:
            stream = container.streams.video[0]
            for frame in container.decode(stream):
                yield float(stream.average_rate or USUAL_RATE), frame.to_ndarray(format="rgb24")
    except (av.error.FFmpegError, OSError, IndexError) as error:
        raise DataError(f"{name}: cannot be read as a film or a camera ({one_line(error)})") from None


def find_objects(model: Small, tracks: Tracks, pixels: np.ndarray, least: float) -> list[dict[str, Any]]:
    predictions = model.answer(pixels)
    columns = (predictions[key] for key in ("classes", "scores", "boxes"))
    rows = zip(tracks.follow(predictions), *columns, strict=True)
    return [
        {"id": number, "label": model.labels[label - 1], "score": round(float(score), 3), "box": box.round(4).tolist()}
        for number, label, score, box in rows
        if number and score >= least
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a .tflite or .onnx that export wrote")
    parser.add_argument("source", help="a film, or a camera such as /dev/video0")
    parser.add_argument("--min-score", type=float, default=0.5)
    arguments = parser.parse_args()
    with errors_in_one_line():
        model, tracks = Small(arguments.model), None
        if model.task != "detection":
            raise DataError(f"{arguments.model}: must be a detector, is for {model.task}")
        for number, (rate, pixels) in enumerate(read_frames(arguments.source)):
            tracks = tracks or Tracks(rate, arguments.min_score)
            objects = find_objects(model, tracks, pixels, arguments.min_score)
            print(json.dumps({"frame": number, "time_s": round(number / rate, 3), "objects": objects}), flush=True)


if __name__ == "__main__":
    main()
