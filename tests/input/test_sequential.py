"""A buffer of encoded examples: what it holds, and in which order it reads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff.input.order import Order
from bakeoff.input.sequential import SequentialReader
from bakeoff.input.store import Store
from bakeoff.records.manifest import Split
from bakeoff.records.record import Record

EXAMPLES = 23


@pytest.fixture
def store(write_train: Callable[..., Split], open_store: Callable[[Path, Split], Store], tmp_path: Path) -> Store:
    records = [Record(f"r{n}", (bytes([n]) * 9,), 8, 8, labels=("a",)) for n in range(EXAMPLES)]
    return open_store(tmp_path, write_train(records, ["a"]))


@pytest.fixture
def asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the examples that were read, as they were."""
    numbers: list[int] = []
    read = store.read

    def noted(examples: np.ndarray) -> list[bytes | None]:
        numbers.extend(examples.tolist())
        return read(examples)

    monkeypatch.setattr(store, "read", noted)
    return numbers


@pytest.mark.parametrize("windows", [(1,), (6,), (5, 4), (EXAMPLES,)])
def test_examples_come_in_the_order_of_the_buffer(windows: tuple[int, ...], store: Store) -> None:
    order = Order(EXAMPLES, 3, windows)
    positions = np.arange(3 * EXAMPLES)
    _, expected = order.at(positions)
    reader = SequentialReader(store, order)
    given = [data for start in range(0, len(positions), 4) for data in reader.read(positions[start : start + 4])]
    assert given == store.read(expected)


def test_each_epoch_is_read_from_its_first_record_to_its_last(store: Store, asked: list[int]) -> None:
    SequentialReader(store, Order(EXAMPLES, 3, (6, 2))).read(np.arange(2 * EXAMPLES))
    assert asked == [*range(EXAMPLES), *range(EXAMPLES)]


def test_no_more_is_held_than_the_buffer_and_what_is_wanted(store: Store) -> None:
    reader = SequentialReader(store, Order(EXAMPLES, 3, (6,)))
    held = []
    for position in range(EXAMPLES):
        reader.read(np.array([position]))
        held.append(reader.held)
    assert held == [5] * (EXAMPLES - 5) + [4, 3, 2, 1, 0]


@pytest.mark.parametrize("start", [1, 9, EXAMPLES - 1, EXAMPLES, EXAMPLES + 13])
def test_resume_reads_only_what_the_buffer_held_there(start: int, store: Store, asked: list[int]) -> None:
    order = Order(EXAMPLES, 3, (6,))
    whole = SequentialReader(store, order).read(np.arange(2 * EXAMPLES))
    asked.clear()
    assert SequentialReader(store, order).read(np.arange(start, 2 * EXAMPLES)) == whole[start:]
    epoch, place = divmod(start, EXAMPLES)
    still_to_come = order.epoch(epoch)[place:].tolist()
    assert asked == sorted(still_to_come) + list(range(EXAMPLES)) * (1 - epoch)
