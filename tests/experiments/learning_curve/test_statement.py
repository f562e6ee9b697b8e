"""The sentences about a curve, and that chance is never made a statement."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
import pytest

from bakeoff.experiments.compare.run_row import SUCCEEDED, Contender
from bakeoff.experiments.learning_curve.curve_page import write_page
from bakeoff.experiments.learning_curve.errors_by_size import Measure, Measurements, Point, choose_measure
from bakeoff.experiments.learning_curve.fit import Interval
from bakeoff.experiments.learning_curve.more_steps import Rise, find_rise, measure_rise
from bakeoff.experiments.learning_curve.networks import choose_network
from bakeoff.experiments.learning_curve.statement import describe_limits, make_statement
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.tracking.journal.journal import Journal
from support.messages import missing_in

ACCURACY = Measure("accuracy", is_share=True)
SHARES = (0.12, 0.25, 0.5, 1.0)
NO_RISE = Rise(200, 3, why_not="0 passes")


def make_run(name: str, value: float, *, model: str = "cnn_small", share: float = 1.0, seed: int = 0) -> Contender:
    params = {
        "train.share": f"{share:g}", "seed": str(seed), "model.use": model, "model.width": str(len(model)),
        "derived.steps": "200", "derived.train_examples": str(round(800 * share)), "lr.peak": "0.003",
    }  # fmt: skip
    return Contender(name, name, SUCCEEDED, params, {"evaluation/accuracy": value}, records="a")


def make_measurements(
    *, seeds: int = 3, exponent: float = 0.6, shares: Sequence[float] = SHARES, validation: int = 200
) -> Measurements:
    draw = np.random.default_rng(3)
    points = []
    for share in shares:
        for seed in range(seeds):
            value = 1 - 0.4 * (share / 0.12) ** -exponent * (1 + draw.normal(0, 0.03))
            run = make_run(f"{share:g}-{seed}", value, share=share, seed=seed)
            points.append(Point(share, seed, round(800 * share), value, run))
    return Measurements(ACCURACY, tuple(points), validation, 0)


def test_a_steep_curve_says_what_twice_the_data_bring() -> None:
    statement = make_statement(make_measurements(), NO_RISE, None)
    assert statement.more_data.startswith("More data: +0.0")
    assert missing_in(statement.more_data, "of accuracy", "1,600", "to 0.9", "(0.") == []
    error = 1 - make_measurements().whole[0].value
    assert statement.predicted is not None and statement.predicted.low < error < statement.predicted.high
    assert statement.more_steps == "More steps: no statement, 0 passes."
    assert missing_in(statement.another_network, "Another network:", "not tried", "`bakeoff sweep model=") == []


@pytest.mark.parametrize(
    ("measurements", "parts"),
    [
        (make_measurements(seeds=1), ("one seed only",)),
        (make_measurements(validation=12), ("12 validation images", "30")),
        (make_measurements(shares=(0.5, 1.0)), ("2 shares", "3")),
        (make_measurements(exponent=0.0), ("which chance explains",)),
    ],
)
def test_too_little_and_chance_are_no_statement(measurements: Measurements, parts: tuple[str, ...]) -> None:
    sentence = make_statement(measurements, NO_RISE, None).more_data
    assert sentence.startswith("More data: no statement") and missing_in(sentence, *parts) == []


def test_shares_that_did_not_predict_the_whole_are_no_statement() -> None:
    measurements = make_measurements()
    worse = tuple(
        Point(one.share, one.seed, one.examples, 0.3 if one.share == 1 else one.value, one.run)
        for one in measurements.points
    )
    sentence = make_statement(Measurements(ACCURACY, worse, 200, 0), NO_RISE, None).more_data
    assert missing_in(sentence, "no statement", "predicted accuracy", "gave 0.300") == []


def test_a_run_that_still_rose_is_distinguished_from_one_that_had_ended() -> None:
    draw = np.random.default_rng(0)
    steps = range(20, 401, 20)
    rising = [[(step, 0.5 + step / 2000 + draw.normal(0, 0.005)) for step in steps] for _ in range(3)]
    flat = [[(step, 0.7 + draw.normal(0, 0.02)) for step in steps] for _ in range(3)]
    still, over, alone = (measure_rise(one, 400, ACCURACY) for one in (rising, flat, rising[:1]))
    assert still.change and still.change.low > 0 and still.change.low < 0.1 < still.change.high
    assert over.change and over.change.holds_zero and alone.change and alone.change.low > 0
    assert "so it still rose" in make_statement(make_measurements(), still, None).more_steps
    assert "which chance explains" in make_statement(make_measurements(), over, None).more_steps
    few = measure_rise([[(100, 0.5), (400, 0.6)]], 400, ACCURACY)
    assert missing_in(few.why_not, "1 validation passes", "4") == []


def test_the_rise_is_read_from_the_journals_of_the_longest_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    measurements = make_measurements()
    for point in measurements.whole:
        journal = Journal(point.run.run_id)
        for step in range(20, 201, 20):
            journal.metrics(step, {"validation/accuracy": 0.5 + step / 1000 + point.seed / 100})
        journal.close()
    rise = find_rise(measurements)
    assert rise.change and rise.seeds == 3 and rise.change.middle == pytest.approx(0.1)


def test_another_network_is_compared_on_the_same_seeds() -> None:
    measurements = make_measurements()
    values = [point.value for point in measurements.whole]
    better = [
        make_run(f"b{seed}", values[seed] + 0.02 + seed / 1000, model="mobilenet", seed=seed) for seed in range(3)
    ]
    noisy = [make_run(f"n{seed}", values[seed] + (-1) ** seed * 0.05, model="other", seed=seed) for seed in range(3)]
    alone = [make_run("s0", 0.99, model="single", seed=0)]
    others = [Contender(**(vars(one) | {"records": "b"})) for one in better]
    network = choose_network(measurements.whole, better, measurements)
    assert network and network.difference and 0 < network.difference.low < 0.021 < network.difference.high
    assert "of accuracy with mobilenet, 3 seeds" in make_statement(measurements, NO_RISE, network).another_network
    shared = choose_network(measurements.whole, [*better, *noisy, *alone], measurements)
    assert shared and shared.difference and shared.name == "mobilenet" and shared.tried == 3
    assert shared.difference.low < network.difference.low
    unsure = choose_network(measurements.whole, noisy, measurements)
    assert "no statement" in make_statement(measurements, NO_RISE, unsure).another_network
    single = choose_network(measurements.whole, alone, measurements)
    few = make_statement(measurements, NO_RISE, single).another_network
    assert missing_in(few, "no statement", "single", "1 seeds", "2") == []
    assert choose_network(measurements.whole, others, measurements) is None  # of other records


def test_a_number_that_is_no_error_is_refused() -> None:
    runs = [make_run("a", 0.9)]
    assert choose_measure(runs, "accuracy") == ACCURACY
    with pytest.raises(WorkspaceError, match="--metric: no run has 'mAP_50'; .*accuracy"):
        choose_measure(runs, "mAP_50")
    runs = [Contender(**(vars(runs[0]) | {"metrics": {"evaluation/loss": 0.4, "evaluation/threshold": 0.5}}))]
    assert choose_measure(runs, "loss") == Measure("loss", is_share=False)
    with pytest.raises(WorkspaceError, match="^--metric: must be a share"):
        choose_measure(runs, "threshold")


def test_a_lower_loss_is_described_as_a_fall() -> None:
    measurements = make_measurements()
    losses = tuple(Point(one.share, one.seed, one.examples, 1 - one.value, one.run) for one in measurements.points)
    sentence = make_statement(Measurements(Measure("loss", is_share=False), losses, 200, 0), NO_RISE, None).more_data
    assert sentence.startswith("More data: -0.0") and "of loss with 1,600" in sentence


def test_groups_and_runs_that_are_missing_are_named() -> None:
    measurements = make_measurements()
    grouped = make_run("g", 0.9)
    grouped = Contender(**(vars(grouped) | {"params": {**grouped.params, "data.split.group": "(f.)"}}))
    last = measurements.points[-1]
    changed = (*measurements.points[:-3], Point(1.0, 0, 800, last.value, grouped))
    assert describe_limits(measurements) == []
    limits = describe_limits(Measurements(ACCURACY, changed, 200, 2))
    assert "data.split.group" in limits[0] and missing_in(limits[1], "2 runs") == []


def test_the_page_has_the_band_the_points_and_the_sentences(tmp_path: Path) -> None:
    measurements = make_measurements()
    for each in (measurements, make_measurements(seeds=1)):
        statement = make_statement(each, NO_RISE, None)
        write_page(tmp_path / "curve.html", "sweep-1", measurements, statement, ["so <many>"])
        page = (tmp_path / "curve.html").read_text(encoding="utf-8")
        assert ('class="band"' in page) == (statement.curves is not None)
        assert all(escape(sentence, quote=False).split("`")[0] in page for sentence in statement.sentences)
        assert "so &lt;many&gt;" in page
    assert Interval(0, -1, 1).holds_zero
