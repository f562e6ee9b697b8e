"""Patience counted by hand, and a limit of time."""

from types import SimpleNamespace

import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.plan.train_settings import EarlyStopping, Patience
from bakeoff.learning.training import stopping
from bakeoff.learning.training.stopping import Clock, TimeLimit


class Watch:
    """A clock that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(stopping, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


@pytest.mark.parametrize(
    ("min_change", "values", "waited"),
    [
        (0.0, [0.1, 0.3, 0.2, 0.3, 0.4, 0.4], [0, 0, 1, 2, 0, 1]),
        # 0.3 is better than 0.25 by less than 0.1, and 0.36 is better than 0.25 by more, though not than 0.3.
        (0.1, [0.25, 0.3, 0.36, 0.2], [0, 1, 0, 1]),
        (0.0, [None, None, 0.0, None, -0.5], [1, 2, 0, 1, 2]),
    ],
)
def test_looks_without_an_improvement_are_counted(
    min_change: float, values: list[float | None], waited: list[int]
) -> None:
    early, patience, seen = EarlyStopping(2, min_change), Patience(), []
    for value in values:
        patience = early.after(patience, value)
        seen.append(patience.waited)
    assert seen == waited


def test_patience_ends_with_its_last_look() -> None:
    assert [EarlyStopping(2).is_over(Patience(0.5, waited)) for waited in range(4)] == [False, False, True, True]
    assert not EarlyStopping().is_over(Patience(0.5, 1000))


@pytest.mark.parametrize(("key", "value"), [("patience", -1), ("min_change", -0.1)])
def test_impatience_is_refused(key: str, value: float) -> None:
    with pytest.raises(OutOfRange, match=rf"^{key}:\D+0\D+{value}$"):
        EarlyStopping(**{key: value})  # type: ignore[arg-type]


def test_the_clock_runs_from_its_start_and_adds_earlier_lives(watch: Watch) -> None:
    clock = Clock(30.0)
    watch.now = 105.0
    assert clock.seconds == 30.0
    clock.start()
    watch.now = 107.5
    assert clock.seconds == 32.5


def test_without_a_limit_time_is_never_up_and_no_look_is_rehearsed(watch: Watch) -> None:
    def rehearse() -> float:
        raise AssertionError

    limit = TimeLimit(None, Clock(), rehearse)
    limit.begin()
    watch.now = 1e9
    assert not limit.is_up(1)


def test_a_step_is_taken_only_if_it_a_look_and_saving_fit_in(watch: Watch) -> None:
    limit = TimeLimit(1.0, Clock(), rehearse_validation=lambda: 4.0, saving=lambda: 3.0)
    limit.begin()
    limit.logged(10, seconds_per_step=2.0)
    # 60 less a step of 2, a look of 4 and 3 for saving.
    for seconds, is_up in ((50.9, False), (51.1, True)):
        watch.now = 100 + seconds
        assert limit.is_up(11) is is_up


def test_earlier_lives_count(watch: Watch) -> None:
    limit = TimeLimit(1.0, Clock(earlier=50.0))
    limit.begin()
    watch.now = 109.0
    assert not limit.is_up(1)
    watch.now = 111.0
    assert limit.is_up(1)


def test_steps_that_the_device_has_still_before_it_count(watch: Watch) -> None:
    limit = TimeLimit(1.0, Clock())
    limit.begin()
    watch.now = 110.0
    limit.logged(10, seconds_per_step=1.0)
    watch.now = 110.1  # Python has handed over 49 steps more, which take the device 49 s
    assert [limit.is_up(done) for done in (58, 60)] == [False, True]


def test_a_look_is_known_by_the_slowest_and_the_guess_is_forgotten() -> None:
    limit = TimeLimit(1.0, Clock(), rehearse_validation=lambda: 9.0)
    limit.begin()
    seen = [limit.validation]
    for seconds in (2.0, 5.0, 3.0):
        limit.validated(seconds)
        seen.append(limit.validation)
    assert seen == [9.0, 2.0, 5.0, 5.0]
