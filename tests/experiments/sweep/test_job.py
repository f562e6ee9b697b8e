"""The command of a job's stages, and their environment."""

import os
import signal
import sys
from pathlib import Path

import pytest

from bakeoff.config.track_settings import Mlflow
from bakeoff.experiments.sweep import job as module
from bakeoff.experiments.sweep.job import make_environment, make_experiment
from bakeoff.foundation.workspace import journals
from bakeoff.tracking import tracker
from bakeoff.tracking.journal.entries import TagsEntry
from bakeoff.tracking.journal.journal import entries_of
from bakeoff.tracking.journal.journal_folder import NOTE, NOTE_VARIABLE
from support.made_sweeps import ID, sweep, sweep_job


def test_a_job_is_one_experiment_with_its_changes() -> None:
    job = sweep_job(1, options=("++lr.peak=0.1", "~seed"), stages=("render_config", "train"))
    assert make_experiment(job, Path("clone"))[1:] == [
        "-m", "bakeoff.experiments.sweep.dvc_experiment", "clone", f"{ID}-1", "-S", "++lr.peak=0.1", "-S", "~seed",
        "--", "render_config", "train",
    ]  # fmt: skip


def test_stages_find_this_python_and_compute_with_as_many_threads_whatever_their_cores() -> None:
    own = {"PATH": "/usr/bin", "HOME": "/home/ada"}
    always = {"PATH": f"{Path(sys.executable).parent}:/usr/bin", "PYTHONUNBUFFERED": "1", "BAKEOFF_DVC_CACHE": "/cache"}
    threads = str(len(os.sched_getaffinity(0)))
    assert make_environment(own, Path("/cache"), (0, 2)) == own | always | {
        "BAKEOFF_CORES": "0,2", "TF_NUM_INTRAOP_THREADS": threads
    }  # fmt: skip
    own |= {"TF_NUM_INTRAOP_THREADS": "7"}
    assert make_environment(own, Path("/cache"), (0,)) == own | always | {"BAKEOFF_CORES": "0"}
    assert make_environment(own, Path("/cache"), ()) == own | always


def test_a_job_sees_its_own_gpus_alone() -> None:
    own = {"PATH": "/usr/bin", "CUDA_VISIBLE_DEVICES": "0,1,2"}
    seen = [
        make_environment(own, Path("/cache"), (), gpus)["CUDA_VISIBLE_DEVICES"]
        for gpus in (("GPU-a", "GPU-b"), (), None)
    ]
    assert seen == ["GPU-a,GPU-b", "-1", "0,1,2"]


@pytest.mark.parametrize(("note", "notes"), [("two seeds", ["its own", "two seeds"]), (None, ["its own"])])
def test_the_note_of_a_sweep_is_sent_for_each_of_its_runs(
    note: str | None, notes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "dvc.yaml").touch()
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "MLFLOW_TRACKING_URI", NOTE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    manifest = sweep(sweep_job(1), note=note)
    manifest.write()

    def stage(job: object, snapshot: object, cache: Path) -> int:
        """Report to a journal, as the stage that trains does."""
        with tracker.start(Mlflow(wait_s=0), "a run", {}, note="its own", run_id="7f"):
            return 0

    monkeypatch.setattr(module, "run_job", stage)
    monkeypatch.setattr(tracker, "Watch", lambda *given: type("Waits", (), {"end": lambda self, wait_s: None})())
    monkeypatch.setattr(signal, "signal", lambda *given: None)
    monkeypatch.setenv("BAKEOFF_DVC_CACHE", str(tmp_path))
    monkeypatch.setenv(NOTE_VARIABLE, "")  # so that it is taken back afterwards
    with pytest.raises(SystemExit) as end:
        module.main([str(manifest.folder), "1"])
    assert end.value.code == 0
    sent = [entry.values[NOTE] for entry in entries_of(journals() / "7f", TagsEntry) if NOTE in entry.values]
    assert sent == notes
