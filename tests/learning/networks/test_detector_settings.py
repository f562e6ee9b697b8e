from typing import Any

import pytest

from bakeoff.learning.networks.detector_settings import Backbone, DetectionLoss


@pytest.mark.parametrize(
    ("loss", "scores", "outputs"),
    [("sigmoid_focal", "sigmoid", 7), ("sigmoid", "sigmoid", 7), ("softmax", "softmax", 8)],
)
def test_softmax_has_a_number_for_the_background(loss: Any, scores: str, outputs: int) -> None:
    rule = DetectionLoss(classes=loss)
    assert (rule.scores, rule.outputs(7)) == (scores, outputs)


@pytest.mark.parametrize(("channels", "multiplier", "expected"), [(256, 1.0, 256), (256, 0.35, 89), (64, 0.1, 16)])
def test_added_channels_follow_the_multiplier_down_to_the_minimum(
    channels: int, multiplier: float, expected: int
) -> None:
    assert Backbone(depth_multiplier=multiplier).depth(channels) == expected
