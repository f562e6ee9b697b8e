"""The machine loses its power at random moments: no wrong or empty result is ever accepted. Half an hour."""

import pytest

from proofs.faults.power import KINDS, count_faults, cut_sweep, cut_training, cut_whole_pipeline, missing_for

pytestmark = pytest.mark.slow


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    if why := missing_for(request.param):
        pytest.skip(why)
    return str(request.param)


def test_after_every_cut_the_next_repro_ends_in_the_right_files(kind: str) -> None:
    """Of a pipeline that takes as long as its writing, while it runs and in the half minute after its end."""
    assert count_faults(kind, "bakeoff.foundation.dvc", 50, 0) == 0


def test_dvc_by_itself_accepts_what_a_cut_left(kind: str) -> None:
    """So the cuts cut."""
    assert count_faults(kind, "dvc", 10, 0, patience=1) > 0


def test_after_every_kill_the_next_repro_ends_in_the_right_files() -> None:
    assert count_faults(None, "bakeoff.foundation.dvc", 100, 0) == 0


def test_the_whole_pipeline_comes_to_its_end_through_cuts(kind: str) -> None:
    """And a training is one run in MLflow."""
    assert cut_whole_pipeline(kind, 3, 0) == []


@pytest.mark.parametrize("variant", ["detection", "video"])
def test_a_training_ends_in_the_same_weights_through_cuts(kind: str, variant: str) -> None:
    assert cut_training(kind, variant, 5, 0) == []


@pytest.mark.parametrize("queued", [False, True], ids=["sweep", "queue"])
def test_a_sweep_does_each_point_once_through_cuts(kind: str, queued: bool) -> None:
    assert cut_sweep(kind, 3, 0, queued=queued) == []
