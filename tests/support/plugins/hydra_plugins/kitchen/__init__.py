"""Plugins of Hydra's as others write them: a launcher, and a sweeper that follows what its points came to."""

from hydra.core.config_store import ConfigStore

from bakeoff.config.compose.hydra_versions import REPLACE

ConfigStore.instance().store(
    group="hydra/launcher",
    name="one_by_one",
    node={"_target_": f"{__name__}.launcher.OneByOne", "refuses": None},
    **REPLACE,
)
ConfigStore.instance().store(
    group="hydra/sweeper",
    name="uphill",
    node={"_target_": f"{__name__}.sweeper.Uphill", "rounds": 4, "first": 1},
    **REPLACE,
)
