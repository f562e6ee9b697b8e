"""A search that cannot be made is refused with the name of its option."""

from typing import Any

import pytest

from bakeoff.experiments.sweep.search.search_settings import Search, require_metric
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.metrics.names import BY_HEADLINE


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"kind": "tpee"}, "--search: .*'tpee'.*'tpe'.* one of: asha, random, tpe"),
        ({"trials": 0}, r"--trials: .*\b1\b.*\b0$"),
        ({"direction": "up"}, "--direction: .*max or min.*'up'"),
        ({"seed": -1}, r"--search-seed: .*\b0\b.*-1$"),
        ({"kind": "asha", "prunes": False}, "--no-pruning: .*--search asha"),
    ],
)  # fmt: skip
def test_a_search_that_cannot_be_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        Search(**({"kind": "tpe", "trials": 3, "metric": "mAP_50"} | more))


def test_the_best_of_values_is_by_direction() -> None:
    assert Search("tpe", 1, "mAP").best([1.0, 3.0, 2.0]) == 3.0
    assert Search("tpe", 1, "loss", "min").best([2.0, 1.0, 3.0]) == 1.0
    assert Search("tpe", 1, "loss", "min").best([]) is None


@pytest.mark.parametrize("headline", BY_HEADLINE)
def test_training_validates_all_that_evaluation_writes(headline: str) -> None:
    for name in (*BY_HEADLINE[headline].numbers, "loss"):
        require_metric(name, headline)
        require_metric(f"validation/{name}", headline)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mAP50", "--metric: .*'mAP50'.*'mAP_50'.* one of: AR_1, "),
        ("accuracy", "--metric: .*'accuracy'.* one of: AR_1, "),
        ("validation/mAp_50", "--metric: .*'validation/mAp_50'.*'validation/mAP_50'"),
        ("validation/los", "--metric: .*'validation/los'.*'validation/loss'"),
    ],
)
def test_a_metric_that_no_stage_writes_is_refused_with_the_nearest(name: str, message: str) -> None:
    require_metric("mAP_75", "mAP_50")
    require_metric("validation/mAP", "mAP_50")
    with pytest.raises(ConfigError, match=f"^{message}"):
        require_metric(name, "mAP_50")
