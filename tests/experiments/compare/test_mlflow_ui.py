"""The view of MLflow's table: which columns, in which order, and what its names mean in both directions."""

import pytest

from bakeoff.experiments.compare.mlflow_ui import describe_view
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.tracking.store.mlflow_names import (  # fmt: skip
    metric_from_mlflow,
    metric_in_mlflow,
    name_from_mlflow,
    name_in_mlflow,
    params_from_mlflow,
    params_in_mlflow,
)
from bakeoff.tracking.store.ui_server import lead_to

RUN = "9e1f70b2" + "0" * 24


def judged(peak: str, value: float) -> Contender:
    metrics = {"evaluation/mAP_50": value, "evaluation/mAP": value / 2}
    return Contender(f"run{peak}", "x", "SUCCEEDED", {"lr.use": "cosine", "lr.peak": peak, "seed": "0"}, metrics)


def test_the_metric_of_the_task_is_first_then_what_differs_the_best_on_top() -> None:
    view = describe_view([judged("0.1", 0.5), judged("0.2", 0.6)])
    assert view["selectedColumns"] == ["metrics.`evaluation/mAP_50`", "metrics.`evaluation/mAP`", "params.`lr.peak`"]
    assert view["columnOrder"][-3:] == view["selectedColumns"]
    assert (view["orderByKey"], view["orderByAsc"]) == ("metrics.`evaluation/mAP_50`", False)


def test_while_nothing_is_evaluated_validation_counts_and_without_runs_nothing_is_chosen() -> None:
    looked = Contender("a", "x", "RUNNING", {}, {"validation/accuracy": 0.5})
    assert describe_view([looked])["orderByKey"] == "metrics.`validation/accuracy`"
    assert describe_view([])["selectedColumns"] == [] and "orderByKey" not in describe_view([])


@pytest.mark.parametrize(
    ("plain", "there"),
    [
        ("evaluation/mAP_50", "evaluation/mAP_50"),
        ("evaluation/mAP_small", "within_evaluation/more/mAP_small"),
        ("evaluation/AP.a.b/c", "within_evaluation/classes/AP.a.b/c"),
        ("evaluation/errors.missed", "within_evaluation/errors/errors.missed"),
        ("evaluation/interval.mAP.low", "within_evaluation/intervals/mAP.low"),
        ("evaluation_test/AP.cat", "within_evaluation_test/classes/AP.cat"),
        ("validation/mAP_small", "validation/mAP_small"),
        ("train/loss", "train/loss"),
    ],
)
def test_a_metric_has_one_name_there_and_gets_its_own_back(plain: str, there: str) -> None:
    assert metric_in_mlflow(plain) == there and metric_from_mlflow(there) == plain
    assert metric_from_mlflow(plain) == plain  # as earlier versions named it


def test_options_are_params_by_the_names_of_params_yaml_and_derived_values_are_tags() -> None:
    params, tags = params_in_mlflow({"variant.lr": "cosine", "lr.peak": "0.1", "derived.steps": "20"})
    assert (params, tags) == ({"lr.use": "cosine", "lr.peak": "0.1"}, {"derived.steps": "20"})
    assert params_from_mlflow(params, tags | {"bakeoff.run": RUN}) == params | tags


def test_a_name_says_which_run_it_is_and_what_was_changed() -> None:
    there = name_in_mlflow(RUN, "ssd · cosine · low (tall-kite)", "seed 3")
    assert there == "9e1f70b2 seed 3, ssd · cosine · low (tall-kite)"
    tags = {"bakeoff.differs": "seed 3"}
    for stored in (there, "9e1f70b2 ssd · cosine · low, seed 3 (tall-kite)"):  # the second is of 0.15
        assert name_from_mlflow(RUN, stored, tags) == "ssd · cosine · low (tall-kite)"
    assert name_from_mlflow(RUN, "my best", tags) == "my best"
    assert name_in_mlflow("sweep-20260101-000000", "sweep-20260101-000000") == "sweep-20260101-000000"


def test_the_first_page_leads_to_an_address_before_anything_else_is_loaded() -> None:
    page = lead_to("#/experiments/1/runs", "<html><head><script src='main.js'></script></head></html>")
    assert page.index('location.replace("#/experiments/1/runs")') < page.index("main.js")
    assert page.count("<head>") == 1 and "machine_learning" in page
