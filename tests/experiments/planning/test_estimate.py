"""Time, memory and disk of one variant and of several together, by hand."""

from pathlib import Path
from typing import Any

import pytest

from bakeoff.experiments.planning import estimate as estimating
from bakeoff.experiments.planning.estimate import Estimate, OnDisk, cores_of_each, together
from bakeoff.experiments.planning.time_estimate import ROUGH
from bakeoff.learning.plan.train_settings import Phase, Train


def test_each_begins_in_its_order_as_soon_as_there_is_a_seat() -> None:
    estimates = [
        Estimate(60.0, 5, 100),
        Estimate(None, 7, 10, at_least=20.0),
        Estimate(4.0, 0, 0),
        Estimate(30.0, 3, 1),
    ]
    one, two, many = together(estimates, 1), together(estimates, 2), together(estimates, 9)
    assert (one.seconds, one.unknown, one.memory_bytes, one.disk_bytes) == (114.0, 1, 7, 111)
    assert (two.seconds, two.unknown, two.memory_bytes, two.disk_bytes) == (60.0, 1, 12, 111)  # 20, 4, 30 beside 60
    assert (many.seconds, many.memory_bytes) == (60.0, 15)
    assert together([], 2).seconds == 0.0


def test_jobs_wait_for_memory_and_for_one_that_trains_the_same() -> None:
    large, small = Estimate(10.0, 8, 0), Estimate(3.0, 2, 0)
    assert together([large, large, small], 2).seconds == 13.0
    assert together([large, large, small], 2, memory_bytes=10).seconds == 20.0  # the small one beside the first
    assert together([large, large], 2, memory_bytes=1).seconds == 20.0  # one by itself always
    same = [Estimate(10.0, 1, 0, training="a"), Estimate(4.0, 0, 0, training="a"), Estimate(7.0, 1, 0, training="b")]
    assert together(same, 2).seconds == 14.0  # a and b, then the second of a


def test_jobs_side_by_side_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating.machine, "cores", lambda: 6)
    assert [cores_of_each(jobs) for jobs in (1, 2, 4, 9)] == [None, 3, 1, 1]


def test_what_dvc_has_takes_no_more_than_the_job_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(estimating, "known_pace", lambda run, cores: None)
    nothing: Any = None
    for stages in ({"train": "from the cache"}, {"train": "unchanged"}):
        estimate = Estimate.of(nothing, stages)
        assert (estimate.seconds, estimate.memory_bytes, estimate.disk_bytes) == (ROUGH["job"], 0, 0)
    assert Estimate.of(nothing, {"render_config": "runs"}).seconds == ROUGH["job"] + ROUGH["render_config"]


def test_three_checkpoints_of_weights_and_two_optimizer_numbers_and_two_best_weights() -> None:
    disk = OnDisk.of(Train(batch_size=4, steps=10), parameters=1000)
    assert disk == OnDisk(in_flight=3 * 12_000 + 4 * 4_000, outputs=8_000)


def test_averages_are_in_checkpoints_and_each_phase_keeps_its_best() -> None:
    phases = tuple(Phase(name, steps=5) for name in ("head", "all", "slow"))
    disk = OnDisk.of(Train(batch_size=4, ema_decay=0.9, phases=phases), parameters=1000)
    assert disk == OnDisk(in_flight=5 * 16_000 + 8 * 4_000, outputs=8_000)
