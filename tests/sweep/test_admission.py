"""So many at once as memory allows, one always, and never two that train the same."""

import pytest

from bakeoff.sweep.admission import Seats
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
    seats = Seats(3, 100)
    for other in others:
        seats.keep(other)
    assert seats.admits(sweep_job(1, memory_bytes=memory, training=training)) is begins


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
    seats = Seats(side_by_side, 100, cores)
    assert [seats.take(sweep_job(number)) for number in range(side_by_side)] == shares
