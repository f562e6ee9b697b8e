"""The Hydra application on conf/. Hydra's sweeper makes the points, `hydra/launcher: dvc` brings them here.

Here they are checked, all of a batch at once, entered into a sweep, and run: by our own launch, or by another launcher
of Hydra's if one is chosen. `python -m bakeoff.multirun` and `bakeoff sweep` are its two doors.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.plugins.launcher import Launcher
from omegaconf import open_dict

from bakeoff import workspace
from bakeoff.config.variant import read_variant
from bakeoff.errors import BakeoffError, ConfigError, one_line
from bakeoff.planning.estimate import cores_of_each
from bakeoff.run.settings import as_tree
from bakeoff.sweep.budget import require_minutes
from bakeoff.sweep.hydra_launch import LaunchByHydra, run_one
from bakeoff.sweep.launch import Launch
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob, one_launcher
from bakeoff.sweep.multirun_settings import Settings
from bakeoff.sweep.parent_run import report_to_mlflow
from bakeoff.sweep.place import Place
from bakeoff.sweep.points import Point, Words, fixed_words, key_of, require_few
from bakeoff.sweep.preflight import Job, begin, extend, minutes_of, preflight
from bakeoff.sweep.primary import BASIC_SWEEPER, DVC_LAUNCHER, NAME, OWN_SWEEPER, store_primary
from bakeoff.sweep.snapshot import folder_as_begun

FULL_ERROR = "HYDRA_FULL_ERROR"  # for Hydra: raise what is wrong, instead of writing about it
BASIC = "basic"  # Hydra's own sweeper
MOST_LETTERS = 2000  # of what Hydra says
END = re.compile(r" Config search path:| full_key: ")  # what follows is for those who write plugins
OF_PLUGINS = (ImportError, RuntimeError, TypeError, ValueError)  # what Hydra and its plugins raise besides


class Worthless(RuntimeError):
    """What a sweeper gets instead of a number."""


class Enough(BaseException):
    """Hydra is to do no more; no error, which a plugin may catch."""


class Door(Protocol):
    """Whoever asks for a multirun, and hears of it."""

    def say(self, line: str) -> None: ...

    def show(self, jobs: Sequence[Job], points: int, settings: Settings, *, ask: bool) -> None:
        """Show what is about to run. Raises WorkspaceError if it must be confirmed, and is not."""

    def place_at(self, on: str | None) -> AbstractContextManager[Place]:
        """Give the place where jobs run. Raises WorkspaceError if it cannot be reached."""


class ThroughDvc(Callback):
    """Whatever launcher is chosen, it begins jobs that ours has checked and entered."""

    def on_multirun_start(self, config: Any, **ignored: Any) -> None:
        chosen = config.hydra.launcher
        if chosen.get("_target_") != DVC_LAUNCHER:
            with open_dict(config.hydra):
                config.hydra.launcher = {"_target_": DVC_LAUNCHER, "_recursive_": False, "begun_by": chosen}
        if config.hydra.sweeper.get("_target_") == BASIC_SWEEPER:
            config.hydra.sweeper._target_ = OWN_SWEEPER


class Multirun:
    """For Hydra the application's main function, which `DvcLauncher` is given, too."""

    def __init__(
        self,
        door: Door,
        words: Sequence[str],
        *,
        said: Mapping[str, Any] | None = None,
        going_on: Manifest | None = None,
        lines_up: bool = False,
    ) -> None:
        """`words` as the sweep keeps them; `said` are settings that were not said in Hydra's words.

        A sweep that is `going_on` gets no job that it has. One that `lines_up` is written down and not run.
        """
        self.manifest = going_on
        self._door, self._words, self._said, self._lines_up = door, tuple(words), dict(said or {}), lines_up
        self._as_begun = going_on is not None
        self._settings = Settings()
        self._fixed: dict[str, str] = {}
        self._launcher: Launcher | None = None
        self._refused: BakeoffError | None = None
        self._sweeper, self._has_begun = BASIC, False
        self._folder = Path()  # hydra.sweep.dir
        self._notes: Path | None = None  # the folder that Hydra makes for its own notes, if it is new
        self._lock = ExitStack()  # held as long as the sweeper is at work, also between its batches

    def run(self, *, whole_of: Sequence[str] | None = None) -> Manifest | None:
        """Run the application by `sys.argv`. Return the sweep as far as it came, None if none began.

        `whole_of` are words whose run.yaml is to be shown as the configuration.
        """
        place = folder_as_begun(self.manifest) if self._as_begun and self.manifest else Path()
        whole = None if whole_of is None else _run_yaml(whole_of)
        require_few(self._words, sure=bool(self._said.get("yes")))
        store_primary(place / workspace.PARAMS, whole)
        main = hydra.main(version_base="1.3", config_path=str((place / workspace.CONF).resolve()), config_name=NAME)
        with self._lock, suppress(Enough), self._errors_in_one_line():
            if self.manifest is not None:
                self._lock.enter_context(one_launcher(self.manifest.folder))
            main(self)()
        if self._refused is not None:
            self._forget_notes()
            raise self._refused
        if self._settings.dry_run:
            self._forget_notes()
            return None
        return self.manifest

    def __call__(self, config: Any) -> None:
        """One point, which needs no sweeper: Hydra's own way to run without --multirun."""
        own = HydraConfig.get()
        try:
            settings = dict(own.launcher) if own.launcher.get("_target_") == DVC_LAUNCHER else {}
            self._settings = Settings.read(settings | self._said)
            self._notes = Path(own.runtime.output_dir)
            self.launch([list(own.overrides.task)])
        except BakeoffError as error:  # as itself; Hydra would write about it, too
            self._refused = error
        raise Enough

    def set_up(self, settings: Mapping[str, Any], begun_by: Any, hydra_context: Any, config: Any) -> None:
        """As a launcher is set up; what is wrong with another launcher's own settings is said now."""
        self._settings = Settings.read({**settings, **self._said})
        self._fixed = fixed_words(config.hydra.overrides.task)
        self._sweeper = config.hydra.runtime.choices["hydra/sweeper"]
        self._folder = Path(config.hydra.sweep.dir)
        self._notes = None if self._folder.exists() else self._folder
        if begun_by is None:
            return
        own = " ".join(Words.split(self._words).hydra)
        if (self._settings.jobs or 1) > 1:
            raise ConfigError(f"--jobs: must stand without {own}: the launcher's own settings say how many run at once")
        if not self._settings.is_here:
            raise ConfigError(f"--on {self._settings.on}: must stand without {own}, for that says where jobs run, too")
        inner = deepcopy(config)
        with open_dict(inner.hydra):
            inner.hydra.launcher = begun_by
        self._launcher = Plugins.instance().instantiate_launcher(hydra_context, run_one, inner)

    def launch(self, job_overrides: Sequence[Sequence[str]]) -> list[JobReturn]:
        """Run these points, but for those that the sweep has already, and return what each came to."""
        points = [self._point(words) for words in job_overrides]
        if not points:
            raise ConfigError(f"command line: {' '.join(self._words)}: must stand for one point or more, got none")
        new = [point for point in points if self._job_of(point) is None]
        if new:
            self.manifest = self._enter(new, self.manifest)
        assert self.manifest is not None
        if any(not job.state.is_final for job in map(self._job_of, points) if job):
            self._has_begun = True
            self._folder.mkdir(parents=True, exist_ok=True)  # as launchers do, and sweepers count on it
            self.manifest = self._run(self.manifest)
            if any(not state.is_final for state in self.manifest.states - {JobState.FAILED}):
                raise Enough
        return [self._answer(point) for point in points]

    def _point(self, words: Sequence[str]) -> Point:
        plain = [word.removesuffix("=null") if word.startswith("~") else word for word in words]
        return Point(tuple(plain), tuple(word for word in plain if self._fixed.get(key_of(word)) is None))

    def _enter(self, points: Sequence[Point], manifest: Manifest | None) -> Manifest:
        cores = cores_of_each(self._settings.jobs or 1)
        jobs = preflight(points, until=self._settings.until, cores=cores, folds=True)
        require_minutes(minutes_of(jobs), manifest.person if manifest else self._settings.person)
        self._door.show(jobs, len(points), self._settings, ask=manifest is None)
        if self._settings.dry_run:
            raise Enough
        if manifest is not None:
            return extend(manifest, jobs)
        settings = self._settings
        manifest = begin(jobs, self._words, settings.until, note=settings.note, person=settings.person)
        if self._lines_up:
            self.manifest = manifest
            raise Enough
        self._lock.enter_context(one_launcher(manifest.folder))
        self._door.say(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        return manifest

    def _run(self, manifest: Manifest) -> Manifest:
        rules, say = self._settings.rules(), self._door.say
        if self._launcher is not None:
            launch: Launch = LaunchByHydra(manifest, say, rules, self._launcher, tuple(self._fixed.values()))
            with report_to_mlflow(manifest):
                return launch.run()
        with self._door.place_at(self._settings.on) as place:
            launch = Launch(manifest, say, rules, place=place)
            with report_to_mlflow(manifest):
                return launch.run()

    def _job_of(self, point: Point) -> SweepJob | None:
        jobs = self.manifest.jobs if self.manifest else ()
        return next((job for job in jobs if (point.varied or point.overrides) in job.points), None)

    def _answer(self, point: Point) -> JobReturn:
        job = self._job_of(point)
        assert job is not None
        done = JobReturn()
        done.overrides = list(point.overrides)
        if job.state == JobState.DONE and (job.value is not None or self._sweeper == BASIC):
            done.status, done.return_value = JobStatus.COMPLETED, job.value
        else:
            done.status, done.return_value = JobStatus.FAILED, Worthless(f"{job.name}: {job.state}")
        return done

    @contextmanager
    def _errors_in_one_line(self) -> Iterator[None]:
        wants_all = os.environ.get(FULL_ERROR) == "1"
        os.environ[FULL_ERROR] = "1"
        try:
            yield
        except BakeoffError as error:
            self._refused = error
        except Exception as error:
            if wants_all:
                raise
            if self._has_begun:  # a sweeper may raise anything, most often for a job that came to nothing
                if not (isinstance(error, Worthless) and self._sweeper == BASIC):
                    self._door.say(f"the sweeper ends, for {one_line(error)}")
            elif isinstance(error, (HydraException, *OF_PLUGINS)):
                self._refused = ConfigError(f"command line: {_what_hydra_says(error)}")
            else:
                raise
        finally:
            if not wants_all:
                del os.environ[FULL_ERROR]

    def _forget_notes(self) -> None:
        if self._notes is not None and self._notes.is_dir():
            shutil.rmtree(self._notes)
            with suppress(OSError):  # others' are there
                self._notes.parent.rmdir()


def _run_yaml(words: Sequence[str]) -> dict[str, Any]:
    variant = read_variant(
        workspace.PARAMS, workspace.CONF, workspace.RECORDS, facts=workspace.facts(), overrides=words
    )
    return as_tree(variant.whole())


def _what_hydra_says(error: BaseException) -> str:
    """With what OmegaConf said, of which Hydra often has no more than that it said something."""
    texts = [END.split(one_line(one, MOST_LETTERS))[0] for one in (error, error.__cause__) if one]
    return "; ".join(text.removesuffix(".") for text in texts if text)
