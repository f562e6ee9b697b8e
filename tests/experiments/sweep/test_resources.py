"""As many jobs run at once as memory allows, one always, and never two that train the same."""

import pytest

from bakeoff.experiments.sweep import resources
from bakeoff.experiments.sweep.resources import CountedSeats, Seats
from support.made_sweeps import sweep_job


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


def test_a_job_has_gpus_of_its_own_and_waits_for_them() -> None:
    first, two, on_cpu, all_gpus, last = (
        sweep_job(number, training=str(number), devices=devices)
        for number, devices in enumerate((1, 2, "cpu", "all", 1), 1)
    )
    seats = Seats(5, 1000, gpus=("a", "b"))
    seats.take(first)
    assert seats.gpus_of(first) == ("a",)
    assert not seats.admits(two) and not seats.admits(all_gpus)
    assert seats.admits(on_cpu)
    seats.take(on_cpu)
    assert seats.gpus_of(on_cpu) == ()
    seats.take(last)
    assert seats.gpus_of(last) == ("b",)
    seats.leave(first)
    seats.leave(last)
    assert seats.admits(all_gpus)
    seats.take(all_gpus)
    assert seats.gpus_of(all_gpus) == ("a", "b")


def test_a_job_from_before_keeps_its_gpu() -> None:
    seats = Seats(3, 1000, gpus=("a", "b"))
    seats.keep(sweep_job(1, training="1"), ["a"])
    seats.take(sweep_job(2, training="2"))
    assert seats.gpus_of(sweep_job(2)) == ("b",)
    assert not seats.admits(sweep_job(3, training="3"))


def test_more_gpus_than_there_are_do_not_hold_a_job_back() -> None:
    seats = Seats(2, 1000, gpus=("a",))
    seats.keep(sweep_job(1, training="1", devices="cpu"))
    assert seats.admits(sweep_job(2, training="2", devices=4))  # training refuses it


def test_without_gpus_jobs_see_what_this_process_sees() -> None:
    seats = Seats(2, 1000)
    seats.take(sweep_job(1))
    assert seats.gpus_of(sweep_job(1)) is None and seats.admits(sweep_job(2, training="b"))


def test_seats_of_a_cluster_follow_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "SECONDS_BETWEEN_COUNTS", 0.0)
    nodes = [0]
    seats = CountedSeats(lambda: nodes[0])
    assert seats.free == 1  # a node may come
    nodes[0] = 3
    assert seats.free == 3
    seats.take(sweep_job(1))
    nodes[0] = 1
    assert seats.free == 0 and not seats.admits(sweep_job(2))
