"""Hydra's own words in a sweep's -> the launcher and the sweeper that they choose, as Hydra makes them.

hydra/launcher=joblib hydra.launcher.n_jobs=4 hydra/sweeper=ax hydra.sweeper.ax_config.max_trials=20
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose, initialize
from hydra._internal.callbacks import Callbacks
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext

from bakeoff.errors import ConfigError, one_line
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.parameters import as_words
from bakeoff.sweep.points import Point

OURS = "hydra._internal.core_plugins."  # Hydra's plain ones, whose work bakeoff does itself
APPLICATION = "bakeoff_job"
QUIET = ("hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null")
Enter = Callable[[Sequence[Point], Manifest | None], Manifest]  # points that are new, into a sweep or a new one
Run = Callable[[Manifest], Manifest]


@dataclass(frozen=True)
class Chosen:
    """By default neither: points are Hydra's basic ones, jobs are processes of this machine."""

    has_launcher: bool
    has_sweeper: bool

    @classmethod
    def by(cls, words: Sequence[str]) -> "Chosen":
        """Raises ConfigError if they choose what is not installed, or has no such settings."""
        if not words:
            return cls(False, False)
        with hydra_config(words, Path()) as config:
            try:  # with its launcher
                Plugins.instance().instantiate_sweeper(
                    config=config, hydra_context=_context(config), task_function=_nothing
                )
            except (HydraException, ImportError, RuntimeError, TypeError, ValueError) as error:
                raise ConfigError(f"{' '.join(words)}: {one_line(error)}") from None
            return cls(not _is_plain(config, "launcher"), not _is_plain(config, "sweeper"))


@contextmanager
def hydra_config(words: Sequence[str], folder: Path) -> Iterator[Any]:
    """The application's configuration with Hydra's own part in it; Hydra is set up as long as the block lasts.

    The application has two keys: where the sweep is, and the number of a job. So whatever a launcher does with a
    configuration (compose it elsewhere, pickle it, send it), the variant is composed where it always is.
    """
    ConfigStore.instance().store(APPLICATION, {"folder": "", "job": 0})
    own = (f"hydra.sweep.dir={as_words(str(folder / 'hydra'))}", "hydra.mode=MULTIRUN")
    try:
        with initialize(config_path=None, version_base="1.3", job_name="bakeoff"):
            yield compose(APPLICATION, [*QUIET, *own, *words], return_hydra_config=True)
    except HydraException as error:
        raise ConfigError(f"{' '.join(words)}: {one_line(error).partition(' Config search path')[0]}") from None


def launcher_of(words: Sequence[str], folder: Path, task: Callable[[Any], Any]) -> Launcher | None:
    """For the sweep in the folder; None if they leave that to bakeoff."""
    with hydra_config(words, folder) as config:
        if _is_plain(config, "launcher"):
            return None
        return Plugins.instance().instantiate_launcher(_context(config), task, config)


def sweeper_of(words: Sequence[str], folder: Path, conf: Path, launcher: Launcher) -> Sweeper:
    """It hands its points to this launcher."""
    with hydra_config(words, folder) as config:
        found = Plugins.instance().instantiate_sweeper(
            config=config, hydra_context=_context(config, AnyPoint(conf)), task_function=_nothing
        )
    found.launcher = launcher  # every sweeper that works with any launcher has it
    return found


class AnyPoint:
    """A sweeper composes each point to see whether that can be done; that is for a sweep's own preflight to say."""

    def __init__(self, conf: Path) -> None:
        self._conf, self._loader = conf, GlobalHydra.instance().config_loader()

    def load_sweep_config(self, master_config: Any, sweep_overrides: list[str]) -> Any:
        return master_config

    def get_group_options(self, group_name: str, *also: Any) -> list[str]:
        return sorted(file.stem for file in (self._conf / group_name).glob("*.yaml"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _is_plain(config: Any, plugin: str) -> bool:
    return str(config.hydra[plugin]._target_).startswith(OURS)


def _context(config: Any, loader: Any = None) -> HydraContext:
    return HydraContext(config_loader=loader or GlobalHydra.instance().config_loader(), callbacks=Callbacks(config))


def _nothing(job: Any) -> None:
    """Jobs are begun elsewhere."""


class Worthless(RuntimeError):
    """What a sweeper gets instead of a number."""


class Enough(BaseException):
    """The sweeper is to propose no more; no error, which a plugin may catch."""


class Gate(Launcher):
    """What the sweeper takes for its launcher. A point that the sweep has already is not run again."""

    def __init__(self, enter: Enter, run: Run, manifest: Manifest | None = None) -> None:
        """`manifest` of a sweep that goes on."""
        self.manifest, self._enter, self._run = manifest, enter, run

    def setup(self, **ignored: object) -> None:
        """There is nothing to set up."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        points = [Point(tuple(words), tuple(words)) for words in job_overrides]
        new = [point for point in points if self._job_of(point) is None]
        if new:
            self.manifest = self._enter(new, self.manifest)
        assert self.manifest is not None
        if any(not job.state.is_final for job in map(self._job_of, points) if job):
            self.manifest = self._run(self.manifest)
            if any(not state.is_final for state in self.manifest.states - {JobState.FAILED}):
                raise Enough
        return [self._answer(point) for point in points]

    def _job_of(self, point: Point) -> SweepJob | None:
        jobs = self.manifest.jobs if self.manifest else ()
        return next((job for job in jobs if point.varied in job.points), None)

    def _answer(self, point: Point) -> JobReturn:
        job = self._job_of(point)
        assert job is not None
        done = JobReturn()
        done.overrides = list(point.overrides)
        if job.state == JobState.DONE and job.value is not None:
            done.status, done.return_value = JobStatus.COMPLETED, job.value
        else:
            done.status, done.return_value = JobStatus.FAILED, Worthless(f"{job.name}: {job.state}")
        return done
