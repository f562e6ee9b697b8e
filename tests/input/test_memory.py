from typing import Any

import pytest

from bakeoff.errors import OutOfRange
from bakeoff.input.memory import Memory
from bakeoff.records.manifest import Split

SPLIT = Split(examples=10, decoded_bytes=10 * 50_000_000, frames=1, counts={}, shards=())  # 50 MB an example


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2_000_000_000),
        ("1500MB", 1_500_000_000),
        ("4GiB", 4 * 1024**3),
        ("1.5 GB", 1_500_000_000),
        (" 0.5gib ", 2**29),
        ("300 kb", 300_000),
        ("2KiB", 2048),
        ("3MiB", 3 * 1024**2),
    ],
)
def test_budget_is_read_in_decimal_and_binary_units(text: str, size: int) -> None:
    assert Memory(text).budget_bytes == size


@pytest.mark.parametrize("text", ["", "2", "GB", "2G", "-1GB", "2 TB", "1,5GB", "2GB or so", ".5GB", "1.GB"])
def test_budget_that_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(OutOfRange, match=rf"^budget: must be a size such as 2GB, 1500MB or 4GiB, got '{text}'$"):
        Memory(text)


@pytest.mark.parametrize("threads", [0, 257])
def test_senseless_number_of_threads_is_refused(threads: int) -> None:
    with pytest.raises(OutOfRange, match=rf"^decode_threads: must be between 1 and 256, got {threads}$"):
        Memory("2GB", decode_threads=threads)


# A batch of 10 examples of 1,000,000 pixels takes 10 * 1e6 * 3 * 4 = 120 MB; two threads that decode 50 MB each,
# as bytes and as floats, take 2 * 50 * 5 = 500 MB; the program itself is taken to be 900 MB.
BATCHES: dict[str, Any] = {"batch_size": 10, "pixels": 1_000_000, "split": SPLIT}


@pytest.mark.parametrize(
    ("budget", "waiting"),
    [
        ("1640MB", 1),  # 900 + 500 + 2 * 120: the least there is
        ("3919MB", 1),  # a tenth of the 2399 MB that are left is not quite two batches
        ("3920MB", 2),
        ("5120MB", 3),
        ("20720MB", 16),
        ("99GB", 16),  # no more wait, however much there is
    ],
)
def test_a_tenth_of_what_is_left_holds_waiting_batches(budget: str, waiting: int) -> None:
    buffers = Memory(budget).buffers(**BATCHES)
    assert (buffers.prefetch_batches, buffers.decode_threads) == (waiting, 2)
    assert buffers.input_bytes == 500_000_000 + (1 + waiting) * 120_000_000


def test_more_threads_hold_more_images_at_once() -> None:
    assert Memory("9GB", decode_threads=4).buffers(**BATCHES).input_bytes >= 1_000_000_000


def test_budget_that_is_too_small_is_refused_with_the_least_that_would_do() -> None:
    message = r"^budget: must be at least 1640MB for train\.batch_size=10 \(or a smaller batch\), got '1639MB'$"
    with pytest.raises(OutOfRange, match=message):
        Memory("1639MB").buffers(**BATCHES)


@pytest.mark.parametrize("budget", ["2GB", "4GB", "10GB"])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_the_rule_is_kept(budget: str, batch_size: int) -> None:
    buffers = Memory(budget).buffers(batch_size=batch_size, pixels=1_000_000, split=SPLIT)
    assert 900_000_000 + buffers.input_bytes <= Memory(budget).budget_bytes
    assert 1 <= buffers.prefetch_batches <= 16
