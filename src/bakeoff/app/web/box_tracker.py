"""Boxes of a frame -> the same in the frames after it, by OpenCV's tracker, until it is unsure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np

from bakeoff.dataset.building.image_check import RejectedItem, check_image, encode_stored, read_image
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.importing.datasets.pre_annotate import PixelBox

SURE = 0.5  # correlation with how it looked in the frame before, from which on a box is carried
SEEN = 0.5  # share of the box that must lie in the picture
GROWTH = 1.8  # times, up or down, by which a side changes at most from frame to frame
PATCH = 32  # pixels of a side, at which two crops are compared
MOST_FRAMES = 300


def load_opencv() -> ModuleType:
    """Return OpenCV. Raises WorkspaceError where it is not installed."""
    try:
        import cv2
    except ImportError:
        remedy = "pip install 'opencv-contrib-python-headless>=4.10'"
        raise WorkspaceError(f"the tracker needs OpenCV, which is not installed; `{remedy}`") from None
    if not hasattr(cv2, "TrackerCSRT_create"):
        raise WorkspaceError("the tracker needs OpenCV's contrib modules; install opencv-contrib-python-headless")
    module: ModuleType = cv2
    return module


def has_tracker() -> bool:
    """Return whether OpenCV is installed, without loading it."""
    return find_spec("cv2") is not None


def carry(boxes: Sequence[PixelBox], pictures: Sequence[Path]) -> Iterator[list[PixelBox]]:
    """Yield the boxes in each picture after the first, each with how sure it is; end where none is left."""
    cv2 = load_opencv()
    frame = _read(cv2, pictures[0])
    carried = [(box, _begin(cv2, frame, box), _crop(cv2, frame, box)) for box in boxes]
    for path in pictures[1 : MOST_FRAMES + 1]:
        frame, kept = _read(cv2, path), []
        for box, tracker, before in carried:
            is_tracked, rectangle = tracker.update(frame)
            moved = _place(box, rectangle, frame.shape) if is_tracked else None
            if moved is None:
                continue
            crop = _crop(cv2, frame, moved)
            sure = float(np.corrcoef(before.ravel(), crop.ravel())[0, 1]) if crop.std() and before.std() else 0.0
            if sure >= SURE:
                kept.append((replace(moved, score=round(sure, 3)), tracker, crop))
        carried = kept
        if not carried:
            return
        yield [box for box, _, _ in carried]


def _read(cv2: ModuleType, path: Path) -> np.ndarray:
    """Return the pixels as they are shown."""
    try:
        data = read_image(path)
        jpeg = encode_stored(data, check_image(data, None), None)
    except RejectedItem as error:
        raise DataError(f"{path.name}: {error}") from None
    pixels: np.ndarray = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    return pixels


def _begin(cv2: ModuleType, frame: np.ndarray, box: PixelBox) -> "cv2.TrackerCSRT":  # type: ignore[name-defined]  # noqa: F821
    tracker = cv2.TrackerCSRT_create()
    sides = (round(box.xmin), round(box.ymin), round(box.xmax - box.xmin), round(box.ymax - box.ymin))
    tracker.init(frame, tuple(max(2, side) if number > 1 else side for number, side in enumerate(sides)))
    return tracker


def _crop(cv2: ModuleType, frame: np.ndarray, box: PixelBox) -> np.ndarray:
    """Return what is in a box, small and grey."""
    height, width = frame.shape[:2]
    left, top = min(int(box.xmin), width - 1), min(int(box.ymin), height - 1)
    inside = frame[top : max(top + 1, round(box.ymax)), left : max(left + 1, round(box.xmax))]
    small = cv2.resize(cv2.cvtColor(inside, cv2.COLOR_BGR2GRAY), (PATCH, PATCH), interpolation=cv2.INTER_AREA)
    pixels: np.ndarray = small.astype(np.float32)
    return pixels


def _place(before: PixelBox, rectangle: Sequence[float], shape: Sequence[int]) -> PixelBox | None:
    """Return where a box is now; None if it has left the picture or changed its size too much."""
    left, top, wide, high = map(float, rectangle)
    right, bottom = min(left + wide, shape[1]), min(top + high, shape[0])
    seen_left, seen_top = max(0.0, left), max(0.0, top)
    seen = max(0.0, right - seen_left) * max(0.0, bottom - seen_top)
    sides = ((wide, before.xmax - before.xmin), (high, before.ymax - before.ymin))
    if any(max(now, was) > GROWTH * max(1.0, min(now, was)) for now, was in sides) or seen < SEEN * wide * high:
        return None
    corners = (round(value, 2) for value in (seen_left, seen_top, right, bottom))
    return PixelBox(before.label, *corners)
