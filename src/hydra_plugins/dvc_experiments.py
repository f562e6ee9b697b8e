"""`hydra/launcher: dvc`: each configuration of a multirun becomes a DVC experiment, checked before the first starts.

Hydra imports every module of `hydra_plugins` wherever it composes anything. So this one imports nothing that Hydra has
not imported, until it is used.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper

from bakeoff.config.compose.hydra_versions import REPLACE

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
    **REPLACE,
)


ConfigStore.instance().store(
    group="hydra/sweeper",
    name="dvc",
    node={"_target_": f"{__name__}.GridSweeper", "max_batch_size": None, "params": None},
    **REPLACE,
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


class GridSweeper(Sweeper):
    """Every combination of the values, as Hydra's basic sweeper makes them, with fewer compositions.

    That one composes every configuration to see whether it is legal. What Hydra refuses depends on keys and options, so
    one configuration for each choice of options is enough. The launcher checks the values of every one itself.
    """

    def __init__(self, max_batch_size: int | None = None, params: Mapping[str, str] | None = None) -> None:
        self._batch_size, self._params = max_batch_size, dict(params or {})

    def setup(self, *, hydra_context: Any, task_function: Any, config: Any) -> None:
        from hydra.core.override_parser.overrides_parser import OverridesParser
        from hydra.core.plugins import Plugins

        self.hydra_context, self.config = hydra_context, config
        self._parser = OverridesParser.create(config_loader=hydra_context.config_loader)
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> list[Sequence[JobReturn]]:
        from omegaconf import OmegaConf

        configurations = self._list_configurations(
            [*(f"{key}={value}" for key, value in self._params.items()), *arguments]
        )
        assert self.config is not None
        folder = Path(self.config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, folder / "multirun.yaml")
        size = self._batch_size or max(len(configurations), 1)
        returns = []
        for start in range(0, max(len(configurations), 1), size):
            batch = configurations[start : start + size]
            self.validate_batch_is_legal(batch)
            returns.append(self._launcher.launch(batch, initial_job_idx=start))
            for result in returns[-1]:
                _ = result.return_value  # raises the error of a job that failed
        return returns

    def _list_configurations(self, overrides: list[str]) -> list[list[str]]:
        from hydra.errors import HydraException

        axes: dict[str, list[str]] = {}
        for override in self._parser.parse_overrides(overrides):
            key = override.get_key_element()
            if not override.is_sweep_override():
                takes_away = override.is_delete() and override.value() is None
                axes[key] = [key if takes_away else f"{key}={override.get_value_element_as_str()}"]
            elif override.is_discrete_sweep():
                axes[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
            else:
                raise HydraException(f"{override.input_line}: an interval needs a sweeper that draws from it")
        return [[*configuration] for configuration in itertools.product(*axes.values())]

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        assert self.hydra_context is not None
        groups = set(self.hydra_context.config_loader.list_groups(""))

        def find_shape(configuration: Sequence[str]) -> tuple[str, ...]:
            pairs = ((override.partition("=")[0], override) for override in configuration)
            return tuple(override if key in groups else key for key, override in pairs)

        first = {find_shape(configuration): configuration for configuration in reversed(batch)}
        super().validate_batch_is_legal(list(reversed(first.values())))
