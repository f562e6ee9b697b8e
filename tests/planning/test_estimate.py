"""What several variants take together: of those that DVC has nothing, of those side by side the largest."""

from typing import Any

import pytest

from bakeoff.planning import estimate as estimating
from bakeoff.planning.estimate import Estimate, together
from bakeoff.planning.plan import Pace


def test_time_is_shared_out_and_memory_is_of_those_side_by_side() -> None:
    estimates = [Estimate(60.0, 5, 100), Estimate(None, 7, 10), Estimate(0.0, 0, 0), Estimate(30.0, 3, 1)]
    one, two = together(estimates, 1), together(estimates, 2)
    assert (one.seconds, one.unknown, one.memory_bytes, one.disk_bytes) == (90.0, 1, 7, 111)
    assert (two.seconds, two.unknown, two.memory_bytes, two.disk_bytes) == (45.0, 1, 12, 111)


def test_what_dvc_has_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Any = None
    for stages in ({"train": "from the cache"}, {"train": "unchanged"}, {"render_config": "runs"}):
        assert Estimate.of(nothing, nothing, stages) == Estimate(0.0, 0, 0)


def test_each_leg_takes_its_steps_at_its_own_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace as Made

    spans = [Made(name="head", steps=10), Made(name="whole", steps=4)]
    run: Any = Made(train=Made(ema_decay=0.0, phases=("head", "whole")))
    derived: Any = Made(phases=spans, parameters=100, memory_estimate_bytes=7)
    monkeypatch.setattr(estimating, "known_pace", lambda run, derived: Pace({"head": 0.5, "whole": 2.0}, "before"))
    # Bytes: three checkpoints of 100 weights of 4 bytes and two numbers of the optimizer each, three sets of best
    # weights, and two sets that stay.
    assert Estimate.of(run, derived, {"train": "runs"}) == Estimate(13.0, 7, 3 * 1200 + 3 * 400 + 2 * 400)
    monkeypatch.setattr(estimating, "known_pace", lambda run, derived: None)
    assert Estimate.of(run, derived, {"train": "runs"}).seconds is None
