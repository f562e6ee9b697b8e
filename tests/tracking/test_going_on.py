"""A training whose work in flight is gone resumes from MLflow, and equals an uninterrupted one to the bit."""

import shutil
from pathlib import Path

import pytest

from bakeoff.app.cli.continue_run import bring, newest_whole
from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation.workspace import in_flight
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.tracker import Tracker
from support.kitchen import Interrupted, curve, digests, noisy
from support.made_checkpoints import FINGERPRINT, IDENTITY, RUN
from support.mlflow_store import copy_store, deliver, find_work

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries


@pytest.mark.parametrize("step", [4, 8])
def test_a_run_resumes_from_mlflow_alone_to_the_same_bits(step: int, workspace: Path, new_store: Path) -> None:
    """Three phases with dropout, Adam, averages; the end of each is saved whatever else is being written then."""
    whole, cut, again = noisy(workspace / "whole"), noisy(in_flight(FINGERPRINT)), noisy(in_flight(FINGERPRINT))
    whole.bake()
    target = copy_store(new_store)
    journal = Journal(RUN)
    target.write(journal.folder)
    journal.run("noisy")
    cut.tell = Tracker(RUN, Mlflow(), journal).checkpoint
    with pytest.raises(Interrupted):
        cut.bake(interrupt_at=step)
    journal.close()
    deliver(journal.folder, target)
    shutil.rmtree(".bakeoff")
    work, fetched = find_work(target, RUN), workspace / "fetched"
    copy, files = newest_whole(work, fetched)
    assert 0 < copy.step < step and bring(work, IDENTITY, copy, files, fetched)
    outcome = again.bake()
    assert outcome.resumed_at == [copy.step] and outcome.position.step == 9
    assert digests(again) == digests(whole) and curve(again) == curve(whole)
