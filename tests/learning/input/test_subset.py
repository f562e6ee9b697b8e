"""Shares of the training set are nested, and a store that holds one reads no other example."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Record
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.subset import count_share, draw_share


def test_a_larger_share_of_a_seed_holds_the_smaller_one() -> None:
    small, large, other = draw_share(600, 0.12, 0), draw_share(600, 0.5, 0), draw_share(600, 0.12, 1)
    assert small is not None and large is not None and other is not None
    assert len(small) == 72 == count_share(600, 0.12) and len(large) == 300
    assert set(small) < set(large) and set(small) != set(other) and (np.diff(large) > 0).all()
    assert draw_share(600, 1.0, 0) is None and count_share(3, 0.01) == 1


def test_a_store_of_a_share_numbers_its_own_examples(write_train: Callable[..., Split], tmp_path: Path) -> None:
    records = [Record(f"{number}.png", (bytes([number]) * 40,), 8, 8, labels=("a",)) for number in range(6)]
    split = write_train(records, ["a"])
    whole, part = RecordReader(tmp_path, split), RecordReader(tmp_path, split, only=np.array([1, 4]))
    assert part.examples == 2 and part.names(np.array([1, 0])) == whole.names(np.array([4, 1]))
