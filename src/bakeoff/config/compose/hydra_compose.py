"""The groups of a variant, composed by Hydra and resolved by OmegaConf.

Whoever writes a value chooses what `${oc.env:NAME}` in it reads, and run.yaml, MLflow and the page show the result.
So a variable can be read only where whoever runs the machine has listed it in BAKEOFF_VARIABLES.
"""

import os
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException
from yaml import YAMLError

from bakeoff.config.compose.hydra_versions import BASE, REPLACE, register_resolver
from bakeoff.config.compose.option_lookup import EXPERIMENT, PRIMARY, ChosenOption
from bakeoff.config.compose.read_once import read_once
from bakeoff.foundation.shipped import PRIMARY_FILE, conf_folders, find_conf, hydra_search_path
from bakeoff.learning.run_file.parse import Problems

READABLE = "BAKEOFF_VARIABLES"  # the names of variables that a config may read, with commas between
BUILT_IN = f"{PRIMARY}_built_in"
MOST_KEPT = 32  # compositions
REFUSALS = (OmegaConfBaseException, RecursionError, ValueError, TypeError)  # OmegaConf's, some of them without a name


_composed: OrderedDict[tuple[Any, ...], Any] = OrderedDict()  # what Hydra made of which bytes
_hydra_is_free = Lock()  # Hydra keeps its state in one place of the process


def compose_groups(
    conf: Path, options: Mapping[str, ChosenOption], left_out: Sequence[str], preset: str | None, problems: Problems
) -> dict[str, Any]:
    """Return each group's option with its changes; a group that fails is left out, and why is noted in `problems`."""
    register_resolver("oc.env", read_variable, replace=True)
    chosen = [f"{group}={option.use}" for group, option in options.items() if not option.by_preset]
    overrides = (*([f"{EXPERIMENT}={preset}"] if preset else []), *chosen, *(f"~{group}" for group in left_out))
    try:
        tree = _compose_by_hydra(conf.resolve(), overrides)
    except (HydraException, YAMLError, OSError, *REFUSALS) as error:
        is_named = isinstance(error, (YAMLError, OSError)) and problems.lines  # the mistakes name its file already
        if not is_named:
            problems.note(f"{conf.as_posix()}: {_join_lines(error)}")
        return {}
    packed = {group: pickle.dumps(option.change) for group, option in options.items()}
    with suppress(*REFUSALS):  # the whole tree is merged below, for a message
        if not (read_once(_has_references, conf.resolve(), overrides) or any(b"${" in one for one in packed.values())):
            alone = (
                (group, read_once(_resolve_alone, conf.resolve(), overrides, group, packed[group])) for group in packed
            )
            return {group: pickle.loads(value) for group, value in alone}
    changes = {group: option.change for group, option in options.items() if option.change}
    try:
        tree = OmegaConf.merge(tree, changes)
    except REFUSALS:
        tree = _merge_one_by_one(tree, changes)
    resolved = {group: _resolve_group(tree, group, problems) for group in options}
    return {group: value for group, value in resolved.items() if value is not None}


def _compose_by_hydra(conf: Path, overrides: tuple[str, ...]) -> Any:
    """Return what Hydra makes of these options, once for the same files, which a sweep's configurations share."""
    folders, overrides = conf_folders(conf), (*hydra_search_path(conf), *overrides)
    key = (overrides, read_once(_read_all, folders))
    with _hydra_is_free:
        if key not in _composed:
            before = GlobalHydra.instance().hydra  # of a multirun that is at work
            GlobalHydra.instance().clear()
            name = PRIMARY
            if len(folders) > 1:  # Hydra takes the primary config from the first folder, or from its store
                name = BUILT_IN
                ConfigStore.instance().store(name, OmegaConf.load(find_conf(conf, PRIMARY_FILE)), **REPLACE)
            try:
                with initialize_config_dir(str(conf), job_name="bakeoff", **BASE):
                    composed = hydra_compose(name, list(overrides))
            finally:
                GlobalHydra.instance().hydra = before
            OmegaConf.set_struct(composed, False)
            _composed[key] = composed
            if len(_composed) > MOST_KEPT:
                _composed.popitem(last=False)
        return _composed[key]


def _has_references(conf: Path, overrides: tuple[str, ...]) -> bool:
    return "${" in OmegaConf.to_yaml(_compose_by_hydra(conf, overrides))


def _resolve_alone(conf: Path, overrides: tuple[str, ...], group: str, packed_change: bytes) -> bytes:
    """Return a group with its change, packed. Where nothing refers to other groups, each can be merged by itself."""
    merged = OmegaConf.merge(_compose_by_hydra(conf, overrides)[group], pickle.loads(packed_change))
    value = OmegaConf.to_container(merged, resolve=True, throw_on_missing=True)
    if not isinstance(value, dict):
        raise TypeError(group)
    return pickle.dumps({str(key): item for key, item in value.items()})


def _read_all(folders: Sequence[Path]) -> tuple[tuple[str, bytes], ...]:
    return tuple((str(path), path.read_bytes()) for one in folders for path in sorted(one.rglob("*.yaml")))


def _merge_one_by_one(tree: Any, changes: Mapping[str, dict[str, Any]]) -> Any:
    """Return the tree with the changes; a list for a mapping, or the reverse, takes the place of what was there."""
    for group, change in changes.items():
        for key, value in change.items():
            try:
                tree = OmegaConf.merge(tree, {group: {key: value}})
            except REFUSALS:
                tree = OmegaConf.merge(tree, {group: {key: None}}, {group: {key: value}})
    return tree


def _resolve_group(tree: Any, group: str, problems: Problems) -> dict[str, Any] | None:
    try:
        value = OmegaConf.to_container(tree[group], resolve=True, throw_on_missing=True)
    except REFUSALS as error:
        if isinstance(error, InterpolationKeyError) and problems.lines:
            return None  # it may refer to a group that is left out for its own mistake
        key = str(getattr(error, "full_key", None) or group)
        problems.add(key, f"cannot be resolved: {_join_lines(error).partition(' full_key:')[0]}")
        return None
    assert isinstance(value, dict)
    return {str(key): item for key, item in value.items()}


def _join_lines(error: Exception) -> str:
    return " ".join(str(error).split())


def read_variable(name: str, *default: str | None) -> str | None:
    """Return a variable that configs may read, or the default. Raises ValueError for any other variable."""
    if name not in {one.strip() for one in os.environ.get(READABLE, "").split(",")}:
        raise ValueError(f"${name} may not be read by a config; {READABLE}={name} in the environment allows it")
    value = os.environ.get(name, *default)
    if value is None and not default:
        raise KeyError(f"${name} is not set")
    return value
