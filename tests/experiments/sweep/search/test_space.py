"""A search draws from the overrides, and writes drawn values so that they are read back to the bit."""

import math
from pathlib import Path

import pytest

from bakeoff.experiments.sweep.search.space import Categorical, NumericRange, Steps, parse_space
from bakeoff.foundation.errors import ConfigError
from support.imports import ROOT
from support.made_sweeps import sweep_job

CONF = ROOT / "conf"


@pytest.mark.parametrize(
    ("override", "axis"),
    [
        ("lr.peak=interval(0.001,0.3)", NumericRange("lr.peak", 0.001, 0.3, log=False, whole=False)),
        ("lr.peak=interval(1,3)", NumericRange("lr.peak", 1.0, 3.0, log=False, whole=False)),
        ("lr.peak=tag(log,interval(1e-5,1))", NumericRange("lr.peak", 1e-5, 1.0, log=True, whole=False)),
        ("train.steps=int(interval(10,500))", NumericRange("train.steps", 10, 500, log=False, whole=True)),
        ("train.steps=tag(log,int(interval(10,500)))", NumericRange("train.steps", 10, 500, log=True, whole=True)),
        ("seed=range(0,6,2)", Steps("seed", ("0", "2", "4"))),
        ("seed=shuffle(range(0,3))", Steps("seed", ("0", "1", "2"))),
        ("lr.peak=range(0.5,1.75,0.5)", Steps("lr.peak", ("0.5", "1.0", "1.5"))),
        ("lr=cosine,exponential", Categorical("lr", ("cosine", "exponential"))),
        ("lr=shuffle(cosine,exponential,cosine)", Categorical("lr", ("cosine", "exponential"))),
        ("experiment=glob(demo_*)", Categorical("experiment", ("demo_clips", "demo_images", "demo_points"))),
        ("+model.aspect_ratios=[0.7],[0.5,1]", Categorical("+model.aspect_ratios", ("[0.7]", "[0.5,1]"))),
    ],
)
def test_an_override_is_an_axis(override: str, axis: object) -> None:
    assert parse_space(["seed=7", override] if "seed" not in override else [override], CONF).axes == [axis]


def test_a_configuration_has_the_overrides_in_their_order_and_is_named_by_the_drawn_ones() -> None:
    space = parse_space(["lr=cosine,exponential", "train.steps=50", "lr.peak=interval(0,1)", "seed=range(3,6)"], CONF)
    drawn = ("exponential", 1 / 3, 2)
    configuration = space.make_configuration(drawn)
    assert configuration.overrides == ("lr=exponential", "train.steps=50", "lr.peak=0.3333333333333333", "seed=5")
    assert configuration.varied == ("lr=exponential", "lr.peak=0.3333333333333333", "seed=5")
    assert space.parse_job(sweep_job(1, configurations=(configuration.varied,))) == drawn


def test_corners_are_the_middle_and_from_there_every_end_and_every_choice() -> None:
    overrides = ["lr=cosine,exponential", "lr.peak=tag(log,interval(0.01,1))", "seed=range(0,5)", "train.steps=9"]
    assert [" ".join(configuration.varied) for configuration in parse_space(overrides, CONF).corners()] == [
        "lr=cosine lr.peak=0.1 seed=2",
        "lr=exponential lr.peak=0.1 seed=2",
        "lr=cosine lr.peak=0.01 seed=2",
        "lr=cosine lr.peak=1.0 seed=2",
        "lr=cosine lr.peak=0.1 seed=0",
        "lr=cosine lr.peak=0.1 seed=4",
    ]


def test_the_middle_of_an_interval_is_easy_to_read_and_within_it() -> None:
    overrides = ["a=interval(-0.1,0.3)", "b=tag(log,interval(0.001,0.3))", "c=interval(0.99991,0.99992)"]
    overrides += ["d=int(interval(1,4))", "e=tag(log,int(interval(1,100)))"]
    a, b, c, d, e = (axis.middle for axis in parse_space(overrides, CONF).axes)
    assert (a, b, d, e) == (0.1, 0.0173, 2, 10) and 0.99991 < float(c) < 0.99992


def test_a_space_knows_its_size_and_values_that_are_not_tried() -> None:
    space = parse_space(["seed=range(0,3)", "train.steps=int(interval(4,5))", "lr=cosine,constant"], CONF)
    assert space.size == 3 * 2 * 2
    assert parse_space(["seed=0,1", "lr.peak=interval(0,1)"], CONF).size == math.inf
    tried = {(0, 4, "cosine"), (0, 4, "constant"), (0, 5, "cosine")}
    assert space.first_without(tried) == (0, 5, "constant")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["lr.peak=0.1", "seed=3"], r"--search: .*\blr\.peak=0\.1 seed=3;.*'lr"),
        (["a=interval(5,1)"], r"command line: a=interval\(5,1\): .*\b5\.0 to 1\.0\b"),
        (["a=int(interval(5,5))"], r"command line: a=int\(interval\(5,5\)\): .*\b5 to 5\b"),
        (["a=tag(log,interval(0,1))"], r"command line: a=.*: .*logarithmic.*\b0\.0\b"),
        (["a=interval(0,inf)"], r"command line: a=.*: .*\b0\.0 and inf\b"),
        (["a=tag(linear,interval(0,1))"], r"command line: a=.*: .*tag\(log,interval\(…\)\), .*\blinear"),
        (["a=tag(log,range(0,9))"], r"command line: a=.*: .*tag\(log,interval\(…\)\), .*got log\b"),
        (["a=range(0,200000)"], r"command line: a=.*: .*\b100,000\b.* more\b.*interval"),
        (["a=range(3,3)"], r"command line: a=range\(3,3\): .*\bnone\b"),
    ],
)  # fmt: skip
def test_overrides_that_a_search_cannot_draw_from_are_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        parse_space(overrides, Path("conf"))
