from types import SimpleNamespace

import pytest

from bakeoff.evaluation.evaluation_report import summarize_metrics
from bakeoff.evaluation.settings import Evaluate
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.stages.evaluate import _list_facts
from support.coco_sets import given, true


def test_summary_has_the_first_three_numbers_and_the_interval_of_the_headline() -> None:
    metrics = {
        "accuracy": 0.75,
        "top_5": 0.9,
        "confusions": 3,
        "loss": 0.5,
        "ece": 0.1,
        "interval": {"accuracy": {"low": 0.7, "high": 0.8125}},
    }
    assert summarize_metrics(metrics) == "accuracy 0.750 (0.700 to 0.812), top_5 0.900, loss 0.500"


def test_summary_without_intervals() -> None:
    assert summarize_metrics({"accuracy": 0.75, "loss": 0.5}) == "accuracy 0.750, loss 0.500"


def test_summary_of_images_without_true_boxes_says_so() -> None:
    score = DetectionScore(("ant",)).update(true(), given(([0.0, 0.0, 9.0, 9.0], 1, 0.5)))
    assert summarize_metrics(score.result()) == "nothing to count numbers on"


@pytest.mark.parametrize(("weights", "step"), [("best", 30), ("final", 40)])
def test_the_page_says_which_step_of_a_stopped_run_its_weights_are_of(weights: str, step: int) -> None:
    derived = SimpleNamespace(task="detection", train_examples=5, validation_examples=9, num_classes=2, parameters=7)
    run, settings = SimpleNamespace(derived=derived), Evaluate(weights=weights)  # type: ignore[arg-type]
    state = TrainedState(best_step=30, step=40, steps=100)
    facts = _list_facts(run, settings, state, "77ab" * 16)  # type: ignore[arg-type]
    assert facts["weights"] == f"{weights}, of step {step} of 100" and facts["data"] == "digest 77ab77ab77ab"
