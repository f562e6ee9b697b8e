"""Slurm and submitit as they look from here: jobs that wait, start, start again, or never start."""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.experiments.cluster import slurm_backend
from bakeoff.experiments.cluster.slurm_backend import SlurmBackend, SlurmTask
from bakeoff.experiments.sweep import scheduled_job
from bakeoff.experiments.sweep.launch import Launch, LaunchOptions
from bakeoff.experiments.sweep.scheduled_job import JobFailed
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest
from bakeoff.foundation.errors import ConfigError
from support.made_sweeps import states, sweep, sweep_job

DONE, FAILED, WAITING = JobState.DONE, JobState.FAILED, JobState.WAITING
Instead = Callable[[Mapping[int, str]], None]
SQUEUE, SCANCEL = "#!/bin/sh\ncat alive\n", '#!/bin/sh\necho "$1" >> canceled\nsed -i "/^$1\\$/d" alive\n'


class Cluster:
    """Slurm's queue in a file, and submitit, which runs a job in a thread, so often as the job has lives."""

    def __init__(self) -> None:
        self.given: list[dict[str, Any]] = []
        self.lives, self.refuses = 1, ""
        Path("alive").touch()

    def __call__(self, folder: Path, cluster: str, slurm_max_num_timeout: int) -> "Cluster":
        self.given.append({"max_num_timeout": slurm_max_num_timeout})
        return self

    def update_parameters(self, **parameters: Any) -> None:
        if "slurm_partion" in parameters:
            raise NameError("Unknown argument 'partion'\nKnown executors: slurm")
        self.given[-1] |= parameters

    def submit(self, task: SlurmTask) -> SimpleNamespace:
        if self.refuses:
            raise RuntimeError(self.refuses)
        number = str(100 + task.files.number)
        if self.lives:
            Path("alive").write_text(Path("alive").read_text() + f"{number}\n")
            threading.Thread(target=self._run, args=(task, number)).start()
        return SimpleNamespace(job_id=number)

    def _run(self, task: SlurmTask, number: str) -> None:
        for _ in range(self.lives):
            try:
                scheduled_job.run_job(task.files, task.cache)
            except JobFailed:
                while task.files.exit_code() is not None and self.lives > 1:
                    pass  # the launcher has not noticed the last life's end
        alive = [one for one in Path("alive").read_text().split() if one != number]
        Path("alive").write_text("".join(f"{one}\n" for one in alive))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.chdir(tmp_path)
    for name, script in {"squeue": SQUEUE, "scancel": SCANCEL}.items():
        (tmp_path / "bin" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(slurm_backend, "SECONDS_BETWEEN_QUERIES", 0.05)
    made = Cluster()
    monkeypatch.setitem(sys.modules, "submitit", SimpleNamespace(AutoExecutor=made))  # type: ignore[arg-type]
    return made


def launched(manifest: SweepManifest, lines: list[str] | None = None, **settings: Any) -> SweepManifest:
    manifest.write()
    print_line = [].append if lines is None else lines.append
    return Launch(manifest, print_line, LaunchOptions(None), place=SlurmBackend(settings)).run()


def test_each_job_is_submitted_with_the_settings_of_the_sweep(cluster: Cluster, instead: Instead) -> None:
    instead({1: "end(0)", 2: "end(3)"})
    end = launched(sweep(sweep_job(1), sweep_job(2)), partition="gpu", timeout_min=600, max_num_timeout=10)
    assert states(end) == [DONE, FAILED] and end.place == "slurm" and end.job(2).why == "ended with code 3"
    expected = {"slurm_partition": "gpu", "timeout_min": 600, "max_num_timeout": 10, "name": f"{end.id}-1"}
    assert expected.items() <= cluster.given[1].items()


def test_a_job_that_slurm_starts_again_is_one_job_with_two_attempts(cluster: Cluster, instead: Instead) -> None:
    instead({1: "first = not os.path.exists('began')\nopen('began', 'w').close()\nend(75 if first else 0)"})
    cluster.lives = 2
    end = launched(sweep(sweep_job(1)))
    assert states(end) == [DONE] and len(end.job(1).attempts) == 2 and len(cluster.given) == 2


def test_a_job_that_is_in_the_queue_since_an_earlier_launch_is_not_submitted_again(
    cluster: Cluster, instead: Instead
) -> None:
    instead({1: "end(0)"})
    manifest, lines = sweep(sweep_job(1)), list[str]()
    manifest.write()
    (manifest.folder / "1.slurm").write_text("77")
    Path("alive").write_text("77\n")
    task = SlurmTask(scheduled_job.JobFiles(manifest.folder.resolve(), 1), Path("cache"))
    threading.Timer(0.5, cluster._run, (task, "77")).start()
    end = launched(manifest, lines)
    assert states(end) == [DONE] and lines[0] == "1 of 1 still waits, from before" and len(cluster.given) == 1


def test_what_slurm_refuses_or_drops_has_failed_for_that_reason(cluster: Cluster, instead: Instead) -> None:
    instead({})
    cluster.refuses = "sbatch: error: invalid partition specified"
    assert launched(sweep(sweep_job(1))).job(1).why == f"Slurm: {cluster.refuses}"
    cluster.refuses, cluster.lives = "", 0
    assert "Slurm's job 101" in launched(sweep(sweep_job(1))).job(1).why


def test_ctrl_c_takes_what_waits_out_of_the_queue(cluster: Cluster, instead: Instead) -> None:
    instead({})
    manifest = sweep(sweep_job(1))
    manifest.write()
    (manifest.folder / "1.slurm").write_text("77")
    Path("alive").write_text("77\n")

    class Impatient(list[str]):
        def append(self, text: str) -> None:
            if "waits" in text:
                raise KeyboardInterrupt
            super().append(text)

    assert states(launched(manifest, Impatient())) == [WAITING]
    assert Path("canceled").read_text() == "77\n" and (manifest.folder / "1.signal").exists()


def test_a_wrong_setting_is_named_before_the_first_job(cluster: Cluster, instead: Instead) -> None:
    instead({})
    with pytest.raises(ConfigError, match=r"^hydra.launcher.partion: Unknown argument 'partion'; see submitit"):
        launched(sweep(sweep_job(1)), partion="gpu")
