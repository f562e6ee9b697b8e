"""`hydra/launcher: dvc`: each configuration of a multirun becomes a DVC experiment, checked before the first starts.

Hydra imports every module of `hydra_plugins` wherever it composes anything. So this one imports nothing that Hydra has
not imported, until it is used.
"""

from collections.abc import Sequence
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher

ConfigStore.instance().store(
    group="hydra/launcher",
    name="dvc",
    node={
        "_target_": f"{__name__}.DvcLauncher",
        "_recursive_": False,
        "jobs": None,  # so many side by side, if memory allows; by default one, on a cluster all that it has room for
        "follow": None,  # show the jobs' own words; by default if one runs at a time
        "fail_fast": False,  # begin no other job once one has failed
        "retries": 0,  # of a job that was killed, or had too little memory or disk
        "until": None,  # run this stage and those that it needs
        "yes": False,  # begin what takes more than an hour without asking
        "dry_run": False,  # say what would run, and run nothing
        "note": None,  # the description of all its runs in MLflow
        "on": None,  # where they run: local, ray, ray://HOST:PORT, slurm
        "begun_by": None,  # another launcher of Hydra's, which begins the jobs
    },
)


class DvcLauncher(Launcher):
    def __init__(self, begun_by: Any = None, **settings: Any) -> None:
        self._other_launcher, self._settings = begun_by, settings

    def setup(self, *, hydra_context: Any, task_function: Any, config: Any) -> None:
        from bakeoff.experiments.sweep.hydra_app import Multirun

        if not isinstance(task_function, Multirun):
            raise TypeError("hydra/launcher=dvc: must stand in `python -m bakeoff.multirun`, which knows DVC's stages")
        self._multirun = task_function
        self._multirun.set_up(self._settings, self._other_launcher, hydra_context, config)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        return self._multirun.launch(job_overrides)


class SparingSweeper(BasicSweeper):
    """Hydra's own sweeper composes every configuration to see whether it is legal; this one composes fewer.

    What Hydra refuses depends on keys and options, so one configuration for each choice of options is enough. The
    launcher checks the values of every configuration itself.
    """

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        assert self.hydra_context is not None
        groups = set(self.hydra_context.config_loader.list_groups(""))

        def find_shape(configuration: Sequence[str]) -> tuple[str, ...]:
            pairs = ((override.partition("=")[0], override) for override in configuration)
            return tuple(override if key in groups else key for key, override in pairs)

        first = {find_shape(configuration): configuration for configuration in reversed(batch)}
        super().validate_batch_is_legal(list(reversed(first.values())))
