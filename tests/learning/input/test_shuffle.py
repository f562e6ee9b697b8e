"""Which example comes when; and a buffer of encoded examples: what it holds, in which order it reads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Record
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder, SequentialReader


def examples(order: ExampleOrder, start: int, stop: int) -> list[int]:
    return order.at(np.arange(start, stop))[1].tolist()


def epoch(order: ExampleOrder, number: int) -> list[int]:
    return examples(order, number * order.examples, (number + 1) * order.examples)


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_every_example_comes_exactly_once_an_epoch(count: int) -> None:
    order = ExampleOrder(count, seed=5)
    for number in range(4):
        assert sorted(epoch(order, number)) == list(range(count))


def test_positions_are_counted_in_epochs() -> None:
    epochs, _ = ExampleOrder(3, seed=0).at(np.arange(8))
    assert epochs.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_batch_that_crosses_an_epoch_takes_the_end_of_one_and_the_start_of_the_next() -> None:
    order = ExampleOrder(10, seed=3)
    assert examples(order, 8, 12) == epoch(order, 0)[-2:] + epoch(order, 1)[:2]


def test_batch_longer_than_the_data_takes_them_more_than_once() -> None:
    order = ExampleOrder(3, seed=3)
    assert examples(order, 1, 11) == (epoch(order, 0) + epoch(order, 1) + epoch(order, 2) + epoch(order, 3))[1:11]


def test_any_step_can_be_named_without_the_ones_before() -> None:
    batch_size, steps = 4, 30
    from_the_start = [examples(ExampleOrder(11, seed=9), 4 * step, 4 * step + 4) for step in range(steps)]
    for step in (29, 0, 17, 5, 16):
        assert examples(ExampleOrder(11, seed=9), batch_size * step, batch_size * (step + 1)) == from_the_start[step]


def test_positions_may_come_in_any_order_and_shape() -> None:
    order = ExampleOrder(6, seed=2)
    positions = np.array([[13, 2, 7], [25, 0, 13]])
    epochs, given = order.at(positions)
    assert epochs.tolist() == [[2, 0, 1], [4, 0, 2]]
    assert given.tolist() == [[examples(order, place, place + 1)[0] for place in row] for row in positions]


def test_every_epoch_of_every_seed_has_an_order_of_its_own() -> None:
    orders = {tuple(epoch(ExampleOrder(20, seed), number)) for seed in range(12) for number in range(12)}
    assert len(orders) == 12 * 12


def test_same_seed_gives_the_same_order() -> None:
    assert epoch(ExampleOrder(20, seed=7), 3) == epoch(ExampleOrder(20, seed=7), 3)


def test_the_shuffle_is_global() -> None:
    """An example's place in an epoch says nothing about its number: all 25 pairs occur about equally often."""
    counts = np.zeros((5, 5), int)
    for number in range(1000):
        counts[np.arange(5), epoch(ExampleOrder(5, seed=0), number)] += 1
    assert counts.min() > 150 and counts.max() < 250  # 200 expected, standard deviation 12.6


# Through a buffer.


def test_buffer_gives_every_example_once_an_epoch() -> None:
    for windows in ((1,), (4,), (20,), (99,), (3, 5)):
        order = ExampleOrder(20, seed=5, windows=windows)
        for number in range(3):
            assert sorted(epoch(order, number)) == list(range(20))


def test_buffer_of_one_keeps_the_order_of_the_shards() -> None:
    assert epoch(ExampleOrder(7, seed=1, windows=(1,)), 0) == list(range(7))


def test_example_comes_no_earlier_than_it_is_in_the_buffer() -> None:
    """Whatever comes at place p has been among the first p + 4, or, behind a second one of 3, the first p + 6."""
    for windows, ahead in (((4,), 4), ((4, 3), 6)):
        reached = 0
        for number in range(50):
            order = ExampleOrder(30, seed=0, windows=windows)
            for place, example in enumerate(epoch(order, number)):
                assert example < order.furthest(place) == min(30, place + ahead)
                reached += example == place + ahead - 1
        assert reached > 0


def test_each_of_the_buffer_is_as_likely_to_be_next() -> None:
    first = [epoch(ExampleOrder(30, seed=0, windows=(5,)), number)[0] for number in range(1000)]
    counts = np.bincount(first, minlength=5)
    assert len(counts) == 5 and counts.min() > 150 and counts.max() < 250  # 200 expected, standard deviation 12.6


def test_buffer_can_be_entered_at_any_step() -> None:
    order = ExampleOrder(11, seed=9, windows=(4,))
    whole = examples(order, 0, 44)
    for step in (10, 3, 7):
        assert (
            examples(ExampleOrder(11, seed=9, windows=(4,)), 4 * step, 4 * step + 4) == whole[4 * step : 4 * step + 4]
        )


def test_buffer_of_all_examples_is_a_global_shuffle() -> None:
    counts = np.zeros((5, 5), int)
    for number in range(1000):
        counts[np.arange(5), epoch(ExampleOrder(5, seed=0, windows=(5,)), number)] += 1
    assert counts.min() > 150 and counts.max() < 250


EXAMPLES = 23


@pytest.fixture
def store(
    write_train: Callable[..., Split], open_store: Callable[[Path, Split], RecordReader], tmp_path: Path
) -> RecordReader:
    records = [Record(f"r{n}", (bytes([n]) * 9,), 8, 8, labels=("a",)) for n in range(EXAMPLES)]
    return open_store(tmp_path, write_train(records, ["a"]))


@pytest.fixture
def asked(store: RecordReader, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the examples that were read, as they were."""
    numbers: list[int] = []
    read = store.read

    def noted(examples: np.ndarray) -> list[bytes | None]:
        numbers.extend(examples.tolist())
        return read(examples)

    monkeypatch.setattr(store, "read", noted)
    return numbers


@pytest.mark.parametrize("windows", [(1,), (6,), (5, 4), (EXAMPLES,)])
def test_examples_come_in_the_order_of_the_buffer(windows: tuple[int, ...], store: RecordReader) -> None:
    order = ExampleOrder(EXAMPLES, 3, windows)
    positions = np.arange(3 * EXAMPLES)
    _, expected = order.at(positions)
    reader = SequentialReader(store, order)
    given = [data for start in range(0, len(positions), 4) for data in reader.read(positions[start : start + 4])]
    assert given == store.read(expected)


def test_each_epoch_is_read_from_its_first_record_to_its_last(store: RecordReader, asked: list[int]) -> None:
    SequentialReader(store, ExampleOrder(EXAMPLES, 3, (6, 2))).read(np.arange(2 * EXAMPLES))
    assert asked == [*range(EXAMPLES), *range(EXAMPLES)]


def test_no_more_is_held_than_the_buffer_and_what_is_wanted(store: RecordReader) -> None:
    reader = SequentialReader(store, ExampleOrder(EXAMPLES, 3, (6,)))
    held = []
    for position in range(EXAMPLES):
        reader.read(np.array([position]))
        held.append(reader.held)
    assert held == [5] * (EXAMPLES - 5) + [4, 3, 2, 1, 0]


@pytest.mark.parametrize("start", [1, 9, EXAMPLES - 1, EXAMPLES, EXAMPLES + 13])
def test_resume_reads_only_what_the_buffer_held_there(start: int, store: RecordReader, asked: list[int]) -> None:
    order = ExampleOrder(EXAMPLES, 3, (6,))
    whole = SequentialReader(store, order).read(np.arange(2 * EXAMPLES))
    asked.clear()
    assert SequentialReader(store, order).read(np.arange(start, 2 * EXAMPLES)) == whole[start:]
    epoch, place = divmod(start, EXAMPLES)
    still_to_come = order.epoch(epoch)[place:].tolist()
    assert asked == sorted(still_to_come) + list(range(EXAMPLES)) * (1 - epoch)
