"""Time, memory and disk of one variant and of several together, by hand."""

from typing import Any

import pytest

from bakeoff.planning import estimate as estimating
from bakeoff.planning.estimate import Estimate, OnDisk, together
from bakeoff.planning.pace import Pace
from bakeoff.training.settings import Phase, Train


def test_time_is_shared_out_and_memory_is_of_those_side_by_side() -> None:
    estimates = [Estimate(60.0, 5, 100), Estimate(None, 7, 10), Estimate(0.0, 0, 0), Estimate(30.0, 3, 1)]
    one, two = together(estimates, 1), together(estimates, 2)
    assert (one.seconds, one.unknown, one.memory_bytes, one.disk_bytes) == (90.0, 1, 7, 111)
    assert (two.seconds, two.unknown, two.memory_bytes, two.disk_bytes) == (45.0, 1, 12, 111)


def test_what_dvc_has_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Any = None
    for stages in ({"train": "from the cache"}, {"train": "unchanged"}, {"render_config": "runs"}):
        assert Estimate.of(nothing, stages) == Estimate(0.0, 0, 0)


def test_each_leg_takes_its_steps_at_its_own_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace as Made

    spans = [Made(name="head", steps=10), Made(name="whole", steps=4)]
    derived = Made(phases=spans, parameters=100, memory_estimate_bytes=7)
    train = Made(ema_decay=0.0, phases=("head", "whole"), max_minutes=None)
    run: Any = Made(train=train, derived=derived)
    monkeypatch.setattr(estimating, "known_pace", lambda run: Pace({"head": 0.5, "whole": 2.0}, "before"))
    # Bytes: three checkpoints of 100 weights of 4 bytes and two numbers of the optimizer each, another at the end of
    # the first phase, three sets of best weights, and two sets that stay.
    assert Estimate.of(run, {"train": "runs"}) == Estimate(13.0, 7, 4 * 1200 + 3 * 400 + 2 * 400)
    monkeypatch.setattr(estimating, "known_pace", lambda run: None)
    assert Estimate.of(run, {"train": "runs"}).seconds is None


def test_three_checkpoints_of_weights_and_two_optimizer_numbers_and_two_best_weights() -> None:
    disk = OnDisk.of(Train(batch_size=4, steps=10), parameters=1000)
    assert disk == OnDisk(in_flight=3 * 12_000 + 2 * 4_000, outputs=8_000)


def test_averages_are_in_checkpoints_and_each_phase_keeps_its_best() -> None:
    phases = tuple(Phase(name, steps=5) for name in ("head", "all", "slow"))
    disk = OnDisk.of(Train(batch_size=4, ema_decay=0.9, phases=phases), parameters=1000)
    assert disk == OnDisk(in_flight=5 * 16_000 + 4 * 4_000, outputs=8_000)
