"""Answers as lines of JSON: COCO's results with the words that it leaves out.

results.jsonl   {"image_id": 1, "category_id": 8, "bbox": [x, y, width, height], "score": 0.93, "category": "7",
                 "file_name": "photos/a.jpg"}      pixels of the image, upright; without "bbox" of a classifier
images.jsonl    {"id": 1, "file_name": "photos/a.jpg", "width": 640, "height": 480}
                 and of a video {"frame": 12, "time_s": 0.48}, each frame an image
"""

from typing import Any

import numpy as np

from bakeoff.predict.lite_model import Found

DECIMALS, SCORE_DECIMALS = 2, 5
Row = dict[str, Any]


def rows_of(found: Found, labels: tuple[str, ...], image: Row) -> list[Row]:
    """Best first. `image` is its line in images.jsonl."""
    if "boxes" in found:
        rows = [
            _row(image, labels, int(label), float(score)) | {"bbox": _corner_and_size(corners, image)}
            for corners, label, score in zip(found["boxes"], found["classes"], found["scores"], strict=True)
        ]
    elif "probabilities" in found:
        best = int(np.argmax(found["probabilities"]))
        rows = [_row(image, labels, best + 1, float(found["probabilities"][best]))]
    else:
        rows = [_row(image, labels, place + 1, float(score)) for place, score in enumerate(found["scores"])]
    return sorted(rows, key=lambda row: -row["score"])


def image_row(number: int, name: str, pixels: np.ndarray, frame: int | None = None, rate: float = 1.0) -> Row:
    height, width = pixels.shape[-3:-1]
    row = {"id": number, "file_name": name, "width": width, "height": height}
    return row if frame is None else row | {"frame": frame, "time_s": round(frame / rate, 3)}


def _row(image: Row, labels: tuple[str, ...], label: int, score: float) -> Row:
    # A model of other software may know of more classes than it has labels for.
    text = labels[label - 1] if 1 <= label <= len(labels) else f"class {label}"
    return {
        "image_id": image["id"],
        "category_id": label,
        "score": round(score, SCORE_DECIMALS),
        "category": text,
        "file_name": image["file_name"],
    }


def _corner_and_size(corners: np.ndarray, image: Row) -> list[float]:
    top, left, bottom, right = (float(side) for side in corners)
    width, height = image["width"], image["height"]
    sides = (left * width, top * height, (right - left) * width, (bottom - top) * height)
    return [round(side, DECIMALS) for side in sides]
