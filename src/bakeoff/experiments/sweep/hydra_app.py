"""The Hydra application on conf/. Hydra's sweeper makes the configurations, `hydra/launcher: dvc` brings them here.

Here a batch of them is checked, entered into a sweep, and run: by our own launch, or by another launcher of Hydra if
one is chosen. `python -m bakeoff.multirun` and `bakeoff sweep` are its two callers.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Protocol

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.utils import instantiate

from bakeoff.config.compose.hydra_versions import BASE
from bakeoff.config.compose.variant import read_variant
from bakeoff.config.compose.whole_run import as_tree
from bakeoff.experiments.planning.estimate import cores_of_each
from bakeoff.experiments.sweep.backend import Backend
from bakeoff.experiments.sweep.configurations import Configuration, SplitOverrides, find_key, require_few, select_fixed
from bakeoff.experiments.sweep.git_snapshot import restore_start_folder
from bakeoff.experiments.sweep.hydra_backend import HydraBackend, run_one
from bakeoff.experiments.sweep.hydra_config import GRID, NAME, move_launcher, store_primary
from bakeoff.experiments.sweep.launch import Launch
from bakeoff.experiments.sweep.launcher_settings import Settings
from bakeoff.experiments.sweep.mlflow_parent import report_to_mlflow
from bakeoff.experiments.sweep.plan_jobs import PlannedJob, begin, extend, minutes_of, preflight
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest, one_launcher
from bakeoff.experiments.sweep.team_quota import require_minutes
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError, ConfigError, one_line
from bakeoff.foundation.shipped import hydra_search_path

FULL_ERROR = "HYDRA_FULL_ERROR"  # for Hydra: raise what is wrong, instead of writing about it
NEEDS_NO_NUMBER = (GRID, "basic")  # sweepers that do not look at results
MOST_LETTERS = 2000  # of an error of Hydra's
END = re.compile(r" Config search path:| full_key: ")  # the text from here on is for authors of plugins
OF_PLUGINS = (ImportError, RuntimeError, TypeError, ValueError)  # what Hydra and its plugins raise besides


class Worthless(RuntimeError):
    """The error that a sweeper gets instead of a number."""


class Enough(BaseException):
    """Ends a sweeper, which has no other way to end early. It is no Exception, because a sweeper might catch that."""


class MultirunCaller(Protocol):
    """The caller of a multirun, which shows lines and jobs to the user."""

    def print_line(self, line: str) -> None: ...

    def show(self, jobs: Sequence[PlannedJob], configurations: int, settings: Settings, *, ask: bool) -> None:
        """Show the jobs that are about to run. Raises WorkspaceError if the user must confirm them, and does not."""

    def place_at(self, on: str | None, overrides: Sequence[str]) -> AbstractContextManager[Backend]:
        """Return the place where jobs run. Raises WorkspaceError if it cannot be reached.

        `overrides` are those of the sweep, among which may be settings of the place.
        """


class Multirun:
    """One multirun. For Hydra it is the application's main function, which `DvcLauncher` gets, too."""

    def __init__(
        self,
        door: MultirunCaller,
        overrides: Sequence[str],
        *,
        options: Mapping[str, Any] | None = None,
        resumed: SweepManifest | None = None,
        only_queues: bool = False,
    ) -> None:
        """`overrides` are kept with the sweep. `options` are settings that came from options of the command line.

        A `resumed` sweep gets no job that it already has. With `only_queues` the sweep is written down and not run.
        """
        self.manifest = resumed
        self._door, self._overrides, self._options = door, tuple(overrides), dict(options or {})
        self._only_queues = only_queues
        self._uses_start_folder = resumed is not None
        self._settings = Settings()
        self._fixed: dict[str, str] = {}
        self._launcher: Launcher | None = None
        self._refused: BakeoffError | None = None
        self._sweeper, self._has_started = GRID, False
        self._folder = Path()  # hydra.sweep.dir
        self._notes: Path | None = None  # the folder that Hydra makes for its own notes, if it is new
        self._lock = ExitStack()  # held as long as the sweeper is at work, also between its batches

    def run(self, argv: Sequence[str], *, whole_of: Sequence[str] | None = None) -> SweepManifest | None:
        """Run the application with a program's name and arguments. Return the sweep as far as it came, or None if none
        started.

        `whole_of` are overrides whose run.yaml Hydra shows as the configuration.
        """
        place = restore_start_folder(self.manifest) if self._uses_start_folder and self.manifest else Path()
        whole = None if whole_of is None else _compose_run(whole_of)
        require_few(self._overrides, sure=bool(self._options.get("yes")))
        store_primary(place / workspace.PARAMS, whole)
        conf = (place / workspace.CONF).resolve()
        main = hydra.main(config_path=str(conf), config_name=NAME, **BASE)
        with self._lock, _given_to_hydra([*move_launcher(argv), *hydra_search_path(conf)]):
            if self.manifest is not None:
                self._lock.enter_context(one_launcher(self.manifest.folder))
            self._run_hydra(main(self))
        if self._refused is not None:
            self._remove_notes()
            raise self._refused
        if self._settings.dry_run:
            self._remove_notes()
            return None
        return self.manifest

    def _run_hydra(self, application: Callable[[], None]) -> None:
        """Run the application to its end. Keep an error that comes before the first job, to be printed in one line."""
        wants_all = os.environ.get(FULL_ERROR) == "1"
        os.environ[FULL_ERROR] = "1"
        try:
            application()
        except Enough:  # jobs are left, because the launch was stopped; the manifest says which
            pass
        except BakeoffError as error:
            self._refused = error
        except Exception as error:
            if wants_all or not (self._has_started or isinstance(error, (HydraException, *OF_PLUGINS))):
                raise
            if not self._has_started:
                self._refused = ConfigError(f"command line: {_format_hydra_error(error)}")
            elif not (isinstance(error, Worthless) and self._sweeper in NEEDS_NO_NUMBER):
                # A sweeper may raise anything, most often for a job that came to nothing.
                self._door.print_line(f"the sweeper ends, for {one_line(error)}")
        finally:
            if not wants_all:
                del os.environ[FULL_ERROR]

    def __call__(self, config: Any) -> None:
        """Run one configuration, which needs no sweeper. Hydra calls this without --multirun."""
        hydra_config = HydraConfig.get()
        try:
            settings = dict(hydra_config.launcher)
            self._settings = Settings.read({} if settings.pop("begun_by") else settings | self._options)
            self._notes = Path(hydra_config.runtime.output_dir)
            self._run_all(self._make_configurations([list(hydra_config.overrides.task)]))
        except BakeoffError as error:  # Hydra would also print it
            self._refused = error

    def set_up(self, settings: Mapping[str, Any], other_launcher: Any, hydra_context: Any, config: Any) -> None:
        """Set up the launcher. Raises now if another launcher's own settings are wrong."""
        self._settings = Settings.read({**settings, **self._options})
        self._fixed = select_fixed(config.hydra.overrides.task)
        self._sweeper = config.hydra.runtime.choices["hydra/sweeper"]
        self._folder = Path(config.hydra.sweep.dir)
        self._notes = None if self._folder.exists() else self._folder
        if other_launcher is None:
            return
        hydra_overrides = " ".join(SplitOverrides.split(self._overrides).hydra)
        if (self._settings.jobs or 1) > 1:
            raise ConfigError(
                f"--jobs: must stand without {hydra_overrides}: the launcher's own settings say how many run at once"
            )
        if not self._settings.is_here:
            raise ConfigError(
                f"--on {self._settings.on}: must stand without {hydra_overrides}, for that says where jobs run, too"
            )
        self._launcher = instantiate(other_launcher)
        self._launcher.setup(hydra_context=hydra_context, task_function=run_one, config=config)

    def launch(self, job_overrides: Sequence[Sequence[str]]) -> list[JobReturn]:
        """Run a sweeper's batch of configurations and return the result of each. Raises Enough if some have none."""
        configurations = self._make_configurations(job_overrides)
        if not self._run_all(configurations):
            raise Enough
        return [self._make_return(configuration) for configuration in configurations]

    def _make_configurations(self, job_overrides: Sequence[Sequence[str]]) -> list[Configuration]:
        if not job_overrides:
            raise ConfigError(
                f"command line: {' '.join(self._overrides)}: must stand for one configuration or more, got none"
            )
        return [self._make_configuration(overrides) for overrides in job_overrides]

    def _make_configuration(self, overrides: Sequence[str]) -> Configuration:
        varied = [override for override in overrides if self._fixed.get(find_key(override)) is None]
        return Configuration(tuple(overrides), tuple(varied))

    def _run_all(self, configurations: Sequence[Configuration]) -> bool:
        """Run these configurations, but for those that the sweep already has; return whether all came to an end."""
        new = [configuration for configuration in configurations if self._job_of(configuration) is None]
        if new:
            entered = self._enter(new, self.manifest)
            if entered is None:
                return False
            self.manifest = entered
        if new and self._only_queues:
            return False
        assert self.manifest is not None
        if any(not job.state.is_final for job in map(self._job_of, configurations) if job):
            self._has_started = True
            self._folder.mkdir(parents=True, exist_ok=True)  # sweepers expect that a launcher has made it
            self.manifest = self._run(self.manifest)
            return all(state.is_final for state in self.manifest.states - {JobState.FAILED})
        return True

    def _enter(self, configurations: Sequence[Configuration], manifest: SweepManifest | None) -> SweepManifest | None:
        """Return the sweep with jobs for these configurations; None if they are only to be shown."""
        settings, cores = self._settings, cores_of_each(self._settings.jobs or 1)
        jobs = preflight(
            configurations, until=settings.until, cores=cores, other_data=True, builds=not settings.dry_run
        )
        require_minutes(minutes_of(jobs), manifest.person if manifest else settings.person)
        self._door.show(jobs, len(configurations), settings, ask=manifest is None)
        if settings.dry_run:
            return None
        if manifest is not None:
            return extend(manifest, jobs)
        manifest = begin(jobs, self._overrides, settings.until, note=settings.note, person=settings.person)
        if not self._only_queues:
            self._lock.enter_context(one_launcher(manifest.folder))
            self._door.print_line(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        return manifest

    def _run(self, manifest: SweepManifest) -> SweepManifest:
        with self._open_backend(manifest) as place, report_to_mlflow(manifest):
            return Launch(manifest, self._door.print_line, self._settings.rules(), place=place).run()

    def _open_backend(self, manifest: SweepManifest) -> AbstractContextManager[Backend]:
        if self._launcher is not None:
            return nullcontext(HydraBackend(self._launcher, tuple(self._fixed.values())))
        return self._door.place_at(self._settings.on, manifest.overrides)

    def _job_of(self, configuration: Configuration) -> SweepJob | None:
        jobs = self.manifest.jobs if self.manifest else ()
        overrides = configuration.varied or configuration.overrides
        return next((job for job in jobs if overrides in job.configurations), None)

    def _make_return(self, configuration: Configuration) -> JobReturn:
        job = self._job_of(configuration)
        assert job is not None
        done = JobReturn()
        done.overrides = list(configuration.overrides)
        if job.state == JobState.DONE and (job.value is not None or self._sweeper in NEEDS_NO_NUMBER):
            done.status, done.return_value = JobStatus.COMPLETED, job.value
        else:
            done.status, done.return_value = JobStatus.FAILED, Worthless(f"{job.name}: {job.state}")
        return done

    def _remove_notes(self) -> None:
        if self._notes is not None and self._notes.is_dir():
            shutil.rmtree(self._notes)
            with suppress(OSError):  # it holds notes of other runs
                self._notes.parent.rmdir()


def _compose_run(overrides: Sequence[str]) -> dict[str, Any]:
    variant = read_variant(overrides=overrides)
    return as_tree(variant.whole())


def _format_hydra_error(error: BaseException) -> str:
    """Return the error with its cause, because Hydra often hides the message of OmegaConf behind its own."""
    texts = [END.split(one_line(one, MOST_LETTERS))[0] for one in (error, error.__cause__) if one]
    return "; ".join(text.removesuffix(".") for text in texts if text)


@contextmanager
def _given_to_hydra(argv: Sequence[str]) -> Iterator[None]:
    """Let Hydra find these arguments where it reads them, in `sys.argv`."""
    before, sys.argv = sys.argv, list(argv)
    try:
        yield
    finally:
        sys.argv = before
