"""The choice of a batch size by stand-ins for memory, and the process that tries sizes by one that answers or dies."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bakeoff.config.compose import auto_batch
from bakeoff.config.compose.auto_batch import (
    BatchSizeChoice,
    BatchSizeTrial,
    ChildTries,
    evidence_name,
    ladder,
    search,
)
from bakeoff.config.compose.memory_plan import Load, estimate
from bakeoff.config.compose.whole_run import load
from support.imports import ROOT
from support.messages import missing_in


class Memory:
    """A training that takes so much, and so much more for each example; one that fails from some size on."""

    def __init__(self, fixed: int, each: int, *, fails_from: int = 10**9) -> None:
        self._fixed, self._each, self._fails_from = fixed, each, fails_from
        self.asked: list[int] = []

    def peak(self, batch_size: int) -> int | None:
        self.asked.append(batch_size)
        return self._fixed + self._each * batch_size if batch_size < self._fails_from else None


def expected(fixed: int, each: int) -> Callable[[int], int]:
    return lambda size: fixed + each * size


@pytest.mark.parametrize(
    ("most", "multiple_of", "rungs"),
    [
        (1, 1, [1]),
        (10, 1, [1, 2, 3, 4, 6, 8, 10]),
        (64, 2, [2, 4, 6, 8, 12, 16, 24, 32, 48, 64]),
        (13, 4, [4, 8, 12]),
        (3, 4, []),
    ],
)
def test_sizes_that_are_tried_end_with_all_that_there_is(most: int, multiple_of: int, rungs: list[int]) -> None:
    assert ladder(most, multiple_of) == rungs


def test_no_size_over_a_thousand_is_tried() -> None:
    assert ladder(100_000)[-3:] == [512, 768, 1024]


@pytest.mark.parametrize("guess", [1, 10, 40, 1000])
@pytest.mark.parametrize(
    ("budget", "largest"), [(1100, 1), (1299, 2), (1300, 3), (5000, 32), (20_000, 128), (10**6, 200)]
)
def test_largest_that_fits_is_found_whatever_was_expected(budget: int, largest: int, guess: int) -> None:
    """1,000 and 100 for each example, of 200; the next rung is always over the budget."""
    memory = Memory(1000, 100)
    choice = search(ladder(200), budget, memory, expected(900, guess))
    assert choice is not None and choice.batch_size == largest
    assert len(memory.asked) <= 8 and len(set(memory.asked)) == len(memory.asked)


def test_honest_expectation_needs_few_tries_that_only_climb() -> None:
    memory = Memory(1000, 100)
    choice = search(ladder(5000), 20_000, memory, expected(1000, 100))
    assert memory.asked == sorted(memory.asked) and len(memory.asked) <= 3
    assert choice is not None and choice.trials[-1] == BatchSizeTrial(128, 13_800)


def test_size_that_dies_is_not_taken_though_it_should_fit() -> None:
    memory = Memory(1000, 100, fails_from=48)
    choice = search(ladder(200), 20_000, memory, expected(1000, 100))
    assert choice is not None and choice.batch_size == 32


def test_nothing_fits_into_too_small_a_budget() -> None:
    assert search(ladder(200), 1099, Memory(1000, 100), expected(1000, 100)) is None


def test_choice_says_what_it_rests_on() -> None:
    choice = BatchSizeChoice(
        8, (BatchSizeTrial(4, 1_400_000_000), BatchSizeTrial(8, 1_800_000_000), BatchSizeTrial(12, None))
    )
    tried = ("auto", "8", "1.80", "2.00 GB")
    assert missing_in(choice.in_words(2 * 10**9, 600), *tried, "12 did not fit") == []
    assert missing_in(whole := choice.in_words(2 * 10**9, 8), *tried, "all there is") == [] and "12" not in whole


def test_estimate_takes_over_what_was_measured() -> None:
    load = Load(pixels=1000, parameters=1000, variables=10, activation_bytes=77)
    measured = BatchSizeChoice(8, (BatchSizeTrial(8, 3 * 10**9),)).measured(load)
    assert estimate(measured, 8) == pytest.approx(3 * 10**9, abs=8)


def test_evidence_is_named_by_what_decides() -> None:
    assert evidence_name("a", 1) == evidence_name("a", 1)
    assert len({evidence_name(*parts) for parts in (("a", 1), ("a", 2), ("b", 1), ("a",))}) == 4


STAND_IN = """
import json, os, sys
open("starts", "a").write("x")
assert open(sys.argv[1]).read().startswith("# Written by render_config") and sys.argv[2] == "records"
for line in sys.stdin:
    size = int(line)
    if size == 100:
        os.abort()
    if size == 200:
        held = bytearray(300 * 10**6)
        sys.stdin.readline()
    print(json.dumps({"batch_size": size, "peak_bytes": None if size == 300 else 1000 + size}), flush=True)
"""


@pytest.fixture
def tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChildTries]:
    run = load(ROOT / "models/config/run.yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    monkeypatch.setattr(auto_batch, "TRIAL", "stand_in")
    with ChildTries(run, Path("records"), budget=150 * 10**6) as tries:
        yield tries


def test_one_process_answers_as_long_as_sizes_climb(tries: ChildTries) -> None:
    assert [tries.peak(size) for size in (1, 4, 8)] == [1001, 1004, 1008]
    assert Path("starts").read_text() == "x"


def test_smaller_size_is_tried_by_a_new_process(tries: ChildTries) -> None:
    assert [tries.peak(size) for size in (8, 4)] == [1008, 1004]
    assert Path("starts").read_text() == "xx"


@pytest.mark.parametrize("size", [100, 200, 300], ids=["it dies", "it takes too much", "its device is too small"])
def test_size_does_not_fit_if(size: int, tries: ChildTries) -> None:
    assert tries.peak(size) is None
    assert tries.peak(3) == 1003
