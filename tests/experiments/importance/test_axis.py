"""The places of values on an axis, and the groups that they are put in."""

import pytest

from bakeoff.experiments.importance.axis import Axis, group_configurations
from bakeoff.experiments.importance.trial import Trial


def test_numbers_that_span_more_than_twenty_times_stand_by_their_logarithm() -> None:
    axis = Axis.from_values("lr.peak", ["0.001", "0.1", "0.01", "0.01"])
    assert axis.is_logarithmic and axis.is_numeric
    assert axis.places == {"0.001": 0.0, "0.1": 1.0, "0.01": pytest.approx(0.5)}
    assert axis.ticks == ((0.0, "0.001"), (pytest.approx(0.5), "0.01"), (1.0, "0.1"))


@pytest.mark.parametrize("values", [["0", "0.01", "1"], ["-1", "100"], ["1", "20"], ["0.01", "0.3", "0.6", "0.9"]])
def test_numbers_with_zero_or_below_or_evenly_apart_stand_as_they_are(values: list[str]) -> None:
    axis = Axis.from_values("k", values)
    low, high = float(values[0]), float(values[-1])
    assert not axis.is_logarithmic
    assert axis.places == {value: pytest.approx((float(value) - low) / (high - low)) for value in values}


def test_what_has_no_number_stands_below_the_numbers() -> None:
    axis = Axis.from_values("k", ["1", None, "2", "None"])
    assert axis.is_numeric and axis.places["2"] == 1.0
    assert 0 == axis.place("None") < axis.place(None) < axis.places["1"]
    assert [text for _, text in axis.ticks] == ["1", "2", "none", "–"]


def test_names_stand_evenly_apart_in_the_order_of_readers() -> None:
    axis = Axis.from_values("model.use", ["s10", "s9", "a", None])
    assert not axis.is_numeric
    assert sorted(axis.places, key=lambda name: -axis.places[name]) == ["a", "s9", "s10", "–"]
    assert axis.places["a"] == 1.0 and axis.place(None) == 0.0


def make_trials(values: list[str | None]) -> list[Trial]:
    return [Trial(str(at), {} if value is None else {"k": value}, (float(at),)) for at, value in enumerate(values)]


def test_a_group_has_the_mean_and_the_deviation_of_its_configurations() -> None:
    trials = make_trials(["0.1", "0.2", "0.1", None])
    groups = group_configurations(Axis.from_values("k", [trial.values.get("k") for trial in trials]), trials)
    assert [(group.name, group.mean) for group in groups] == [("without", 3.0), ("0.1", 1.0), ("0.2", 1.0)]
    assert groups[1].spread == pytest.approx(2**0.5) and groups[2].spread is None


def test_many_numbers_are_put_together_in_ranges_of_as_many_configurations() -> None:
    trials = make_trials([str(at) for at in range(20)])
    groups = group_configurations(Axis.from_values("k", [trial.values["k"] for trial in trials]), trials)
    assert [(group.name, group.mean) for group in groups] == [
        ("0 to 3", 1.5), ("4 to 7", 5.5), ("8 to 11", 9.5), ("12 to 15", 13.5), ("16 to 19", 17.5)
    ]  # fmt: skip
    same = make_trials(["1"] * 13 + [str(at) for at in range(2, 9)])
    groups = group_configurations(Axis.from_values("k", [trial.values["k"] for trial in same]), same)
    sizes = [len(group.members) for group in groups]
    assert sizes[0] == 13 and sum(sizes) == 20
