"""models/config/lr.svg: the rate over this run's steps, with its turns and phases marked."""

import xml.etree.ElementTree as ElementTree

import pytest

from bakeoff.config.lr_picture import lr_svg
from bakeoff.curve import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from bakeoff.lr import Constant, Cosine, Schedule
from bakeoff.training.variant import Span, TrainingPhase

SVG = "{http://www.w3.org/2000/svg}"


def leg(schedule: Schedule, steps: int, first: int = 0, name: str = "all", factor: float = 1.0) -> TrainingPhase:
    return TrainingPhase(Span(name, first, steps, 0, 8, factor), schedule.over(steps, steps_per_epoch=10), (), "last")


def drawn(*legs: TrainingPhase) -> tuple[list[str], list[tuple[float, float]]]:
    """Its words, and the corners of its line."""
    picture = ElementTree.fromstring(lr_svg("a · b · c", legs))
    [line] = picture.findall(f"{SVG}polyline")
    points = [pair.split(",") for pair in line.attrib["points"].split()]
    words = [element.text or "" for element in picture.findall(f"{SVG}text")]
    return words, [(float(x), float(y)) for x, y in points]


def test_the_rate_is_drawn_from_the_first_step_to_the_last_with_its_turns() -> None:
    words, corners = drawn(leg(Cosine(0.1, warmup_steps=20, hold_steps=10), 100))
    assert words[0] == "Learning rate: a · b · c (at most 0.1)"
    assert {"hold", "cosine"} <= set(words) and "all" not in words
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    assert corners[0] == pytest.approx((LEFT, TOP + height * (1 - 1 / 21)), abs=0.06)
    assert min(y for _, y in corners) == TOP
    assert corners[-1][0] == pytest.approx(LEFT + width * 0.99, abs=0.06)


def test_the_rate_is_drawn_as_it_is_scaled_with_the_batch() -> None:
    words, _ = drawn(leg(Constant(0.1), 100, factor=0.125))
    assert words[0].endswith("(at most 0.0125)")


def test_phases_are_marked_by_name_and_rates_far_apart_are_drawn_in_decades() -> None:
    near, far = leg(Constant(0.01), 50, 50, "slower"), leg(Constant(0.0001), 50, 50, "slower")
    words, even = drawn(leg(Constant(0.1), 50, name="head"), near)
    assert {"head", "slower"} <= set(words) and "0.02" in words
    words, decades = drawn(leg(Constant(0.1), 50, name="head"), far)
    assert {"0.1", "0.01", "0.001", "0.0001"} <= set(words)
    assert even[-1][1] < HEIGHT - BOTTOM == decades[-1][1]


def test_equal_runs_have_equal_bytes() -> None:
    assert lr_svg("x", [leg(Cosine(0.1), 1000)]) == lr_svg("x", [leg(Cosine(0.1), 1000)])
