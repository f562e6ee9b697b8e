import numpy as np
import pytest

from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.view import View
from support.changed_pictures import change, distorted, noise

TURNS = {
    "mirror": (Turn(mirror=1.0), lambda image: image[:, ::-1], [0.0, 0.75, 0.5, 0.875]),
    "upside down": (Turn(upside_down=1.0), lambda image: image[::-1], [0.5, 0.125, 1.0, 0.25]),
    "quarter": (Turn(quarter=1.0), np.rot90, [0.75, 0.0, 0.875, 0.5]),
}


@pytest.mark.parametrize("name", TURNS)
def test_turn_moves_pixels_and_boxes(name: str) -> None:
    turn, by_numpy, moved = TURNS[name]
    example = {"image": noise(8, 8, 3), "boxes": np.float32([[0.0, 0.125, 0.5, 0.25]]), "classes": np.int64([1])}
    turned = distorted(example, 8, Augment(turn=turn), 0)
    np.testing.assert_allclose(turned["image"], by_numpy(example["image"]), atol=1e-3)
    np.testing.assert_allclose(turned["boxes"], [moved], atol=1e-6)


@pytest.mark.parametrize(("name", "times"), [("mirror", 2), ("upside down", 2), ("quarter", 4)])
def test_turned_on_and_on_it_is_as_it_was(name: str, times: int) -> None:
    draw = np.random.default_rng(0)
    low = draw.uniform(0, 0.5, (10, 2))
    boxes = np.concatenate([low, low + draw.uniform(0.05, 0.5, (10, 2))], axis=1).astype(np.float32)
    example = turned = {"image": noise(8, 8, 3), "boxes": boxes, "classes": np.arange(10)}
    for number in range(times):
        turned = distorted(turned, 8, Augment(turn=TURNS[name][0]), number)
    np.testing.assert_allclose(turned["boxes"], boxes, atol=1e-6)
    np.testing.assert_allclose(turned["image"], example["image"], atol=1e-3)


def test_each_turn_has_its_own_probability() -> None:
    """Of a picture with a corner of its own for each of the eight ways that it can lie."""
    image = np.zeros((4, 4, 3), np.uint8)
    image[0, 1] = 200
    turn = Turn(mirror=0.25, upside_down=0.5, quarter=0.75)
    lies = {
        np.flatnonzero(way[..., 0])[0]: (mirrored, upside_down, turned)
        for mirrored, once in ((False, image), (True, image[:, ::-1]))
        for upside_down, twice in ((False, once), (True, once[::-1]))
        for turned, way in ((False, twice), (True, np.rot90(twice)))
    }
    assert len(lies) == 8
    change_it = change(Augment(turn=turn), View(4))
    seen = [lies[np.argmax(change_it({"image": image}, number)["image"][..., 0])] for number in range(400)]
    np.testing.assert_allclose(np.mean(seen, axis=0), [0.25, 0.5, 0.75], atol=0.08)  # 3.2 standard deviations
    assert abs(np.corrcoef(np.transpose(seen).astype(float))[np.triu_indices(3, 1)]).max() < 0.17
