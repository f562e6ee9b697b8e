from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.config.limits import Machine, limits_on_this_machine, look
from bakeoff.input.memory import Limits, Memory

HERE = Machine(free_bytes=10_070_000_000, total_bytes=16_000_000_000, cores=6, device_free_bytes=8_000_000_000)


class Eyes:
    """Sees a machine, and counts how often it looks."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.looks = machine, 0

    def __call__(self) -> Machine:
        self.looks += 1
        return self.machine


def limits(memory: Memory, folder: Path, eyes: Eyes, warnings: list[str] | None = None) -> Limits:
    return limits_on_this_machine(memory, folder, (warnings if warnings is not None else []).append, eyes)


def test_stated_budget_never_looks_at_the_machine(tmp_path: Path) -> None:
    eyes = Eyes(HERE)
    assert limits(Memory("4GB"), tmp_path, eyes) == Limits(4_000_000_000)
    assert limits(Memory("4GB", device_budget="2GB"), tmp_path, eyes) == Limits(4_000_000_000, 2_000_000_000)
    assert eyes.looks == 0 and list(tmp_path.iterdir()) == []


def test_auto_takes_its_share_of_what_is_free_in_whole_tenths_of_a_gigabyte(tmp_path: Path) -> None:
    assert limits(Memory("auto"), tmp_path, Eyes(HERE)) == Limits(8_000_000_000, 0, 6)
    assert limits(Memory("auto", share=0.5), tmp_path, Eyes(HERE)).bytes == 5_000_000_000
    assert limits(Memory("4GB", device_budget="auto"), tmp_path, Eyes(HERE)).device_bytes == 6_400_000_000


def test_auto_stays_what_it_was_while_other_programs_come_and_go(tmp_path: Path) -> None:
    first = limits(Memory("auto"), tmp_path, Eyes(HERE))
    warnings: list[str] = []
    for free in (12_000_000_000, 8_000_000_000):
        assert limits(Memory("auto"), tmp_path, Eyes(replace(HERE, free_bytes=free)), warnings) == first
    assert warnings == []


def test_auto_that_is_not_free_any_more_is_said(tmp_path: Path) -> None:
    limits(Memory("auto"), tmp_path, Eyes(HERE))
    warnings: list[str] = []
    assert limits(Memory("auto"), tmp_path, Eyes(replace(HERE, free_bytes=3_000_000_000)), warnings).bytes == 8 * 10**9
    [warning] = warnings
    assert warning.startswith(
        "is 8.0 GB, 80% of what was free when this machine was first looked at, but only 3.0 GB are free now; "
        f"end other programs, or delete {tmp_path.as_posix()}/machine-"
    )


@pytest.mark.parametrize("how", ["another machine", "a file that was cut off"])
def test_auto_looks_afresh_on(how: str, tmp_path: Path) -> None:
    limits(Memory("auto"), tmp_path, Eyes(HERE))
    smaller = replace(HERE, free_bytes=2_000_000_000)
    if how == "another machine":
        smaller = replace(smaller, total_bytes=4_000_000_000)
    else:
        [kept] = tmp_path.iterdir()
        kept.write_text('{"free_bytes": 10')
    assert limits(Memory("auto"), tmp_path, Eyes(smaller)).bytes == 1_600_000_000


def test_what_is_seen_of_this_machine_is_sensible() -> None:
    here = look()
    assert 0 < here.free_bytes <= here.total_bytes and here.cores >= 1 and here.device_free_bytes >= 0
