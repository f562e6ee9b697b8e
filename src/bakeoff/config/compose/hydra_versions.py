"""What Hydra 1.4 and OmegaConf 2.4 deprecate, and 1.3 and 2.3 need."""

from typing import Any

import hydra
from omegaconf import OmegaConf

IS_OLD = tuple(map(int, hydra.__version__.split(".")[:2])) < (1, 4)
BASE: Any = {"version_base": "1.3"} if IS_OLD else {}  # arguments of hydra.main and hydra.initialize_config_dir
register_resolver: Any = OmegaConf.register_new_resolver if IS_OLD else OmegaConf.register_resolver
REPLACE: Any = {} if IS_OLD else {"replace": True}  # arguments of ConfigStore.store, whose entry may be there already
