import numpy as np
import pytest

from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.view import View
from support.changed_pictures import change

MAGENTA = (255.0, 0.0, 255.0)
FULL = {"boxes": np.float32([[0.0, 0.0, 1.0, 1.0]]), "classes": np.int64([1])}


def sides(expand: Expand, count: int) -> np.ndarray:
    """(count, 2) sides of the canvas, in sides of the image, read off the box that is the whole image."""
    change_it = change(Augment(expand=expand), View(8))
    boxes = [change_it({"image": np.zeros((8, 8, 3), np.uint8)} | FULL, number)["boxes"][0] for number in range(count)]
    return 1 / (np.array(boxes)[:, 2:] - np.array(boxes)[:, :2])


def test_canvas_is_drawn_evenly_between_smallest_and_largest() -> None:
    drawn = sides(Expand(probability=1.0, smallest=1.5, largest=3.5), 200)
    np.testing.assert_allclose(drawn[:, 0], drawn[:, 1], rtol=1e-3)
    assert 1.5 <= drawn.min() < 1.6 and 3.4 < drawn.max() <= 3.501
    assert abs(drawn.mean() - 2.5) < 0.14  # 3.4 standard deviations of the mean


def test_sides_of_the_canvas_can_be_drawn_apart() -> None:
    drawn = sides(Expand(probability=1.0, largest=3.0, keep_aspect=False), 200)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.25
    assert np.abs(drawn.mean(axis=0) - 2).max() < 0.15


def test_expand_is_a_probability() -> None:
    is_larger = (sides(Expand(probability=0.3, smallest=2.0), 300)[:, 0] > 1.5).mean()
    assert abs(is_larger - 0.3) < 0.09


@pytest.mark.parametrize(
    ("fill", "beside"), [((127.5,) * 3, (127.5,) * 3), (MAGENTA, MAGENTA), ((), (30.0, 60.0, 90.0))]
)
def test_canvas_has_the_colour_asked_for_or_the_average_of_the_image(
    fill: tuple[float, ...], beside: tuple[float, ...]
) -> None:
    image = np.zeros((16, 16, 3), np.uint8)
    image[::2], image[1::2] = (10, 100, 80), (50, 20, 100)
    change_it = change(Augment(expand=Expand(probability=1.0, smallest=2.0, largest=2.0), fill=fill), View(32))
    for number in range(5):
        changed = change_it({"image": image} | FULL, number)
        y0, x0, y1, x1 = np.round(changed["boxes"][0] * 32).astype(int)
        outside = np.ones((32, 32), bool)
        outside[max(0, y0 - 1) : y1 + 1, max(0, x0 - 1) : x1 + 1] = False
        assert outside.sum() > 600
        np.testing.assert_allclose(changed["image"][outside], np.broadcast_to(beside, (outside.sum(), 3)), atol=1e-3)
        inside = changed["image"][y0 + 1 : y1 - 1, x0 + 1 : x1 - 1]
        np.testing.assert_allclose(inside.mean(axis=(0, 1)), [30, 60, 90], atol=8)
