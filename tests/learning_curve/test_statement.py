"""What the points say, and that chance is never made a statement."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
import pytest

from bakeoff.compare.contender import SUCCEEDED, Contender
from bakeoff.errors import WorkspaceError
from bakeoff.learning_curve.fit import Interval
from bakeoff.learning_curve.more_steps import Rise, find_rise, measure_rise
from bakeoff.learning_curve.networks import choose_network
from bakeoff.learning_curve.page import write_page
from bakeoff.learning_curve.points import Measure, Point, Points, choose_measure
from bakeoff.learning_curve.statement import describe_limits, state
from bakeoff.tracking.journal import Journal

ACCURACY = Measure("accuracy", is_share=True)
SHARES = (0.12, 0.25, 0.5, 1.0)
NO_RISE = Rise(200, 3, why_not="0 looks")


def make_run(name: str, value: float, *, model: str = "cnn_small", share: float = 1.0, seed: int = 0) -> Contender:
    params = {
        "train.share": f"{share:g}", "seed": str(seed), "model.use": model, "model.width": str(len(model)),
        "derived.steps": "200", "derived.train_examples": str(round(800 * share)), "lr.peak": "0.003",
    }  # fmt: skip
    return Contender(name, name, SUCCEEDED, params, {"evaluation/accuracy": value}, records="a")


def make_points(
    *, seeds: int = 3, exponent: float = 0.6, shares: Sequence[float] = SHARES, validation: int = 200
) -> Points:
    draw = np.random.default_rng(3)
    points = []
    for share in shares:
        for seed in range(seeds):
            value = 1 - 0.4 * (share / 0.12) ** -exponent * (1 + draw.normal(0, 0.03))
            run = make_run(f"{share:g}-{seed}", value, share=share, seed=seed)
            points.append(Point(share, seed, round(800 * share), value, run))
    return Points(ACCURACY, tuple(points), validation, 0)


def test_a_steep_curve_says_what_twice_the_data_bring() -> None:
    found = state(make_points(), NO_RISE, None)
    assert found.more_data.startswith("More data: +0.0")
    assert "of accuracy with 1,600 training examples, twice as many, to 0.9" in found.more_data
    assert found.foretold is not None and found.foretold.low < 1 - make_points().whole[0].value < found.foretold.high
    assert found.more_steps == "More steps: no statement, 0 looks."
    assert found.another_network.startswith("Another network: not tried on these records; `bakeoff sweep model=")


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (make_points(seeds=1), "no statement, one seed only, which tells nothing of chance, so there is no interval"),
        (make_points(validation=12), "no statement, 12 validation images, 30 are needed"),
        (make_points(shares=(0.5, 1.0)), "no statement, 2 shares have a run, 3 are needed"),
        (make_points(exponent=0.0), "which chance explains"),
    ],
)
def test_too_little_and_chance_are_no_statement(points: Points, words: str) -> None:
    found = state(points, NO_RISE, None).more_data
    assert found.startswith("More data: no statement") and words in found


def test_shares_that_did_not_foretell_the_whole_are_no_statement() -> None:
    points = make_points()
    worse = tuple(
        Point(one.share, one.seed, one.examples, 0.3 if one.share == 1 else one.value, one.run) for one in points.points
    )
    said = state(Points(ACCURACY, worse, 200, 0), NO_RISE, None).more_data
    assert "no statement, the smaller shares foretold accuracy" in said and "which gave 0.300" in said


def test_a_run_that_still_rose_is_told_from_one_that_had_ended() -> None:
    draw = np.random.default_rng(0)
    steps = range(20, 401, 20)
    rising = [[(step, 0.5 + step / 2000 + draw.normal(0, 0.005)) for step in steps] for _ in range(3)]
    flat = [[(step, 0.7 + draw.normal(0, 0.02)) for step in steps] for _ in range(3)]
    still, over, alone = (measure_rise(one, 400, ACCURACY) for one in (rising, flat, rising[:1]))
    assert still.change and still.change.low > 0 and still.change.low < 0.1 < still.change.high
    assert over.change and over.change.holds_zero and alone.change and alone.change.low > 0
    assert "so it still rose" in state(make_points(), still, None).more_steps
    assert "which chance explains" in state(make_points(), over, None).more_steps
    few = measure_rise([[(100, 0.5), (400, 0.6)]], 400, ACCURACY)
    assert few.why_not.startswith("1 looks at validation in the second half of a run, 4 are needed")


def test_the_rise_is_read_from_the_journals_of_the_longest_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    points = make_points()
    for point in points.whole:
        journal = Journal(point.run.run_id)
        for step in range(20, 201, 20):
            journal.metrics(step, {"validation/accuracy": 0.5 + step / 1000 + point.seed / 100})
        journal.close()
    found = find_rise(points)
    assert found.change and found.seeds == 3 and found.change.middle == pytest.approx(0.1)


def test_another_network_is_held_against_the_same_seeds() -> None:
    points = make_points()
    own = [point.value for point in points.whole]
    better = [make_run(f"b{seed}", own[seed] + 0.02 + seed / 1000, model="mobilenet", seed=seed) for seed in range(3)]
    noisy = [make_run(f"n{seed}", own[seed] + (-1) ** seed * 0.05, model="other", seed=seed) for seed in range(3)]
    alone = [make_run("s0", 0.99, model="single", seed=0)]
    others = [Contender(**(vars(one) | {"records": "b"})) for one in better]
    found = choose_network(points.whole, better, points)
    assert found and found.difference and 0 < found.difference.low < 0.021 < found.difference.high
    assert "of accuracy with mobilenet, 3 seeds" in state(points, NO_RISE, found).another_network
    shared = choose_network(points.whole, [*better, *noisy, *alone], points)
    assert shared and shared.difference and shared.name == "mobilenet" and shared.tried == 3
    assert shared.difference.low < found.difference.low
    assert "no statement" in state(points, NO_RISE, choose_network(points.whole, noisy, points)).another_network
    few = state(points, NO_RISE, choose_network(points.whole, alone, points)).another_network
    assert "no statement, single has 1 seeds in common with the curve, 2 are needed" in few
    assert choose_network(points.whole, others, points) is None  # of other records


def test_a_number_that_is_no_error_is_refused() -> None:
    runs = [make_run("a", 0.9)]
    assert choose_measure(runs, "accuracy") == ACCURACY
    with pytest.raises(WorkspaceError, match="--metric: no run has 'mAP_50'; .*accuracy"):
        choose_measure(runs, "mAP_50")
    runs = [Contender(**(vars(runs[0]) | {"metrics": {"evaluation/loss": 0.4, "evaluation/threshold": 0.5}}))]
    assert choose_measure(runs, "loss") == Measure("loss", is_share=False)
    with pytest.raises(WorkspaceError, match="--metric: must be a share of 1, or a number from 0 that is better"):
        choose_measure(runs, "threshold")


def test_a_lower_loss_is_said_as_a_fall() -> None:
    points = make_points()
    losses = tuple(Point(one.share, one.seed, one.examples, 1 - one.value, one.run) for one in points.points)
    found = state(Points(Measure("loss", is_share=False), losses, 200, 0), NO_RISE, None).more_data
    assert found.startswith("More data: -0.0") and "of loss with 1,600" in found


def test_groups_and_runs_that_are_missing_are_named() -> None:
    points = make_points()
    grouped = make_run("g", 0.9)
    grouped = Contender(**(vars(grouped) | {"params": {**grouped.params, "data.split.group": "(f.)"}}))
    last = points.points[-1]
    changed = (*points.points[:-3], Point(1.0, 0, 800, last.value, grouped))
    assert describe_limits(points) == []
    said = describe_limits(Points(ACCURACY, changed, 200, 2))
    assert "data.split.group puts examples together" in said[0] and said[1].startswith("2 runs of the sweep have no")


def test_the_page_has_the_band_the_points_and_the_sentences(tmp_path: Path) -> None:
    points = make_points()
    for statement in (state(points, NO_RISE, None), state(make_points(seeds=1), NO_RISE, None)):
        write_page(tmp_path / "curve.html", "sweep-1", points, statement, ["so <many>"])
        page = (tmp_path / "curve.html").read_text(encoding="utf-8")
        assert ('class="band"' in page) == (statement.curves is not None)
        assert all(escape(sentence, quote=False).split("`")[0] in page for sentence in statement.sentences)
        assert "so &lt;many&gt;" in page
    assert Interval(0, -1, 1).holds_zero
