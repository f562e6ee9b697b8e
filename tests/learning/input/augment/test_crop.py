import numpy as np
import pytest

from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.crop import SSD_WAYS, Crop, SsdCrop
from bakeoff.learning.input.view import View
from support.changed_pictures import change

HEIGHT, WIDTH = 200, 240


def shown_parts(crop: Crop | SsdCrop, boxes: np.ndarray, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """(count, 4) windows in pixels, and the classes left: read off an image whose pixels hold their own place."""
    rows, columns = np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), indexing="ij")
    image = np.stack([rows, columns, 0 * rows], axis=-1).astype(np.float32)
    change_it = change(Augment(crop=crop, resize=("nearest",)), View(256))
    example = {"image": image, "boxes": np.float32(boxes), "classes": np.arange(1, len(boxes) + 1)}
    windows, classes = [], []
    for number in range(count):
        changed = change_it(example, number)
        corners = changed["image"][0, 0, :2], changed["image"][-1, -1, :2] + 1
        windows.append(np.concatenate(corners))
        classes.append(changed["classes"])
    return np.array(windows), classes


def areas_and_ratios(windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    height, width = windows[:, 2] - windows[:, 0], windows[:, 3] - windows[:, 1]
    return height * width / (HEIGHT * WIDTH), width / height


NO_BOX = np.zeros((0, 4))


def test_inceptions_crops_are_of_its_areas_and_aspect_ratios() -> None:
    """5 to 100 % by the numbers, of which at least 10 % by the rule that so much of the whole image must be inside."""
    windows, _ = shown_parts(Crop(), NO_BOX, 300)
    areas, ratios = areas_and_ratios(windows)
    assert 0.095 < areas.min() < 0.13 and 0.9 < areas.max() <= 1
    assert 0.74 < ratios.min() < 0.78 and 1.28 < ratios.max() < 1.35
    centres = (windows[:, :2] + windows[:, 2:]) / 2 / [HEIGHT, WIDTH]
    assert np.abs(centres.mean(axis=0) - 0.5).max() < 0.04


def test_crop_covers_as_much_of_an_object_as_is_asked() -> None:
    box = np.array([[0.1, 0.2, 0.5, 0.5]])
    windows, classes = shown_parts(Crop(min_object_covered=0.7, min_area=0.1, min_seen=0.7), box, 100)
    assert all(labels.tolist() == [1] for labels in classes)
    y0, x0, y1, x1 = box[0] * [HEIGHT, WIDTH, HEIGHT, WIDTH]
    heights = np.minimum(windows[:, 2], y1) - np.maximum(windows[:, 0], y0)
    widths = np.minimum(windows[:, 3], x1) - np.maximum(windows[:, 1], x0)
    shares = heights * widths / ((y1 - y0) * (x1 - x0))
    assert 0.69 < shares.min() < 0.8


def test_box_stays_if_the_crop_shows_enough_of_it() -> None:
    boxes = np.array([[0.0, 0.0, 0.3, 0.3], [0.4, 0.4, 0.6, 0.6], [0.7, 0.1, 0.9, 0.9]])
    for min_seen in (0.0, 0.3, 1.0):
        windows, classes = shown_parts(Crop(min_object_covered=0.0, min_seen=min_seen, when_empty="keep"), boxes, 60)
        for window, labels in zip(windows / np.tile([HEIGHT, WIDTH], 2), classes, strict=True):
            inside = np.maximum(np.minimum(boxes[:, 2:], window[2:]) - np.maximum(boxes[:, :2], window[:2]), 0).prod(1)
            share = inside / (boxes[:, 2:] - boxes[:, :2]).prod(1)
            clear = np.abs(share - max(min_seen, 1e-9)) > 0.02  # windows are read off to a pixel
            clear |= share == 0
            expected = [number + 1 for number in range(3) if share[number] > 0 and share[number] >= min_seen]
            assert [x for x in labels if clear[x - 1]] == [x for x in expected if clear[x - 1]]


def test_crop_that_loses_every_box_is_undone_or_kept_by_rule() -> None:
    corner = np.array([[0.0, 0.0, 0.05, 0.05]])
    ways = {rule: Crop(min_object_covered=0.0, max_area=0.3, when_empty=rule) for rule in ("undo", "keep")}
    kept, left = shown_parts(ways["keep"], corner, 40)
    lost = [not len(labels) for labels in left]
    assert sum(lost) > 20
    undone, all_left = shown_parts(ways["undo"], corner, 40)
    assert all(labels.tolist() == [1] for labels in all_left)
    for is_lost, cut, whole in zip(lost, kept, undone, strict=True):
        np.testing.assert_array_equal(whole, [0, 0, HEIGHT, WIDTH] if is_lost else cut)


def test_image_without_boxes_is_cropped_under_either_rule() -> None:
    for rule in ("undo", "keep"):
        windows, _ = shown_parts(Crop(max_area=0.5, when_empty=rule), NO_BOX, 5)
        assert areas_and_ratios(windows)[0].max() < 0.55


def test_image_is_left_whole_with_its_probability() -> None:
    windows, _ = shown_parts(Crop(max_area=0.5, untouched=0.4), NO_BOX, 300)
    assert abs((areas_and_ratios(windows)[0] == 1).mean() - 0.4) < 0.09


def test_each_way_to_crop_is_drawn_as_often() -> None:
    ways = tuple(Crop(min_object_covered=0, min_area=area, max_area=area + 0.05) for area in (0.1, 0.3, 0.6))
    areas, _ = areas_and_ratios(shown_parts(SsdCrop(ways), NO_BOX, 300)[0])
    shares = [((areas > way.min_area - 0.02) & (areas < way.max_area + 0.02)).mean() for way in ways]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.09)


def test_ssd_crops_in_the_seven_ways_of_the_object_detection_api() -> None:
    """15 % are left whole by chance, some more because a hundred tries found no crop that shows enough."""
    assert [way.min_object_covered for way in SSD_WAYS] == [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    assert [way.min_seen for way in SSD_WAYS] == [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    windows, _ = shown_parts(SsdCrop(), np.array([[0.3, 0.3, 0.6, 0.6]]), 200)
    areas, ratios = areas_and_ratios(windows)
    assert 0.1 < (areas == 1).mean() < 0.3
    assert 0.095 < areas.min() < 0.2
    assert 0.49 < ratios.min() < 0.65 and 1.6 < ratios.max() < 2.03


@pytest.mark.parametrize("rule", ["undo", "keep"])
def test_crop_of_a_larger_canvas_may_show_what_lies_beside_the_image(rule: str) -> None:
    from bakeoff.learning.input.augment.expand import Expand

    augment = Augment(
        expand=Expand(probability=1.0, smallest=4.0), crop=Crop(min_object_covered=0, max_area=0.1, when_empty=rule)
    )
    change_it = change(augment, View(24))
    example = {"image": np.zeros((24, 24, 3), np.uint8), "boxes": np.float32([[0, 0, 1, 1]]), "classes": np.int64([1])}
    empty = [changed for changed in (change_it(example, number) for number in range(30)) if not len(changed["boxes"])]
    assert len(empty) == 0 if rule == "undo" else len(empty) > 5
    assert all((changed["image"] > 0).mean() > 0.5 for changed in empty)
