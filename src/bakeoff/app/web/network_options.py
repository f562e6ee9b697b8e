"""The options of conf/model/ -> their settings, without a variant and without TensorFlow."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError
from bakeoff.foundation.shipped import find_conf, list_options
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.run_file.parse import Problems, parse_kind
from bakeoff.learning.run_file.yaml_file import read_mapping

GROUP = "model"  # of conf/
DEEPEST = 8  # options that build on each other


def list_networks(task: str) -> dict[str, Any]:
    """Return the settings of each option for a task, by its name."""
    options = {name: read_network(name) for name in list_options(workspace.CONF, GROUP)}
    return {name: network for name, network in options.items() if network is not None and network.task == task}


def read_network(name: str) -> Any:
    """Return the settings of an option of conf/model/; None if its file is wrong, which a plan says better."""
    file = find_conf(workspace.CONF, GROUP, f"{name}.yaml")
    return _parse_network(name, file.stat().st_mtime_ns if file.is_file() else 0)


@lru_cache(maxsize=256)
def _parse_network(name: str, changed: int) -> Any:
    try:
        return parse_kind(NETWORKS, _merge_bases(name, DEEPEST), GROUP, Problems(lambda key: key))
    except BakeoffError:
        return None


def _merge_bases(name: str, deepest: int) -> dict[str, Any]:
    """Return the values of an option with those of the options that it builds on."""
    tree = read_mapping(find_conf(workspace.CONF, GROUP, f"{name}.yaml"))
    bases, values = tree.pop("defaults", []), dict[str, Any]()
    for base in bases if isinstance(bases, list) and deepest else []:
        if base != "_self_":
            values = _merge(values, _merge_bases(str(base), deepest - 1))
    return _merge(values, tree)


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        is_deep = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if is_deep else value
    return merged
