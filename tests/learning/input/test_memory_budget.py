"""What a run may use, and the buffers that follow from it."""

import re
from dataclasses import replace
from typing import Any

import pytest

from bakeoff.config.compose.memory_plan import (
    GRAPH_BYTES,
    HELD_EXAMPLE_BYTES,
    PROGRAM_BYTES,
    Buffers,
    Limits,
    Load,
    buffers,
    of_largest_phase,
)
from bakeoff.dataset.records.manifest import Shard, Split
from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.input.memory_budget import Memory


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
    message = rf"budget: .*2GB.*1500MB.*4GiB.*auto.*'{re.escape(text)}'$"
    with pytest.raises(OutOfRange, match=f"^{message}"):
        Memory(text)
    with pytest.raises(OutOfRange, match=f"^device_{message}"):
        Memory("1GB", device_budget=text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decode_threads": 0}, r"decode_threads:\D+1\D+256\D+0"),
        ({"decode_threads": 257}, r"decode_threads:\D+1\D+256\D+257"),
        ({"share": 1.1}, r"share:\D+0\.05\D+1\D+1\.1"),
        ({"shuffle_buffer_size": 5}, r"shuffle_buffer_size:\D+null\D+memory\.shuffle\D+global\D+5\D+buffer\D+frc\D+"),
        ({"num_preprocess_threads": 4}, r"num_preprocess_threads:\D+null\D+global\D+4\D+memory\.shuffle: buffer\D+"),
        ({"shuffle": "buffer", "queue_capacity": 0}, r"queue_capacity:\D+1\D+null\D+0"),
        (
            {"shuffle": "buffer", "input_queue_memory_factor": 16, "min_after_dequeue": 9},
            r"min_after_dequeue:\D+null\D+input_queue_memory_factor\D+9",
        ),
        (
            {"shuffle": "buffer", "min_after_dequeue": 1000, "queue_capacity": 999},
            r"queue_capacity:\D+min_after_dequeue=1000\D+999",
        ),
        (
            {"shuffle": "buffer", "num_preprocess_threads": 4, "decode_threads": 4},
            r"num_preprocess_threads:\D+null\D+decode_threads\D+4",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=f"^{message}$"):
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


MB = 10**6
# 50 MB of pixels an example; 0.1 MB of encoded bytes, with what it takes to hold them.
SPLIT = Split(
    10, 10 * 50 * MB, 1, {}, (Shard("a", 6, 600_000, ""), Shard("b", 4, 400_000 - 10 * HELD_EXAMPLE_BYTES, ""))
)
LOAD = Load(pixels=1_000_000, parameters=0, variables=0, activation_bytes=0)
PROGRAM = PROGRAM_BYTES // MB
# A batch of 10 examples of 1,000,000 pixels takes 10 * 1e6 * 3 * 4 = 120 MB, for training and for validation. Two
# threads that decode 50 MB each, as bytes and as floats, take 2 * 50 * 5 = 500 MB.


def held(megabytes: int, load: Load = LOAD, batch_size: int = 10, device: int = 0, **memory: Any) -> Buffers:
    """With so much beside what the program takes."""
    settings = Memory("1KB", **{"decode_threads": 2} | memory)
    return buffers(settings, load, SPLIT, batch_size, Limits((PROGRAM + megabytes) * MB, device * MB))


@pytest.mark.parametrize(
    ("left", "waiting"),
    [
        (500 + 3 * 240, 1),  # the least there is: a batch in use, one in the making, one that waits; and twice that
        (500 + 3 * 240 + 2399, 1),  # a tenth of the 2399 MB is not quite two batches
        (500 + 3 * 240 + 2400, 2),
        (500 + 3 * 240 + 4800, 3),
        (90_000, 16),  # no more wait, however much there is
    ],
)
def test_a_tenth_of_what_is_left_holds_waiting_batches(left: int, waiting: int) -> None:
    plan = held(left)
    assert (plan.prefetch_batches, plan.decode_threads) == (waiting, 2)
    assert (plan.parts.batches, plan.parts.decoding) == ((2 + waiting) * 240 * MB, 500 * MB)
    assert plan.bytes == (PROGRAM + 500 + (2 + waiting) * 240) * MB


@pytest.mark.parametrize(("examples", "megabytes"), [(1, 30 * 12 + 12), (25, 30 * 12 + 300), (31, 2 * 30 * 12)])
def test_no_more_validation_examples_wait_than_there_are(examples: int, megabytes: int) -> None:
    """Three batches of ten for training, whose queue begins anew; an example takes 12 MB."""
    plan = held(500 + 3 * 240, replace(LOAD, validation_examples=examples))
    assert (plan.prefetch_batches, plan.parts.batches) == (1, megabytes * MB)


def test_the_phase_that_holds_most_is_the_estimate() -> None:
    """Large batches of which only the logits learn, then small ones of which everything does."""
    load, limits = replace(LOAD, activation_bytes=300 * MB), Limits(9000 * MB)
    plan = held(8000, load)
    assert of_largest_phase(plan, load, [(10, 1.0)], limits) == plan
    several = of_largest_phase(plan, load, [(10, 0.1), (5, 1.0)], limits)  # `plan` has the outputs of a batch of 5
    assert several.prefetch_batches == plan.prefetch_batches
    assert several.parts.activations == plan.parts.activations
    assert several.parts.batches == plan.parts.batches // 2
    assert several.bytes == several.parts.total() < plan.bytes


def test_estimate_is_the_sum_of_its_parts() -> None:
    """Adam keeps two numbers of each weight, a checkpoint copies all three; with gradients and the best, 8 times."""
    load = replace(LOAD, parameters=5_000_000, variables=100, activation_bytes=30 * MB)
    plan = held(3000, load)
    assert plan.parts.program == PROGRAM * MB + 100 * GRAPH_BYTES + 3 * 4 * 5_000_000
    assert plan.parts.weights == 8 * 4 * 5_000_000
    assert plan.parts.activations == 0.8 * 10 * 30 * MB
    parts = (plan.parts.program, plan.parts.weights, plan.parts.activations, plan.parts.batches, 500 * MB)
    assert plan.bytes == sum(parts)


@pytest.mark.parametrize(
    ("changes", "copies"),
    [
        ({"slots": 0}, 4),  # weights, gradients, best, and the checkpoint's copy
        ({"slots": 1}, 6),
        ({"slots": 2, "averaged": True}, 10),  # the average, and its copy
        ({"slots": 2, "accumulates": True}, 9),  # gradients added up, and those of the batch at hand
    ],
)
def test_weights_count_as_often_as_training_holds_them(changes: dict[str, Any], copies: int) -> None:
    assert replace(LOAD, parameters=1000, **changes).weights() == copies * 4000


def test_more_threads_hold_more_images_at_once() -> None:
    assert held(5000, decode_threads=4).parts.decoding == 1000 * MB


@pytest.mark.parametrize(("gigabytes", "threads"), [(2, 2), (4, 2), (10, 5), (32, 8), (100, 8)])
def test_threads_that_nobody_states_grow_with_the_budget(gigabytes: int, threads: int) -> None:
    split = replace(SPLIT, decoded_bytes=1000)
    assert buffers(Memory("1KB"), LOAD, split, 1, Limits(gigabytes * 10**9)).decode_threads == threads


def test_where_the_machine_was_looked_at_threads_are_its_cores() -> None:
    split = replace(SPLIT, decoded_bytes=1000)
    threads = [
        buffers(Memory("auto"), LOAD, split, 1, Limits(9 * 10**9, cores=cores)).decode_threads for cores in (1, 3, 99)
    ]
    assert threads == [1, 3, 8]


def test_budget_that_is_too_small_is_refused_with_the_least_that_would_do() -> None:
    least = PROGRAM + 500 + 3 * 240
    message = rf"^budget:\D+{least}MB\D+train\.batch_size=10\D+smaller\D+'1KB'$"
    with pytest.raises(OutOfRange, match=message):
        held(500 + 3 * 240 - 1)
    assert held(500 + 3 * 240).prefetch_batches == 1


def test_no_smaller_batch_is_advised_where_there_is_none() -> None:
    with pytest.raises(OutOfRange, match=r"MB .*train\.batch_size=1\D+'auto, 990MB'$") as refused:
        buffers(Memory("auto"), LOAD, SPLIT, 1, Limits(990 * MB))
    assert "smaller" not in str(refused.value)


def test_what_the_accelerator_holds_is_not_in_the_process() -> None:
    """8 times 20 MB of weights and 10 times 30 MB of outputs are on the device: 460 MB. 3 times 20 MB are not."""
    load = replace(LOAD, parameters=5_000_000, activation_bytes=30 * MB)
    plan = held(1300, load, device=460)
    assert (plan.device_bytes, plan.bytes) == (460 * MB, (PROGRAM + 60 + 500 + 3 * 240) * MB)
    with pytest.raises(OutOfRange, match=r"^device_budget:\D+460MB\D+train\.batch_size=10\D+'459MB'$"):
        held(1300, load, device=459, device_budget="459MB")


@pytest.mark.parametrize(
    ("knobs", "windows"),
    [
        ({"shuffle_buffer_size": 3}, (3,)),
        ({"shuffle_buffer_size": 2048}, (10,)),  # no more than there are
        ({"shuffle_buffer_size": 4, "queue_capacity": 7, "min_after_dequeue": 5}, (4, 7)),
        ({"input_queue_memory_factor": 1}, (10,)),
    ],
)
def test_buffer_and_queue_hold_encoded_examples(knobs: dict[str, int], windows: tuple[int, ...]) -> None:
    plan = held(5000, shuffle="buffer", **knobs)
    assert plan.shuffle_windows == windows
    assert plan.parts.shuffling == sum(windows) * 100_000
    assert plan.bytes - held(5000).bytes == sum(windows) * 100_000


def test_buffer_whose_size_nobody_states_takes_a_quarter_of_what_is_left() -> None:
    left = 500 + 3 * 240
    assert held(left + 2, shuffle="buffer").shuffle_windows == (5,)  # of 100,000 bytes each
    assert held(left + 9000, shuffle="buffer").shuffle_windows == (10,)
    assert held(left, shuffle="buffer").shuffle_windows == (1,)


@pytest.mark.parametrize("budget", [3, 4, 10])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
@pytest.mark.parametrize("shuffle", ["global", "buffer"])
def test_the_rule_is_kept(budget: int, batch_size: int, shuffle: str) -> None:
    load = Load(pixels=1_000_000, parameters=1_000_000, variables=50, activation_bytes=10_000_000)
    plan = buffers(Memory("1KB", shuffle=shuffle), load, SPLIT, batch_size, Limits(budget * 10**9))  # type: ignore[arg-type]
    assert PROGRAM_BYTES < plan.bytes <= budget * 10**9
    assert 1 <= plan.prefetch_batches <= 16
