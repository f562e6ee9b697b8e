"""Anchors that do not fit the boxes, and those that do: against overlaps of all anchors with all boxes."""

import dataclasses
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bakeoff.config.compose.anchor_fit import MOST_BOXES, advise, best_overlaps, cluster_ratios, find_nearest
from bakeoff.learning.networks.anchors import Anchors, MultiboxAnchors, PyramidAnchors
from bakeoff.learning.networks.ssd_multibox import STRIDES

NETWORKS: dict[str, tuple[Any, int, tuple[int, ...]]] = {
    "ssd": (Anchors(), 128, (8, 16, 32)),
    "ssd_fpn": (PyramidAnchors(), 320, (8, 16, 32, 64, 128)),
    "ssd_multibox": (MultiboxAnchors(), 300, STRIDES),
}


@dataclasses.dataclass
class Detector:
    input_size: int
    strides: tuple[int, ...]
    anchors: Any


def draw_boxes(number: int, sides: tuple[float, float], ratios: tuple[float, ...]) -> np.ndarray:
    """Boxes anywhere in the image, of sides (the root of the area) and aspect ratios around those given."""
    random = np.random.default_rng(7)
    side = random.uniform(*sides, number)
    ratio = random.choice(ratios, number) * np.exp(random.normal(0, 0.1, number))
    size = np.stack([side / np.sqrt(ratio), side * np.sqrt(ratio)], axis=-1).clip(0, 1)
    low = random.uniform(0, 1, (number, 2)) * (1 - size)
    return np.concatenate([low, low + size], axis=-1).astype(np.float32)


def overlap_all(anchors: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    low = np.maximum(boxes[:, None, :2], anchors[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], anchors[None, :, 2:])
    shared = np.prod(np.maximum(high - low, 0), axis=-1)
    areas = [np.prod(some[:, 2:] - some[:, :2], axis=-1) for some in (boxes, anchors)]
    return (shared / (areas[0][:, None] + areas[1][None, :] - shared)).max(axis=1)


def share_unfit(anchors: Any, size: int, strides: tuple[int, ...], boxes: np.ndarray) -> float:
    return float(np.mean(overlap_all(anchors.boxes(size, strides), boxes) < 0.5))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_box_is_held_against_the_anchor_that_fits_it_best(name: str) -> None:
    anchors, size, strides = NETWORKS[name]
    boxes = draw_boxes(200, (0.02, 0.9), (0.2, 1.0, 4.0))
    levels = anchors.levels(size, strides)
    overlaps = best_overlaps(levels, [find_nearest(centres, boxes) for centres, _ in levels], boxes)
    np.testing.assert_allclose(overlaps, overlap_all(anchors.boxes(size, strides), boxes), atol=1e-5)


def test_ratios_are_the_middles_of_their_clusters() -> None:
    ratios = np.array([0.09, 0.1, 0.11, 0.9, 1.0, 1.1, 4.0, 4.4, 4.2])
    assert cluster_ratios(ratios, 3) == pytest.approx((0.1, 1.0, 4.2), rel=0.02)
    assert cluster_ratios(np.ones(5), 3) == (1.0,)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    ("sides", "ratios"), [((0.2, 0.6), (0.15,)), ((0.2, 0.5), (0.2, 4.0))], ids=["tall", "tall and flat"]
)
def test_with_the_keys_that_are_named_fewer_boxes_have_no_anchor(
    name: str, sides: tuple[float, float], ratios: tuple[float, ...]
) -> None:
    anchors, size, strides = NETWORKS[name]
    boxes = draw_boxes(300, sides, ratios)
    advice = advise(Detector(size, strides, anchors), boxes)
    match = re.fullmatch(r"(\d+)%.*\b0\.5\b.*model\.anchors: \{(.*)\}.*\b(\d+)%", advice or "")
    assert match, advice
    keys = json.loads(re.sub(r"(\w+):", r'"\1":', f"{{{match[2]}}}"))
    keys["aspect_ratios"] = tuple(keys["aspect_ratios"])
    before = share_unfit(anchors, size, strides, boxes)
    after = share_unfit(dataclasses.replace(anchors, **keys), size, strides, boxes)
    assert match[1] == f"{before:.0%}"[:-1] and match[3] == f"{after:.0%}"[:-1]
    assert after < before / 2 and after < 0.1


def test_nothing_is_advised_where_most_boxes_fit_or_none_are_there() -> None:
    anchors, size, strides = NETWORKS["ssd"]
    assert advise(Detector(size, strides, anchors), draw_boxes(300, (0.3, 0.9), (0.5, 1.0))) is None
    assert advise(Detector(size, strides, anchors), np.zeros((0, 4), np.float32)) is None


def test_nothing_is_advised_to_a_detector_that_states_no_strides_or_has_anchors_of_its_own_kind() -> None:
    anchors, size, strides = NETWORKS["ssd"]
    thin = draw_boxes(300, (0.2, 0.6), (0.05,))
    assert advise(Detector(size, strides, anchors), thin)
    assert advise(SimpleNamespace(input_size=size, anchors=anchors), thin) is None
    assert advise(SimpleNamespace(input_size=size, strides=strides), thin) is None
    assert advise(Detector(size, strides, "three in a cell"), thin) is None


def test_of_very_many_boxes_some_are_taken_from_all_along() -> None:
    anchors, size, strides = NETWORKS["ssd"]
    fitting = np.tile(np.array([[0.0, 0.0, 0.25, 0.25]], np.float32), (6 * MOST_BOXES, 1))
    thin = np.tile(np.array([[0, 0, 1, 0.01]], np.float32), (2 * MOST_BOXES, 1))
    advice = advise(Detector(size, strides, anchors), np.concatenate([fitting, thin]))
    assert advice and advice.startswith("25% of the training boxes")
