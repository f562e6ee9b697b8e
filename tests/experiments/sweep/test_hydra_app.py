"""The Hydra application on conf/: its overrides, and sweepers and launchers of Hydra and of others."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.plugins.sweeper import Sweeper

from bakeoff.config.compose.hydra_versions import BASE
from bakeoff.experiments.sweep.backend import Backend, LocalBackend
from bakeoff.experiments.sweep.configurations import Configuration
from bakeoff.experiments.sweep.hydra_app import FULL_ERROR, Multirun
from bakeoff.experiments.sweep.launch import Launch
from bakeoff.experiments.sweep.launcher_settings import Settings
from bakeoff.experiments.sweep.scheduled_job import _pass_signals_on
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest, load_manifest
from bakeoff.foundation.errors import BakeoffError, ConfigError
from bakeoff.foundation.workspace import STOP_FILE, queued
from support.imports import ROOT
from support.made_sweeps import ID, states, sweep, sweep_job
from support.messages import missing_in

DONE, FAILED, STOPPED, WAITING = JobState.DONE, JobState.FAILED, JobState.STOPPED, JobState.WAITING
ONE_BY_ONE = ("seed=range(1,3)", "hydra/launcher=one_by_one")
Instead = Callable[[Mapping[int, str]], None]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a workspace with params.yaml and conf/. Hydra finds the plugins as if they were installed."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy2(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(FULL_ERROR, raising=False)
    monkeypatch.syspath_prepend(str(ROOT / "tests/support/plugins"))
    forget_plugins()
    yield tmp_path
    forget_plugins()


def forget_plugins() -> None:
    Singleton._instances.pop(Plugins, None)
    for name in [name for name in sys.modules if name.startswith("hydra_plugins")]:
        del sys.modules[name]


class Heard:
    """A caller of a multirun that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print_line(self, line: str) -> None:
        self.lines.append(line)

    def show(self, jobs: Sequence[Any], configurations: int, settings: Settings, *, ask: bool) -> None:
        self.print_line(f"{configurations} configurations")

    def place_at(self, on: str | None, overrides: Sequence[str]) -> AbstractContextManager[Backend]:
        assert on is None
        return nullcontext(LocalBackend())


def files_of(place: Path) -> list[Path]:
    assert not (place / ".bakeoff/hydra").exists()
    return sorted(path for path in place.rglob("*") if path.is_file())


class Entered(Multirun):
    """Notes the configurations that Hydra's sweeper makes. `come_to` gives the value for each seed."""

    come_to: Callable[[int], float | None] = staticmethod(lambda seed: 0.5)

    def __init__(self, *overrides: str, resumed: SweepManifest | None = None, **options: Any) -> None:
        self.heard, self.entered, self.runs = Heard(), list[list[str]](), 0
        self.names: list[str] = []
        super().__init__(self.heard, overrides, options=options, resumed=resumed)
        self._uses_start_folder = False  # there is no snapshot

    def _enter(self, configurations: Sequence[Configuration], manifest: SweepManifest | None) -> SweepManifest:
        self.entered += [list(configuration.overrides) for configuration in configurations]
        self.names += [configuration.name for configuration in configurations]
        known = manifest.jobs if manifest else ()
        more = [
            sweep_job(len(known) + place, configurations=(configuration.varied or configuration.overrides,))
            for place, configuration in enumerate(configurations, 1)
        ]
        return sweep(*known, *more, overrides=self._overrides)

    def _run(self, manifest: SweepManifest) -> SweepManifest:
        self.runs += 1
        jobs = []
        for job in manifest.jobs:
            seed = int(job.varied.get("seed", 0))
            value = self.come_to(seed)
            jobs.append(replace(job, state=FAILED if value is None else DONE, value=value))
        return replace(manifest, jobs=tuple(jobs))


def multirun(application: Multirun, *overrides: str) -> SweepManifest | None:
    return application.run(["multirun", *overrides])


def entered(*overrides: str, **options: Any) -> list[str]:
    application = Entered(*overrides, **options)
    multirun(application, "--multirun", *overrides)
    return [" ".join(configuration) for configuration in application.entered]


@pytest.mark.parametrize(
    ("overrides", "configurations"),
    [
        (["lr=cosine,exponential"], ["lr=cosine", "lr=exponential"]),
        (["lr.peak=0.05,1e-1"], ["lr.peak=0.05", "lr.peak=0.1"]),
        (["seed=range(0,3)"], ["seed=0", "seed=1", "seed=2"]),
        (["seed=range(6,0,-2)"], ["seed=6", "seed=4", "seed=2"]),
        (["lr.peak=sort(3,1,2)"], ["lr.peak=1", "lr.peak=2", "lr.peak=3"]),
        (["experiment=demo,frc_cosine"], ["experiment=demo", "experiment=frc_cosine"]),
        (["model=glob(ssd_s*)"], ["model=ssd_small"]),
        (["lr.use=cosine,preset"], ["lr.use=cosine", "lr.use=preset"]),
        (["lr.hold_steps=0,1", "~lr.floor"], ["lr.hold_steps=0 ~lr.floor", "lr.hold_steps=1 ~lr.floor"]),
        (["seed=1,2", "seed=3"], ["seed=3"]),
        ([], [""]),
        (
            ["lr=cosine,exponential", "++lr.warmup_steps=0", "seed=1,2"],
            [
                "lr=cosine ++lr.warmup_steps=0 seed=1",
                "lr=cosine ++lr.warmup_steps=0 seed=2",
                "lr=exponential ++lr.warmup_steps=0 seed=1",
                "lr=exponential ++lr.warmup_steps=0 seed=2",
            ],
        ),
    ],
)
def test_hydras_own_sweeper_makes_the_configurations(
    overrides: list[str], configurations: list[str], place: Path
) -> None:
    params = place / "params.yaml"
    params.write_text(params.read_text().replace("lr: {use: preset}", "lr: {use: preset, floor: 0.1}"))
    assert entered(*overrides) == configurations


def test_hydra_composes_once_for_each_choice_of_options(monkeypatch: pytest.MonkeyPatch) -> None:
    composed: list[Sequence[str]] = []
    really_validate = Sweeper.validate_batch_is_legal

    def count(sweeper: Sweeper, batch: Sequence[Sequence[str]]) -> None:
        composed.extend(batch)
        really_validate(sweeper, batch)

    monkeypatch.setattr(Sweeper, "validate_batch_is_legal", count)
    application = Entered()
    multirun(application, "-m", "lr=cosine,constant", "seed=range(0,20)", "lr.peak=1,2")
    assert len(application.names) == 80
    assert [sorted(overrides) for overrides in composed] == [
        ["lr.peak=1", "lr=cosine", "seed=0"], ["lr.peak=1", "lr=constant", "seed=0"]
    ]  # fmt: skip


def test_a_configuration_is_named_by_what_varies() -> None:
    application = Entered()
    multirun(application, "-m", "lr=cosine,constant", "seed=7", "lr.peak=1,2")
    assert application.names == [
        "lr=cosine lr.peak=1", "lr=cosine lr.peak=2", "lr=constant lr.peak=1", "lr=constant lr.peak=2"
    ]  # fmt: skip
    application = Entered()
    multirun(application, "-m", "seed=7")
    assert application.names == ["seed=7"]


def test_without_multirun_it_is_one_configuration() -> None:
    application = Entered()
    multirun(application, "seed=7", "lr=cosine")
    assert application.entered == [["seed=7", "lr=cosine"]] and application.runs == 1


def test_what_params_yaml_changes_comes_before_a_preset_and_after_an_option(place: Path) -> None:
    params = place / "params.yaml"
    text = params.read_text().replace("lr: {use: preset}", "lr: {use: exponential, peak: 0.3}")
    params.write_text(text.replace("seed: 0", "seed: 5"))

    class Composed(Entered):
        def set_up(self, settings: Any, other_launcher: Any, hydra_context: Any, config: Any) -> None:
            self.config = config
            super().set_up(settings, other_launcher, hydra_context, config)

    application = Composed()
    multirun(application, "-m", "memory=low,high", "train.epochs=2")
    config, choices = application.config, application.config.hydra.runtime.choices
    assert (config.lr.kind, config.lr.peak, config.seed, config.train.epochs) == ("exponential", 0.3, 5, 2)
    assert (choices.lr, choices.model, choices.experiment) == ("exponential", "ssd_small", "demo")


REFUSED = [
    (["-m", "sed=1,2"], ("command line: ", "override 'sed'", "+sed=1", "Key 'sed'")),
    (["-m", "lr=cosin,cosine"], ("command line: ", "'params'", "'lr/cosin'", "'lr'")),
    (["-m", "+lr.peak=1,2"], ("command line: ", "append", "'lr.peak'")),
    (["-m", "lr.peak=interval(0,1)"], ("command line: lr.peak=interval(0,1): ", "no values")),
    (["-m", "seed=1,2", "--cfg", "job"], ("command line: ", "--run, --multirun, --cfg, --info")),
    (["-m", "hydra/launcher=slurm"], ("command line: ", "'hydra/launcher/slurm'")),
    (["-m", "hydra.sweeper.n=2"], ("command line: ", "'hydra.sweeper.n'", "+")),
    (["-m", "hydra/launcher=one_by_one", "+hydra.launcher.jobs=2"], ("command line: ", "OneByOne", "'jobs'")),
    (["-m", "hydra.sweep.dir=${nothing}", "seed=1,2"], ("command line: ", "'nothing'", "not found")),
    (["-m", "seed=range(3,3)"], ("command line: seed=range(3,3): ", "none")),
    (["-m", "hydra.launcher.jobs=0"], ("hydra.launcher.jobs: ", "1", "0")),
    (["-m", "hydra.launcher.retries=two"], ("hydra.launcher.retries: ", "0", "'two'")),
    (["-m", "hydra.launcher.yes=1"], ("hydra.launcher.yes: ", "true or false", "1")),
    (["-m", "+hydra.launcher.job=2"], ("hydra.launcher.job: ", "'jobs'", "dry_run, fail_fast, follow, jobs")),
    (["seed=1,2"], ("command line: ", "Ambiguous", "'seed=1,2'", "key=[value1,val")),
]  # fmt: skip


@pytest.mark.parametrize(("overrides", "parts"), REFUSED, ids=[" ".join(overrides) for overrides, _ in REFUSED])
def test_what_hydra_refuses_is_one_line_and_leaves_nothing(
    overrides: list[str], parts: tuple[str, ...], place: Path
) -> None:
    before = files_of(place)
    application = Entered(*[override for override in overrides if not override.startswith("-") and override != "job"])
    with pytest.raises(BakeoffError) as raised:
        multirun(application, *overrides)
    message = str(raised.value)
    assert message.startswith(parts[0]) and missing_in(message, *parts) == [] and "\n" not in message
    assert application.runs == 0 and files_of(place) == before and FULL_ERROR not in os.environ


def test_one_who_asks_hydra_for_the_whole_error_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FULL_ERROR, "1")
    with pytest.raises(hydra.errors.ConfigCompositionException, match="Could not override 'sed'"):
        multirun(Entered(), "-m", "sed=1,2")


def test_side_by_side_is_a_launchers_own_setting() -> None:
    overrides = ("seed=1,2", "hydra/launcher=one_by_one")
    with pytest.raises(ConfigError, match=r"^--jobs: .*\bhydra/launcher=one_by_one\b"):
        multirun(Entered(*overrides, jobs=2), "-m", *overrides)


def test_the_dvc_launcher_is_for_this_application_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    @hydra.main(config_path=str(Path("conf").resolve()), **BASE)
    def other(config: Any) -> None:
        raise AssertionError("it would have no stages")

    monkeypatch.setattr(sys, "argv", ["other", "-m", "hydra/launcher=dvc", "+a=1,2"])
    monkeypatch.setenv(FULL_ERROR, "1")
    with pytest.raises(TypeError, match=r"^hydra/launcher=dvc: .*`python -m bakeoff\.multirun`"):
        other()


class Launched(Entered):
    """A multirun whose jobs the chosen launcher of Hydra really starts."""

    def _run(self, manifest: SweepManifest) -> SweepManifest:
        assert self._launcher is not None
        manifest.folder.mkdir(parents=True, exist_ok=True)
        manifest.write()
        with self._open_backend(manifest) as place:
            return Launch(manifest, self.heard.print_line, self._settings.rules(), place=place).run()


def launched(manifest: SweepManifest, lines: list[str] | None = None, **rules: bool) -> SweepManifest:
    application = Launched(*manifest.overrides, resumed=manifest, **rules)
    application.heard.lines = [] if lines is None else lines
    manifest.write()
    end = multirun(application, "-m", *manifest.overrides)
    assert end is not None
    return end


def test_a_launcher_of_hydras_begins_each_job_and_the_manifest_knows_how_it_ended(instead: Instead) -> None:
    instead({1: "print('one', flush=True)\nend(0)", 2: "end(3)", 3: "os.kill(os.getpid(), 9)", 4: "end(0)"})
    lines: list[str] = []
    jobs = (sweep_job(1), sweep_job(2), sweep_job(3), sweep_job(4, state=DONE))
    end = launched(sweep(*jobs, overrides=ONE_BY_ONE), lines, follow=True)
    assert states(end) == states(load_manifest(end.folder)) == [DONE, FAILED, FAILED, DONE]
    assert [job.attempts[-1].why for job in end.jobs[:3]] == [None, "ended with code 3", "killed"]
    assert "1: one" in lines and end.job(4).attempts == ()
    assert list(Path(".bakeoff/hydra").glob("*/0"))  # where Hydra keeps what a launcher writes
    instead({2: "end(0)", 3: "end(0)"})
    assert states(launched(end)) == [DONE] * 4


def test_what_bakeoff_stop_takes_off_is_not_started(instead: Instead) -> None:
    instead({1: f"open({str(queued() / 'sweep-20260102-030405-2' / STOP_FILE)!r}, 'w').close()\nend(0)"})
    end = launched(sweep(sweep_job(1), sweep_job(2), overrides=ONE_BY_ONE))
    assert states(end) == [DONE, STOPPED]
    assert end.job(2).attempts[-1].why == "not started, as `bakeoff stop` asked"


def test_after_ctrl_c_it_begins_no_other(instead: Instead) -> None:
    waits = f"""
        from pathlib import Path
        from bakeoff.experiments.sweep import process_group
        from bakeoff.experiments.sweep.job import JobFiles
        files = JobFiles(Path(".bakeoff/sweeps/{ID}"), 1)
        process_group.note_leader(files.process)
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

    end = launched(sweep(sweep_job(1), sweep_job(2), overrides=ONE_BY_ONE), Impatient(), follow=True)
    assert states(end) == [STOPPED, WAITING]
    assert end.job(1).attempts[-1].why == "stopped by Ctrl-C"
    assert not (end.folder / "2.log").exists()


def test_a_job_whose_machine_was_taken_away_is_started_again_by_its_launcher(instead: Instead) -> None:
    """The second start writes its outcome only when that of the first was noticed."""
    lives = f"""
        try: end(75)
        except SystemExit: pass
        until = time.time() + 20
        while os.path.exists(".bakeoff/sweeps/{ID}/1.outcome.json") and time.time() < until: time.sleep(0.02)
        end(0)
    """
    instead({1: lives, 2: "end(75)"})
    lines: list[str] = []
    end = launched(sweep(sweep_job(1), sweep_job(2), overrides=ONE_BY_ONE), lines)
    assert states(end) == [DONE, STOPPED]
    first, last = [attempt.why for attempt in end.job(1).attempts]
    assert first is not None and "taken away" in first and last is None and end.job(2).why == first
    assert any(missing_in(line, "1 of 2", first, "launcher") == [] for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_a_launchers_own_handler_has_its_turn_when_the_job_has_ended() -> None:
    saves = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), sys.exit(75)))"
    command = [sys.executable, "-c", f"{saves}; print('ready', flush=True); time.sleep(60)"]
    asked: list[tuple[int, int | None]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout and child.stdout.readline()
        before = signal.signal(signal.SIGUSR2, lambda number, frame: asked.append((number, child.returncode)))
        try:
            with _pass_signals_on(child.pid):
                signal.raise_signal(signal.SIGTERM)
                child.wait()
        finally:
            signal.signal(signal.SIGUSR2, before)
    assert asked == [(signal.SIGUSR2, 75)]


def test_a_launcher_that_cannot_is_reported_for_every_job(instead: Instead) -> None:
    instead({})
    overrides = (*ONE_BY_ONE, "hydra.launcher.refuses='no such cluster'")
    end = launched(sweep(sweep_job(1), sweep_job(2), overrides=overrides))
    assert [job.attempts[-1].why for job in end.jobs] == ["the launcher: no such cluster"] * 2


class Climb(Entered):
    """The value of a job is greatest at seed 3."""

    come_to = staticmethod(lambda seed: -((seed - 3.0) ** 2))


class Lost(Climb):
    come_to = staticmethod(lambda seed: None if seed == 2 else 1.0 * seed)


UPHILL = ("lr=cosine", "hydra/sweeper=uphill")


def test_a_sweeper_of_hydras_proposes_by_the_results_of_its_configurations() -> None:
    climb = Climb(*UPHILL)
    manifest = multirun(climb, "-m", *UPHILL)
    assert climb.entered == [["lr=cosine", f"seed={seed}"] for seed in (1, 2, 3, 4)]  # 4 is worse than 3
    assert climb.names == [f"seed={seed}" for seed in (1, 2, 3, 4)]
    assert manifest is not None and [job.number for job in manifest.jobs] == [1, 2, 3, 4]
    assert len(list(Path(".bakeoff/hydra").iterdir())) == 1  # where a sweeper may write what it found


def test_a_sweeper_that_resumes_runs_no_configuration_again() -> None:
    first = multirun(Climb(*UPHILL), "-m", *UPHILL)
    assert first is not None
    two = replace(first, jobs=first.jobs[:2])
    two.folder.mkdir(parents=True)
    climb = Climb(*UPHILL, resumed=two)
    second = multirun(climb, "-m", *UPHILL)
    assert second is not None and second.jobs == first.jobs
    assert climb.entered == [["lr=cosine", "seed=3"], ["lr=cosine", "seed=4"]] and climb.runs == 2


def test_a_sweeper_gets_an_error_for_a_configuration_without_a_result() -> None:
    application = Lost(*UPHILL)
    manifest = multirun(application, "-m", *UPHILL)
    assert manifest is not None and states(manifest) == [DONE, FAILED]
    assert application.heard.lines == ["the sweeper ends, for seed=2: failed"]


def test_hydras_own_sweeper_needs_no_number() -> None:
    application = Lost("seed=1,2,3")
    manifest = multirun(application, "-m", "seed=1,2,3")
    assert manifest is not None and states(manifest) == [DONE, FAILED, DONE] and application.heard.lines == []


def test_batches_of_hydras_own_sweeper_are_one_sweep() -> None:
    overrides = ("seed=range(0,5)", "hydra.sweeper.max_batch_size=2")
    application = Entered(*overrides)
    manifest = multirun(application, "-m", *overrides)
    assert manifest is not None and [job.number for job in manifest.jobs] == [1, 2, 3, 4, 5] and application.runs == 3
