import numpy as np

from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.view import View
from support.changed_pictures import change, distorted


def test_zoomed_out_image_lies_on_grey() -> None:
    image = np.zeros((32, 32, 3), np.uint8)
    images = [distorted({"image": image}, 32, Augment(zoom=Zoom(largest=3.0)), number)["image"] for number in range(8)]
    for changed in images:
        inner = np.round(changed[1:-1, 1:-1], 1)
        is_between = (inner > 0) & (inner < 127.5)
        assert is_between.mean() < 0.25
        assert set(np.unique(inner[~is_between])) <= {0.0, 127.5}
    assert np.mean([changed.mean() for changed in images]) > 30


def test_crop_shows_pixels_of_the_image_only() -> None:
    image = np.full((32, 32, 3), 10, np.uint8)
    for number in range(8):
        changed = distorted({"image": image}, 24, Augment(zoom=Zoom(smallest=0.3)), number)["image"]
        np.testing.assert_allclose(changed, 10, atol=1e-3)


def shown_part(augment: Augment, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Centre and size, (y, x) in image sides, of what is shown: read off an image whose pixels hold their own place."""
    ramp = np.stack(np.meshgrid(np.arange(200), np.arange(200), indexing="ij"), axis=-1).astype(np.float32)
    image = np.concatenate([ramp, np.zeros((200, 200, 1), np.float32)], axis=-1)
    middle = change(augment, View(50))({"image": image}, number)["image"][20:30, 20:30]
    size = np.array([middle[9, 5, 0] - middle[0, 5, 0], middle[5, 9, 1] - middle[5, 0, 1]]) / 9 * 50 / 200
    return (middle.mean(axis=(0, 1))[:2] + 0.5) / 200, size


def test_crops_keep_from_the_smallest_share_to_the_whole_side() -> None:
    shown = np.array([shown_part(Augment(zoom=Zoom(smallest=0.4)), number)[1] for number in range(30)])
    np.testing.assert_allclose(shown[:, 0], shown[:, 1], atol=0.01)
    assert 0.39 < shown.min() < 0.5 and 0.85 < shown.max() < 1.01


def test_crops_are_taken_from_all_over_the_image() -> None:
    centres = np.array([shown_part(Augment(zoom=Zoom(smallest=0.1)), number)[0] for number in range(60)])
    assert centres.min() < 0.25 and centres.max() > 0.75
    assert np.abs(centres.mean(axis=0) - 0.5).max() < 0.12
    assert abs(np.corrcoef(centres.T)[0, 1]) < 0.4


def test_stretch_changes_the_aspect_ratio_by_at_most_its_factor_either_way() -> None:
    shown = np.array([shown_part(Augment(zoom=Zoom(smallest=0.5, stretch=2.0)), number)[1] for number in range(30)])
    ratios = shown[:, 1] / shown[:, 0]
    assert 0.49 < ratios.min() < 0.65 and 1.5 < ratios.max() < 2.02
