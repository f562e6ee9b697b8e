import pytest

from bakeoff.errors import OutOfRange
from bakeoff.input.memory import RUNTIME_BYTES, Load, Memory
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
# as bytes and as floats, take 2 * 50 * 5 = 500 MB. The network comes on top: below it takes nothing.
LOAD = Load(batch_size=10, pixels=1_000_000, parameters=0, activation_bytes=0)


def beside_the_program(megabytes: int) -> str:
    """A budget that leaves so much to the data."""
    return f"{RUNTIME_BYTES // 10**6 + megabytes}MB"


def test_program_without_data_is_taken_to_need_about_a_gigabyte() -> None:
    assert 0.8e9 < RUNTIME_BYTES < 1.3e9 and RUNTIME_BYTES % 10**6 == 0


@pytest.mark.parametrize(
    ("left", "waiting"),
    [
        (500 + 2 * 120, 1),  # the least there is: a batch in use and one that waits
        (500 + 120 + 2399, 1),  # a tenth of the 2399 MB is not quite two batches
        (500 + 120 + 2400, 2),
        (500 + 120 + 3600, 3),
        (500 + 120 + 19200, 16),
        (90_000, 16),  # no more wait, however much there is
    ],
)
def test_a_tenth_of_what_is_left_holds_waiting_batches(left: int, waiting: int) -> None:
    buffers = Memory(beside_the_program(left)).buffers(LOAD, SPLIT)
    assert (buffers.prefetch_batches, buffers.decode_threads) == (waiting, 2)
    assert buffers.bytes == RUNTIME_BYTES + 500_000_000 + (1 + waiting) * 120_000_000


def test_more_threads_hold_more_images_at_once() -> None:
    buffers = Memory(beside_the_program(1240), decode_threads=4).buffers(LOAD, SPLIT)
    assert buffers.bytes == RUNTIME_BYTES + 2 * 500_000_000 + 2 * 120_000_000


def test_the_network_takes_its_weights_four_times_and_its_maps_for_every_example() -> None:
    """Weights, gradients and two numbers of the optimizer: 4 * 4 * 5 M = 80 MB; maps of 30 MB for 10 examples."""
    network = Load(batch_size=10, pixels=1_000_000, parameters=5_000_000, activation_bytes=30_000_000)
    lean, full = (Memory("90GB").buffers(load, SPLIT) for load in (LOAD, network))
    assert full.bytes - lean.bytes == 80_000_000 + 300_000_000


def test_budget_that_is_too_small_is_refused_with_the_least_that_would_do() -> None:
    least, less = beside_the_program(740), beside_the_program(739)
    message = rf"^budget: must be at least {least} for train\.batch_size=10 \(or a smaller batch\), got '{less}'$"
    with pytest.raises(OutOfRange, match=message):
        Memory(less).buffers(LOAD, SPLIT)
    assert Memory(least).buffers(LOAD, SPLIT).prefetch_batches == 1


@pytest.mark.parametrize("budget", ["2GB", "4GB", "10GB"])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_the_rule_is_kept(budget: str, batch_size: int) -> None:
    load = Load(batch_size, pixels=1_000_000, parameters=1_000_000, activation_bytes=10_000_000)
    buffers = Memory(budget).buffers(load, SPLIT)
    assert RUNTIME_BYTES < buffers.bytes <= Memory(budget).budget_bytes
    assert 1 <= buffers.prefetch_batches <= 16
