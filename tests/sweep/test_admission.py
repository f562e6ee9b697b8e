"""So many at once as memory allows, one always, and never two that train the same."""

import pytest

from bakeoff.sweep.admission import Admission
from made_sweeps import sweep_job


@pytest.mark.parametrize(
    ("running", "memory", "training", "begins"),
    [
        ([], 500, "a", True),  # training itself says that there is no room
        ([(40, "a")], 60, "b", True),
        ([(40, "a")], 61, "b", False),
        ([(40, "a")], 10, "a", False),
        ([(10, "a"), (10, "b")], 10, "c", True),
        ([(10, "a"), (10, "b"), (10, "c")], 10, "d", False),
    ],
)
def test_a_job_begins_if_there_is_room_beside_the_others(
    running: list[tuple[int, str]], memory: int, training: str, begins: bool
) -> None:
    others = [sweep_job(number, memory_bytes=size, training=name) for number, (size, name) in enumerate(running, 2)]
    assert Admission(3, 100).admits(sweep_job(1, memory_bytes=memory, training=training), others) is begins


@pytest.mark.parametrize(
    ("side_by_side", "cores", "shares"),
    [
        (1, (0, 1, 2), [(0, 1, 2)]),
        (2, (0, 1, 2, 5), [(0, 1), (2, 5)]),
        (2, (3, 4, 5), [(3,), (4,)]),
        (3, (0, 1), [(0,), (1,), (0,)]),
        (2, (), [(), ()]),
    ],
)
def test_cores_are_divided(side_by_side: int, cores: tuple[int, ...], shares: list[tuple[int, ...]]) -> None:
    admission = Admission(side_by_side, 100, cores)
    assert [admission.share(seat) for seat in range(side_by_side)] == shares
