import pytest

from bakeoff.experiments.runs.memory_use import BUILT, LOOKED, SHOWN, STEPPED, MemoryUse, warning
from bakeoff.foundation import machine
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.input.memory_budget import Parts
from support.messages import missing_in

MB = 10**6
PARTS = Parts(
    program=900 * MB, weights=100 * MB, activations=600 * MB, batches=100 * MB, decoding=50 * MB, shuffling=50 * MB
)


def peaks(built: int, stepped: int, looked: int) -> dict[str, int]:
    return {BUILT: built * MB, STEPPED: stepped * MB, LOOKED: looked * MB}


def test_up_to_a_tenth_over_the_budget_nothing_is_said() -> None:
    assert warning(peaks(1000, 2000, 2199), 2200 * MB, 2000 * MB, PARTS) is None


@pytest.mark.parametrize(
    ("course", "what"),
    [
        ((1900, 2700, 2700), ("program and weights", "1.9 GB", "1 GB")),
        ((1000, 2700, 2700), ("activations and batches", "1.7 GB", "800 MB")),
        ((1000, 1800, 2700), ("evaluation, checkpoints", "tracking store", "900 MB", "estimated 0 B")),
    ],
)
def test_what_took_more_than_it_should_is_named(course: tuple[int, int, int], what: tuple[str, ...]) -> None:
    printed = warning(peaks(*course), 2700 * MB, 2000 * MB, PARTS)
    built, stepped, looked = (f"{size / 1000:g} GB" for size in course)
    moments = (built, "network", stepped, "steps", looked, "validation", "2.7 GB", "end")
    known = ("peak memory 2.7 GB", "35%", "memory.budget", "2 GB", *moments)
    assert printed and missing_in(printed, *known, *what, "train.batch_size", "memory.budget") == []


def test_what_is_drawn_and_written_for_tensorboard_is_named_by_its_settings() -> None:
    printed = warning(peaks(1000, 1800, 1900) | {SHOWN: 2700 * MB}, 2700 * MB, 2000 * MB, PARTS)
    assert printed and missing_in(printed, "1.9 GB", "validation", "2.7 GB", "samples") == []
    assert missing_in(printed, "train.samples", "train.tensorboard", "800 MB", "estimated 0 B") == []


def test_run_that_ended_before_its_first_look_is_judged_by_what_it_reached() -> None:
    printed = warning({BUILT: 1000 * MB}, 2700 * MB, 2000 * MB, PARTS)
    assert printed and missing_in(printed, "1 GB", "network", "2.7 GB", "end") == []
    assert "validation" not in printed


def test_moments_are_marked_before_and_after_the_first_look_only(monkeypatch: pytest.MonkeyPatch) -> None:
    reached = iter([10, 30, 70, 80, 90, 100])
    monkeypatch.setattr(machine, "peak_memory_bytes", lambda: next(reached))
    memory = MemoryUse()
    memory.mark(BUILT)
    for step in (1, 2):
        memory.on_validation_start(step)
        memory.on_validation(LogLine(step, {}), 0.1)
    assert memory.peaks == {BUILT: 10, STEPPED: 30, LOOKED: 70}
    memory.after_pictures().on_validation(LogLine(1, {}), 0.1)
    assert memory.peaks[SHOWN] == 100
