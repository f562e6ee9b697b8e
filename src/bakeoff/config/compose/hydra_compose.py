"""Groups composed by Hydra and resolved by OmegaConf; only files that hold more than plain values need that.

Whoever writes a value chooses what `${oc.env:NAME}` in it reads, and run.yaml, MLflow and the page show the result.
So a variable can be read only where whoever runs the machine has listed it in BAKEOFF_VARIABLES.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from bakeoff.config.compose.fast_compose import PRIMARY, merge
from bakeoff.learning.run_file.parse import Problems

READABLE = "BAKEOFF_VARIABLES"  # the names of variables that a config may read, with commas between
REFUSALS = (OmegaConfBaseException, RecursionError, ValueError, TypeError)  # OmegaConf's, some of them without a name


def compose_groups(
    conf: Path,
    options: Mapping[str, str],
    left_out: list[str],
    changes: Mapping[str, tuple[dict[str, Any], ...]],
    problems: Problems,
) -> dict[str, Any]:
    """Return each group's option with its changes; a group that fails is left out, and why is noted in `problems`."""
    OmegaConf.register_new_resolver("oc.env", read_variable, replace=True)
    overrides = [*(f"{group}={option}" for group, option in options.items()), *(f"~{group}" for group in left_out)]
    try:
        composed = _compose_options(conf.resolve(), tuple(overrides), _read_all(conf))
        tree = OmegaConf.create({group: merge(composed[group], *changes[group]) for group in options})
    except (HydraException, *REFUSALS) as error:
        problems.note(f"{conf.as_posix()}: {' '.join(str(error).split())}")
        return {}
    resolved = {group: _resolve_group(tree, group, problems) for group in options}
    return {group: value for group, value in resolved.items() if value is not None}


@lru_cache(maxsize=32)
def _compose_options(conf: Path, overrides: tuple[str, ...], content: tuple[bytes, ...]) -> Any:
    """Return what Hydra makes of these options, which many configurations of a sweep have in common."""
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf), version_base="1.3", job_name="bakeoff"):
        return OmegaConf.to_container(hydra_compose(PRIMARY, list(overrides)))


def _read_all(conf: Path) -> tuple[bytes, ...]:
    return tuple(part for path in sorted(conf.rglob("*.yaml")) for part in (str(path).encode(), path.read_bytes()))


def _resolve_group(tree: Any, group: str, problems: Problems) -> dict[str, Any] | None:
    try:
        value = OmegaConf.to_container(tree[group], resolve=True, throw_on_missing=True)
    except REFUSALS as error:
        if isinstance(error, InterpolationKeyError) and problems.lines:
            return None  # it may refer to a group that is left out for its own mistake
        key = str(getattr(error, "full_key", None) or group)
        problems.add(key, f"cannot be resolved: {' '.join(str(error).split()).partition(' full_key:')[0]}")
        return None
    assert isinstance(value, dict)
    return {str(key): item for key, item in value.items()}


def read_variable(name: str, *default: str | None) -> str | None:
    """Return a variable that configs may read, or the default. Raises ValueError for any other variable."""
    if name not in {one.strip() for one in os.environ.get(READABLE, "").split(",")}:
        raise ValueError(f"${name} may not be read by a config; {READABLE}={name} in the environment allows it")
    value = os.environ.get(name, *default)
    if value is None and not default:
        raise KeyError(f"${name} is not set")
    return value
