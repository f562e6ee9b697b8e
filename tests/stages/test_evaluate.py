from bakeoff.metrics.detection import DetectionScore
from bakeoff.stages.evaluate import summary
from coco_sets import given, true


def test_summary_has_the_first_three_numbers_and_the_interval_of_the_headline() -> None:
    metrics = {
        "accuracy": 0.75,
        "top_5": 0.9,
        "confusions": 3,
        "loss": 0.5,
        "ece": 0.1,
        "interval": {"accuracy": {"low": 0.7, "high": 0.8125}},
    }
    assert summary(metrics) == "accuracy 0.750 (0.700 to 0.812), top_5 0.900, loss 0.500"


def test_summary_without_intervals() -> None:
    assert summary({"accuracy": 0.75, "loss": 0.5}) == "accuracy 0.750, loss 0.500"


def test_summary_of_images_without_true_boxes_says_so() -> None:
    score = DetectionScore(("ant",)).update(true(), given(([0.0, 0.0, 9.0, 9.0], 1, 0.5)))
    assert summary(score.result()) == "nothing to count numbers on"
