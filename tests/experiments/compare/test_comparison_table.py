"""The columns of a comparison, and the numbers that are read for them."""

import random
from statistics import stdev

import pytest

from bakeoff.experiments.compare.comparison_table import make_table, may_be_shown
from bakeoff.experiments.compare.group_seeds import fold_seeds
from bakeoff.experiments.compare.load_runs import LATENCY, contender_of
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.learning.metrics.names import BY_HEADLINE
from bakeoff.tracking.store.stored_run import StoredRun


@pytest.mark.parametrize("headline", list(BY_HEADLINE))
def test_a_plain_table_needs_no_more_numbers_than_are_read_for_it(headline: str) -> None:
    draw = random.Random(3)
    names = [*BY_HEADLINE[headline].numbers, "AP_50.cat", "errors.missed", "loss_boxes"]
    keys = [f"{place}/{name}" for place in ("evaluation", "validation", "evaluation_test") for name in names]
    keys += [f"evaluation/interval.{name}.{end}" for name in names for end in ("low", "high")]
    keys += ["export/bytes", "export/int8.drop", LATENCY, "device/pi/model.tflite.frames_per_second", "train/loss"]
    metrics = [{key: draw.random() for key in keys} for _ in range(4)]
    del metrics[3][f"evaluation/{headline}"]  # not evaluated yet: validation stands in for it
    read = [{key: value for key, value in one.items() if may_be_shown(key)} for one in metrics]
    assert len(read[0]) < len(metrics[0]) / 2
    assert make_table(of(metrics)).columns == make_table(of(read)).columns


def of(metrics: list[dict[str, float]]) -> list[Contender]:
    runs = [
        StoredRun(f"{at}aaa1111", "run", "FINISHED", at, at, {}, {"seed": str(at), "lr.peak": str(at // 2)}, numbers)
        for at, numbers in enumerate(metrics)
    ]
    return fold_seeds([contender_of(run, None) for run in runs])


def test_a_spread_is_the_standard_deviation_of_a_sample() -> None:
    draw = random.Random(5)
    for scale in (1e-6, 1.0, 1e6):
        values = [scale * (0.8 + 0.01 * draw.random()) for _ in range(7)]
        [row] = of_seeds(values)
        number = row.number("mAP_50")
        assert number is not None and number.spread == pytest.approx(stdev(values), rel=1e-12)


def of_seeds(values: list[float]) -> list[Contender]:
    return fold_seeds(
        [
            Contender(f"{at}aaa1111", "run", "SUCCEEDED", {"seed": str(at)}, {"evaluation/mAP_50": value})
            for at, value in enumerate(values)
        ]
    )
