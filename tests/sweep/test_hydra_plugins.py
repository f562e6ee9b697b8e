"""Launchers and sweepers of Hydra's, as others write them, run jobs and propose points of a sweep."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton

from bakeoff.errors import ConfigError
from bakeoff.sweep.hydra_launch import LaunchByHydra
from bakeoff.sweep.hydra_plugins import Chosen, Gate, Worthless, sweeper_of
from bakeoff.sweep.launch import Rules, launch_of
from bakeoff.sweep.manifest import JobState, Manifest, load_manifest
from bakeoff.sweep.points import Point
from bakeoff.workspace import STOP_FILE, queued
from made_sweeps import ID, states, sweep, sweep_job

DONE, FAILED, STOPPED, WAITING = JobState.DONE, JobState.FAILED, JobState.STOPPED, JobState.WAITING
ONE_BY_ONE = ("seed=range(1,3)", "hydra/launcher=one_by_one")
Instead = Callable[[Mapping[int, str]], None]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where one stands; Hydra finds the plugins as if they were installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "plugins"))
    Singleton._instances.pop(Plugins, None)
    yield tmp_path
    Singleton._instances.pop(Plugins, None)
    for name in [name for name in sys.modules if name.startswith("hydra_plugins")]:
        del sys.modules[name]


def launched(manifest: Manifest, said: list[str] | None = None, **rules: bool) -> Manifest:
    manifest.write()
    launch = launch_of(manifest, [].append if said is None else said.append, Rules(**rules))
    assert isinstance(launch, LaunchByHydra)
    return launch.run()


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ((), Chosen(False, False)),
        (("hydra/launcher=basic", "hydra/sweeper=basic"), Chosen(False, False)),
        (("hydra/launcher=one_by_one",), Chosen(True, False)),
        (("hydra/sweeper=uphill", "hydra.sweeper.rounds=9"), Chosen(False, True)),
    ],
)
def test_plain_ones_are_bakeoffs_own_work(words: tuple[str, ...], chosen: Chosen) -> None:
    assert Chosen.by(words) == chosen


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("hydra/launcher=slurm", r"^hydra/launcher=slurm: .*Could not find 'hydra/launcher/slurm' Available options in "
                                 r"'hydra/launcher': basic one_by_one$"),
        ("hydra.sweeper.n=2", r"^hydra\.sweeper\.n=2: Could not override 'hydra\.sweeper\.n'\."),
        ("+hydra.launcher.jobs=2", r"^\+hydra\.launcher\.jobs=2: .*unexpected keyword argument 'jobs'"),
    ],
)  # fmt: skip
def test_what_is_not_installed_or_no_setting_is_said_before_anything_runs(word: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Chosen.by((word,))


def test_a_launcher_of_hydras_begins_each_job_and_the_manifest_knows_how_it_ended(instead: Instead) -> None:
    instead({1: "print('one', flush=True)\nend(0)", 2: "end(3)", 3: "os.kill(os.getpid(), 9)", 4: "end(0)"})
    said: list[str] = []
    jobs = (sweep_job(1), sweep_job(2), sweep_job(3), sweep_job(4, state=DONE))
    end = launched(sweep(*jobs, words=ONE_BY_ONE), said, follow=True)
    assert states(end) == states(load_manifest(end.folder)) == [DONE, FAILED, FAILED, DONE]
    assert [job.attempts[-1].why for job in end.jobs[:3]] == [None, "ended with code 3", "killed"]
    assert "1: one" in said and end.job(4).attempts == ()
    assert (end.folder / "hydra/0").is_dir()  # where Hydra keeps what a launcher writes
    instead({2: "end(0)", 3: "end(0)"})
    assert states(launched(end)) == [DONE] * 4


def test_what_bakeoff_stop_takes_off_is_not_begun(instead: Instead) -> None:
    instead({1: f"open({str(queued() / 'sweep-20260102-030405-2' / STOP_FILE)!r}, 'w').close()\nend(0)"})
    end = launched(sweep(sweep_job(1), sweep_job(2), words=ONE_BY_ONE))
    assert states(end) == [DONE, STOPPED]
    assert end.job(2).attempts[-1].why == "not begun, as `bakeoff stop` asked"


def test_after_ctrl_c_it_begins_no_other(instead: Instead) -> None:
    waits = f"""
        from pathlib import Path
        from bakeoff.sweep import session
        from bakeoff.sweep.job import JobFiles
        files = JobFiles(Path(".bakeoff/sweeps/{ID}"), 1)
        session.note_leader(files.process)
        with files.lock:
            try: print("ready", flush=True); time.sleep(60)
            except KeyboardInterrupt: pass
        end(130)
    """
    instead({1: waits, 2: "end(0)"})

    class Impatient(list[str]):
        def append(self, text: str) -> None:
            if text == "1: ready":
                raise KeyboardInterrupt
            super().append(text)

    end = launched(sweep(sweep_job(1), sweep_job(2), words=ONE_BY_ONE), Impatient(), follow=True)
    assert states(end) == [STOPPED, WAITING]
    assert end.job(1).attempts[-1].why == "stopped by Ctrl-C"
    assert not (end.folder / "2.log").exists()


def test_a_launcher_that_cannot_is_said_for_every_job(instead: Instead) -> None:
    instead({})
    words = (*ONE_BY_ONE, "hydra.launcher.refuses='no such cluster'")
    end = launched(sweep(sweep_job(1), sweep_job(2), words=words))
    assert [job.attempts[-1].why for job in end.jobs] == ["the launcher: no such cluster"] * 2


class Climb:
    """Jobs whose worth is greatest at seed 3; what was entered and run is remembered."""

    def __init__(self, lost: int | None = None) -> None:
        self.entered: list[list[str]] = []
        self.runs, self._lost = 0, lost

    def enter(self, points: Sequence[Point], manifest: Manifest | None) -> Manifest:
        self.entered += [list(point.overrides) for point in points]
        known = manifest.jobs if manifest else ()
        more = [sweep_job(len(known) + place, points=(point.varied,)) for place, point in enumerate(points, 1)]
        return sweep(*known, *more)

    def run(self, manifest: Manifest) -> Manifest:
        self.runs += 1
        jobs = []
        for job in manifest.jobs:
            seed = int(job.points[0][-1].removeprefix("seed="))
            state = FAILED if seed == self._lost else DONE
            jobs.append(replace(job, state=state, value=-((seed - 3) ** 2) if state == DONE else None))
        return replace(manifest, jobs=tuple(jobs))


def swept(climb: Climb, manifest: Manifest | None = None) -> Manifest:
    gate = Gate(climb.enter, climb.run, manifest)
    sweeper = sweeper_of(("hydra/sweeper=uphill",), Path(), Path("conf"), gate)
    sweeper.sweep(["lr=cosine"])
    assert gate.manifest
    return gate.manifest


def test_a_sweeper_of_hydras_proposes_by_what_its_points_came_to() -> None:
    climb = Climb()
    manifest = swept(climb)
    assert climb.entered == [["lr=cosine", f"seed={seed}"] for seed in (1, 2, 3, 4)]  # 4 is worse than 3
    assert [job.number for job in manifest.jobs] == [1, 2, 3, 4]


def test_a_sweeper_that_goes_on_runs_no_point_again() -> None:
    first = swept(Climb())
    climb = Climb()
    assert swept(climb, replace(first, jobs=first.jobs[:2])).jobs == first.jobs
    assert climb.entered == [["lr=cosine", "seed=3"], ["lr=cosine", "seed=4"]] and climb.runs == 2


def test_a_sweeper_is_told_of_a_point_that_came_to_nothing() -> None:
    with pytest.raises(Worthless, match=r"^lr=cosine seed=2: failed$"):
        swept(Climb(lost=2))
