"""A program for a robot: frames of a camera or a film in, objects as lines of JSON out.

    python -m bakeoff.inference.device.reader model.tflite /dev/video0 --networktables 10.12.34.2
    {"frame": 12, "time_s": 0.4, "latency_ms": 18.2,
     "objects": [{"id": 3, "label": "ball", "score": 0.91, "box": [0.4, 0.1, 0.6, 0.2]}]}

A box is ymin xmin ymax xmax, shares of the image. The number of an object stays the same while it is seen. A robot's
own program can begin as a copy of this one: it reads lines from its output, or calls `find_objects`.
"""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import av
import numpy as np

from bakeoff.foundation.errors import ConfigError, DataError, errors_in_one_line, one_line
from bakeoff.inference.device.floor_position import Camera
from bakeoff.inference.device.robot_output import NETWORK_TABLES, POSITION, UDP, NetworkTables, Output, UdpPackets
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


def find_objects(
    model: Small, tracks: Tracks, pixels: np.ndarray, least: float, camera: Camera | None = None
) -> list[dict[str, Any]]:
    predictions = model.answer(pixels)
    columns = (predictions[key] for key in ("classes", "scores", "boxes"))
    rows = zip(tracks.follow(predictions), *columns, strict=True)
    found: list[dict[str, Any]] = [
        {"id": number, "label": model.labels[label - 1], "score": round(float(score), 3), "box": box.round(4).tolist()}
        for number, label, score, box in rows
        if number and score >= least
    ]
    height, width, _ = pixels.shape
    for one in found if camera else ():
        assert camera is not None
        _, left, bottom, right = one["box"]
        place = camera.locate((left + right) / 2, bottom, width, height)
        numbers = (place.distance, place.bearing, place.error) if place else (None, None, None)
        one |= {key: None if value is None else round(value, 3) for key, value in zip(POSITION, numbers, strict=True)}
    return found


def read_camera(arguments: argparse.Namespace) -> Camera | None:
    """Return the camera that the options describe; None where they describe none."""
    given = [arguments.camera_height, arguments.camera_tilt, arguments.camera_view]
    if all(value is None for value in given):
        return None
    if None in given:
        raise ConfigError("--camera-height, --camera-tilt, --camera-view: give all three, or none")
    return Camera(*given)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a .tflite or .onnx that export wrote")
    parser.add_argument("source", help="a film, or a camera such as /dev/video0")
    parser.add_argument("--min-score", type=float, default=0.5)
    parser.add_argument(NETWORK_TABLES, metavar="HOST[:PORT]", help="send to the robot's NetworkTables server")
    parser.add_argument(UDP, metavar="HOST:PORT", help="send each line as a packet")
    parser.add_argument("--camera-height", type=float, metavar="METRES", help="of the lens above the floor")
    parser.add_argument("--camera-tilt", type=float, metavar="DEGREES", help="that the camera looks down")
    parser.add_argument("--camera-view", type=float, metavar="DEGREES", help="its field of view from left to right")
    return parser


def main() -> None:
    arguments = make_parser().parse_args()
    with errors_in_one_line(), ExitStack() as stack:
        camera = read_camera(arguments)
        model, tracks = Small(arguments.model), None
        if model.task != "detection":
            raise DataError(f"{arguments.model}: must be a detector, is for {model.task}")
        outputs: list[Output] = []
        if arguments.networktables:
            outputs.append(stack.enter_context(closing(NetworkTables(arguments.networktables, model.labels))))
        if arguments.udp:
            outputs.append(stack.enter_context(closing(UdpPackets(arguments.udp))))
        for number, (rate, pixels) in enumerate(read_frames(arguments.source)):
            taken = time.perf_counter()
            tracks = tracks or Tracks(rate, arguments.min_score)
            objects = find_objects(model, tracks, pixels, arguments.min_score, camera)
            latency = round((time.perf_counter() - taken) * 1000, 1)
            frame = {"frame": number, "time_s": round(number / rate, 3), "latency_ms": latency, "objects": objects}
            print(json.dumps(frame), flush=True)
            for output in outputs:
                output.send(frame)


if __name__ == "__main__":
    main()
