import colorsys

import numpy as np
import pytest

from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.view import View
from support.changed_pictures import change, distorted, noise

INCEPTION = Colour(
    brightness=32 / 255,
    contrast=0.5,
    saturation=0.5,
    hue=0.2,
    orders=(("brightness", "saturation", "hue", "contrast"), ("brightness", "contrast", "saturation", "hue")),
)


def recoloured(image: np.ndarray, augment: Augment, number: int) -> np.ndarray:
    return change(augment, View(len(image)))({"image": image}, number)["image"]


@pytest.mark.parametrize("number", range(3))
def test_colour_off_leaves_the_image_alone(number: int) -> None:
    example = {"image": noise(20, 20, 3)}
    shape_only = Augment(zoom=Zoom(smallest=0.7), turn=Turn(mirror=0.5))
    nearly_nothing = Augment(zoom=Zoom(smallest=0.7), turn=Turn(mirror=0.5), colour=Colour(brightness=1e-9))
    off, on = (distorted(example, 16, augment, number)["image"] for augment in (shape_only, nearly_nothing))
    np.testing.assert_allclose(off, on, atol=1e-2)
    np.testing.assert_allclose(recoloured(example["image"], Augment(), number), example["image"], atol=1e-3)


def test_brightness_adds_the_same_to_every_pixel() -> None:
    image = noise(8, 8, 3) // 4 + 96  # 96 to 159: nothing is cut at the ends of the range
    added = np.stack(
        [recoloured(image, Augment(colour=Colour(brightness=0.3)), number) - image for number in range(40)]
    )
    np.testing.assert_allclose(added, np.broadcast_to(added[:, :1, :1, :1], added.shape), atol=0.01)
    light = added[:, 0, 0, 0]
    most = 0.3 * 255
    assert -most - 0.1 <= light.min() < -most * 0.7 and most * 0.7 < light.max() <= most + 0.1


def test_contrast_stretches_around_middle_grey() -> None:
    image = noise(8, 8, 3) // 4 + 96
    factors = []
    for number in range(40):
        changed = recoloured(image, Augment(colour=Colour(contrast=0.5)), number)
        factor = np.sum((changed - 127.5) * (image - 127.5)) / np.sum((image - 127.5) ** 2)
        np.testing.assert_allclose(changed - 127.5, factor * (image - 127.5), atol=0.01)
        factors.append(factor)
    assert 0.5 <= min(factors) < 0.65 and 1.35 < max(factors) <= 1.5


def lightness(image: np.ndarray) -> np.ndarray:
    return image @ np.array([0.299, 0.587, 0.114])


def test_saturation_moves_colours_away_from_or_towards_their_grey() -> None:
    image = noise(8, 8, 3) // 4 + 96
    grey = lightness(image)[..., None]
    factors = []
    for number in range(40):
        changed = recoloured(image, Augment(colour=Colour(saturation=0.5)), number)
        factor = np.sum((changed - grey) * (image - grey)) / np.sum((image - grey) ** 2)
        np.testing.assert_allclose(changed, grey + factor * (image - grey), atol=0.3)
        factors.append(factor)
    assert 0.5 <= min(factors) < 0.65 and 1.35 < max(factors) <= 1.5


def test_hue_turns_colours_and_keeps_lightness_and_grey() -> None:
    image = noise(8, 8, 3) // 4 + 96
    image[0] = image[0, :, :1]  # a row of greys
    for number in range(10):
        changed = recoloured(image, Augment(colour=Colour(hue=0.3)), number)
        np.testing.assert_allclose(lightness(changed), lightness(image), atol=0.5)
        np.testing.assert_allclose(changed[0], image[0], atol=0.5)


def test_hue_turns_by_at_most_its_share_of_the_circle_either_way_and_keeps_the_saturation() -> None:
    """As colorsys measures it, whose colour circle is not quite the one of the turn."""

    def chroma(colour: np.ndarray) -> complex:
        _, i, q = colorsys.rgb_to_yiq(*(colour / 255))
        return complex(i, q)

    colour = np.array([160, 110, 120], np.uint8)
    changed = [
        recoloured(np.full((4, 4, 3), colour, np.uint8), Augment(colour=Colour(hue=0.2)), number)[0, 0]
        for number in range(60)
    ]
    turned = np.array([chroma(other) / chroma(colour) for other in changed])
    np.testing.assert_allclose(np.abs(turned), 1, atol=0.06)
    turns = np.angle(turned) / (2 * np.pi)
    assert -0.22 < turns.min() < -0.15 and 0.15 < turns.max() < 0.22


def test_colours_stay_in_the_range_of_pixels() -> None:
    image = noise(16, 16, 3)
    strong = Augment(colour=Colour(brightness=0.8, contrast=0.9, saturation=0.9, hue=0.5))
    changed = np.stack([recoloured(image, strong, number) for number in range(8)])
    assert changed.min() == 0 and changed.max() == 255


# One step after another, as Inception has it.


def hsv(image: np.ndarray) -> np.ndarray:
    return np.array([colorsys.rgb_to_hsv(*(pixel / 255)) for pixel in image.reshape(-1, 3)])


def in_order(**only: float) -> Augment:
    return Augment(colour=Colour(**only, orders=(("brightness", "contrast", "saturation", "hue"),)))


def test_stepwise_contrast_is_around_the_average_of_each_channel() -> None:
    image = noise(8, 8, 3) // 4 + [96, 60, 120]
    average = image.mean(axis=(0, 1))
    factors = []
    for number in range(40):
        changed = recoloured(image.astype(np.uint8), in_order(contrast=0.5), number)
        factor = np.sum((changed - average) * (image - average)) / np.sum((image - average) ** 2)
        np.testing.assert_allclose(changed, average + factor * (image - average), atol=0.01)
        factors.append(factor)
    assert 0.5 <= min(factors) < 0.65 and 1.35 < max(factors) <= 1.5


def test_stepwise_contrast_of_a_clip_is_around_the_average_of_all_frames() -> None:
    clip = np.stack([np.full((4, 4, 3), level, np.uint8) for level in (80, 100, 150)])
    changed = distorted({"image": clip}, 4, in_order(contrast=0.5), 1, frames=3)["image"][:, 0, 0, 0]
    factor = (changed[2] - changed[0]) / 70
    assert abs(factor - 1) > 0.05
    np.testing.assert_allclose(changed, 110 + factor * (np.array([80, 100, 150]) - 110), atol=0.01)


def test_stepwise_saturation_multiplies_that_of_the_colour_cone() -> None:
    image = np.random.default_rng(0).integers(60, 200, (4, 4, 3)).astype(np.uint8)
    before, factors = hsv(image), []
    for number in range(20):
        after = hsv(recoloured(image, in_order(saturation=0.5), number))
        factor = np.median(after[:, 1] / before[:, 1])
        np.testing.assert_allclose(after[:, 1], np.minimum(1, factor * before[:, 1]), atol=1e-3)
        np.testing.assert_allclose(after[:, [0, 2]], before[:, [0, 2]], atol=1e-3)
        factors.append(factor)
    assert 0.5 <= min(factors) < 0.7 and 1.3 < max(factors) <= 1.5


def test_stepwise_hue_turns_that_of_the_colour_cone() -> None:
    image = np.random.default_rng(1).integers(20, 250, (4, 4, 3)).astype(np.uint8)
    before, turns = hsv(image), []
    for number in range(20):
        after = hsv(recoloured(image, in_order(hue=0.2), number))
        turn = (after[:, 0] - before[:, 0] + 0.5) % 1 - 0.5
        np.testing.assert_allclose(turn, turn[0], atol=2e-3)
        np.testing.assert_allclose(after[:, 1:], before[:, 1:], atol=2e-3)
        turns.append(turn[0])
    assert -0.2 <= min(turns) < -0.1 and 0.1 < max(turns) <= 0.2


def test_each_order_of_steps_is_drawn_as_often() -> None:
    image = noise(4, 4, 3) // 2 + 60
    orders = (("contrast", "saturation", "brightness", "hue"), ("saturation", "brightness", "hue", "contrast"))
    amounts = {"contrast": 0.9, "saturation": 0.9}
    one, other, drawn = (
        change(Augment(colour=Colour(**amounts, orders=given)), View(4)) for given in (orders[:1], orders[1:], orders)
    )
    came = []
    for number in range(120):
        looks = [way({"image": image}, number)["image"] for way in (drawn, one, other)]
        if np.abs(looks[1] - looks[2]).max() > 0.5:  # else the order makes no difference
            came.append(int(np.array_equal(looks[0], looks[2])))
            np.testing.assert_array_equal(looks[0], looks[1 + came[-1]])
    assert len(came) > 80 and abs(np.mean(came) - 0.5) < 0.17


def test_inceptions_colours_are_cut_off_at_the_end_only() -> None:
    changed = np.stack([recoloured(noise(16, 16, 3), Augment(colour=INCEPTION), number) for number in range(12)])
    assert changed.min() == 0 and changed.max() == 255


# Grey.


def test_grey_is_a_probability_and_keeps_lightness() -> None:
    image = noise(4, 4, 3)
    change_it = change(Augment(colour=Colour(grey=0.3)), View(4))
    changed = [change_it({"image": image}, number)["image"] for number in range(200)]
    is_grey = np.array([np.ptp(one, axis=-1).max() < 1e-3 for one in changed])
    assert abs(is_grey.mean() - 0.3) < 0.11
    for one, grey in zip(changed, is_grey, strict=True):
        np.testing.assert_allclose(one, lightness(image)[..., None] * [1, 1, 1] if grey else image, atol=1e-2)
