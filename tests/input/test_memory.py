import re
from typing import Any

import pytest

from bakeoff.errors import OutOfRange
from bakeoff.input.memory import Memory


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
    assert Memory("1GB", device_budget=text).device_budget_bytes == size


@pytest.mark.parametrize("text", ["", "2", "GB", "2G", "-1GB", "2 TB", "1,5GB", "2GB or so", ".5GB", "1.GB", "Auto"])
def test_budget_that_is_no_size_is_refused(text: str) -> None:
    message = rf"budget: must be a size such as 2GB, 1500MB or 4GiB, or auto, got '{re.escape(text)}'$"
    with pytest.raises(OutOfRange, match=f"^{message}"):
        Memory(text)
    with pytest.raises(OutOfRange, match=f"^device_{message}"):
        Memory("1GB", device_budget=text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decode_threads": 0}, "decode_threads: must be between 1 and 256, got 0"),
        ({"decode_threads": 257}, "decode_threads: must be between 1 and 256, got 257"),
        ({"share": 1.1}, "share: must be between 0.05 and 1, got 1.1"),
        ({"shuffle_buffer_size": 5}, "shuffle_buffer_size: must be null while memory.shuffle is global, got 5"),
        ({"num_preprocess_threads": 4}, "num_preprocess_threads: must be null while memory.shuffle is global, got 4"),
        ({"shuffle": "buffer", "queue_capacity": 0}, "queue_capacity: must be 1 or more, or null, got 0"),
        (
            {"shuffle": "buffer", "input_queue_memory_factor": 16, "min_after_dequeue": 9},
            "min_after_dequeue: must be null beside input_queue_memory_factor, which says it, got 9",
        ),
        (
            {"shuffle": "buffer", "min_after_dequeue": 1000, "queue_capacity": 999},
            "queue_capacity: must be at least min_after_dequeue=1000, got 999",
        ),
        (
            {"shuffle": "buffer", "num_preprocess_threads": 4, "decode_threads": 4},
            "num_preprocess_threads: must be null beside decode_threads, got 4",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=f"^{re.escape(message)}$"):
        Memory("2GB", **settings)


@pytest.mark.parametrize(
    ("settings", "queue"),
    [
        ({}, 0),
        ({"queue_capacity": 2000, "min_after_dequeue": 1000}, 2000),
        ({"min_after_dequeue": 1000}, 1000 + 3 * 32),
        ({"input_queue_memory_factor": 16}, 16 * 1024 + 3 * 32),  # Inception's default, at batches of 32
        ({"shuffle_buffer_size": 256}, 0),
    ],
)
def test_queue_holds_what_the_seed_systems_say(settings: dict[str, Any], queue: int) -> None:
    assert Memory("2GB", shuffle="buffer", **settings).queue(batch_size=32) == queue
