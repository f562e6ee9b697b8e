"""What is left, by hand: 100 steps of a first phase, 50 of a second."""

import math

import pytest

from bakeoff.experiments.runs.status_writer import Stretch, TimeLeft
from bakeoff.learning.lr.schedule import ENDLESS


def test_the_first_line_of_a_phase_is_no_measure_for_it_holds_the_compilation() -> None:
    left = TimeLeft([Stretch(200)])
    assert left.after(1, 1000.0) is None  # 1,000 seconds of compilation, and no 200,000 are said
    assert left.after(11, 1020.0) == pytest.approx(189 * 2.0)
    assert left.after(200, 1400.0) == 0.0 == left.after(201, 1400.0)


def test_a_phase_to_come_counts_at_its_own_pace() -> None:
    left = TimeLeft([Stretch(100), Stretch(150, 6.0)])
    assert left.after(10, 10.0) is None
    assert left.after(20, 15.0) == pytest.approx(80 * 0.5 + 50 * 6.0)
    assert left.after(100, 55.0) == pytest.approx(50 * 6.0)
    assert left.after(110, 200.0) == pytest.approx(
        40 * 6.0
    )  # known before, so that its compilation is not taken for it
    assert left.after(120, 280.0) == pytest.approx(30 * 8.0)  # as it is now


def test_no_time_is_returned_before_every_pace_is_known() -> None:
    left = TimeLeft([Stretch(100), Stretch(150)])
    assert left.after(10, 10.0) is left.after(20, 15.0) is left.after(100, 55.0) is None
    assert left.after(110, 200.0) is None
    assert left.after(120, 280.0) == pytest.approx(30 * 8.0)


def test_a_pace_that_is_known_is_taken_from_the_first_line_on() -> None:
    assert TimeLeft([Stretch(100, 2.0), Stretch(150, 6.0)]).after(10, 900.0) == pytest.approx(90 * 2.0 + 50 * 6.0)


def test_the_last_steps_decide_the_pace() -> None:
    """A thousand steps of a second each, then sixty lines of ten steps that take two seconds each."""
    left = TimeLeft([Stretch(2000)])
    for line in range(101):
        assert left.after(10 * line, 10.0 * line) is None or line
    for line in range(1, 61):
        seconds = left.after(1000 + 10 * line, 1000.0 + 20.0 * line)
    assert seconds == pytest.approx(400 * 2.0)


def test_a_run_without_an_end_has_no_time_left_but_that_of_its_limit() -> None:
    assert TimeLeft([Stretch(ENDLESS, 2.0)]).after(10, 900.0) == math.inf
