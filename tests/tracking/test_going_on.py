"""A training whose work in flight is gone resumes from MLflow, and equals an uninterrupted one to the bit."""

import shutil
import warnings
from pathlib import Path

import pytest

from bakeoff.app.cli.continue_run import bring, newest_whole
from bakeoff.config.track_settings import Mlflow
from bakeoff.foundation.workspace import in_flight
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from bakeoff.tracking.tracker import Tracker
from support.kitchen import Interrupted, curve, digests, noisy
from support.made_checkpoints import FINGERPRINT, IDENTITY, RUN

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of MLflow's libraries, while they are loaded
    from bakeoff.tracking.fetch_checkpoints import find_work
    from bakeoff.tracking.store.mlflow_client import open_store
    from bakeoff.tracking.sync.send_run import Delivery

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries


@pytest.mark.parametrize("step", [4, 8])
def test_a_run_resumes_from_mlflow_alone_to_the_same_bits(
    step: int, tmp_path: Path, new_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three phases with dropout, Adam, averages; the end of each is saved whatever else is being written then."""
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    whole, cut, again = noisy(tmp_path / "whole"), noisy(in_flight(FINGERPRINT)), noisy(in_flight(FINGERPRINT))
    whole.bake()
    target = Target(f"sqlite:///{Path(shutil.copy(new_store, 'store.db')).resolve()}", "bakeoff")
    journal = Journal(RUN)
    target.write(journal.folder)
    journal.run("noisy")
    cut.tell = Tracker(RUN, Mlflow(), journal).checkpoint
    with pytest.raises(Interrupted):
        cut.bake(interrupt_at=step)
    journal.close()
    Delivery(*open_store(target), journal.folder, target).send()
    shutil.rmtree(".bakeoff")
    work, fetched = find_work(target, RUN), tmp_path / "fetched"
    name, done, files = newest_whole(work, fetched)
    assert 0 < done < step and bring(work, IDENTITY, name, files, fetched)
    outcome = again.bake()
    assert outcome.resumed_at == [done] and outcome.position.step == 9
    assert digests(again) == digests(whole) and curve(again) == curve(whole)
