"""`model.fit: letterbox`: an image keeps its proportions in the network's square, and grey fills the rest.

A picture of 720 x 1280 pixels takes 360 x 640 of 640 x 640, from row 140 to row 500. The sides are rounded to whole
pixels, and of an odd rest the last row or column has one pixel more: so PhotonVision feeds a network.
A `window` is the square in shares of the image: here -0.389 0 1.389 1 for ymin xmin ymax xmax.
TensorFlow is not needed here: programs on a robot bring boxes back to the image by the same arithmetic.
"""

from collections.abc import Mapping

import numpy as np

from bakeoff.learning.networks.network import Fit

LETTERBOX: Fit = "letterbox"
GREY = 128.0  # beside the image, in each colour
WINDOW = "window"  # of an example that stands in such a square


def fit_of(network: object) -> Fit:
    """Return how a network's images are brought into its square; one that states nothing stretches them."""
    return getattr(network, "fit", "stretch")


def shown_sides(height: int, width: int, size: int) -> tuple[int, int]:
    """Return the height and width that an image has in the square, in its pixels; at least 1."""
    longest = max(height, width)
    high, wide = ((2 * side * size + longest) // (2 * longest) for side in (height, width))
    return max(1, high), max(1, wide)


def find_window(height: int, width: int, size: int) -> np.ndarray:
    """Return the square (4,) in shares of the image."""
    shown = np.array(shown_sides(height, width, size))
    start = (size - shown) // 2
    return (np.concatenate([-start, size - start]) / np.tile(shown, 2)).astype(np.float32)


def restore_boxes(predictions: Mapping[str, np.ndarray], window: np.ndarray) -> dict[str, np.ndarray]:
    """Return an example's predictions with boxes in shares of the image, where they were shares of the square.

    Boxes are cut to the image, and those that lie in the grey alone go.
    """
    low, sides = np.tile(window[:2], 2), np.tile(window[2:] - window[:2], 2)
    boxes = np.clip(predictions["boxes"] * sides + low, 0.0, 1.0).astype(np.float32)
    is_there = (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    return {name: value[is_there] for name, value in {**predictions, "boxes": boxes}.items()}


def cut_out(image: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Return the image without the grey around it, of (…, size, size, 3)."""
    size = image.shape[-2]
    shown = np.rint(size / (window[2:] - window[:2])).astype(int)
    top, left = (size - shown) // 2
    return image[..., top : top + shown[0], left : left + shown[1], :]
