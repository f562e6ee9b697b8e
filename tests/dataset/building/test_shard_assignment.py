"""Which shard an example is in."""

from collections import Counter

import numpy as np
import pytest

from bakeoff.dataset.building.shard_assignment import count_shards, find_shard
from bakeoff.dataset.sources.dataset import hash_place

PLACES = [hash_place(0, f"image/{number}.jpg") for number in range(20_000)]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 100])
def test_every_shard_gets_examples_and_none_gets_more_than_twice_its_share(count: int) -> None:
    sizes = Counter(find_shard(place, count) for place in PLACES)
    assert sorted(sizes) == list(range(count))
    assert max(sizes.values()) <= 2 * len(PLACES) / count * 1.2


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 15, 16, 31])
def test_one_shard_more_takes_from_one_and_leaves_the_others_as_they_are(count: int) -> None:
    pairs = {(find_shard(place, count), find_shard(place, count + 1)) for place in PLACES}
    moved = {(old, new) for old, new in pairs if old != new}
    assert len(moved) == 1
    assert {new for _, new in moved} == {count}


def rows(examples: int, size: int) -> list[tuple[int, int, int]]:
    draw = np.random.default_rng(0).integers(0, 1 << 16, examples)
    return [(int(place), 1, size) for place in draw]


@pytest.mark.parametrize(
    ("examples", "size", "expected"), [(1, 10, 1), (1024, 10_000, 1), (1025, 10_000, 2), (10_000, 10_000, 10)]
)
def test_a_shard_has_about_1024_examples(examples: int, size: int, expected: int) -> None:
    assert count_shards(rows(examples, size)) == expected


def test_no_shard_is_above_200_megabytes() -> None:
    spread = rows(3000, 1_000_000)
    count = count_shards(spread)
    sizes = Counter(find_shard(place, count) for place, _, _ in spread)
    assert max(sizes.values()) <= 200
    assert count < 60
