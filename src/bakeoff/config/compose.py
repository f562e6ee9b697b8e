"""params.yaml + conf/ -> one tree of plain values, composed by Hydra; and for every key, where it was set."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from bakeoff.config.choice import EXPERIMENT, Choice, Chooser, Layer
from bakeoff.errors import ConfigError
from bakeoff.run.parse import Problems
from bakeoff.run.yaml_file import Document, Place, read_mapping

PRIMARY = "variant"  # conf/variant.yaml lists the groups
ORDER = "In '.*': Defaults list is missing `_self_`"  # said of an option by itself; it comes last, as in the variant


class Composed:
    """The composed groups; one with a mistake in its choice or its files is missing, the mistake is in `problems`."""

    def __init__(self, params: Path) -> None:
        self.tree: dict[str, Any] = {}
        self.problems = Problems(self.place_of)
        self.chosen: dict[str, Choice] = {}
        self.preset: str | None = None
        self.said: tuple[Layer, ...] = (Layer(params, Document({}, {}), ()),)  # command line and params.yaml, once read

    def layer_of(self, key: str) -> Layer | None:
        """The file that sets the key; None if its value is a default."""
        group, *inner = _place(key)
        layers = self.chosen[str(group)].layers if group in self.chosen else ()
        return next((layer for layer in layers if layer.line_of(tuple(inner)) is not None), None)

    def origin_of_choice(self, group: str) -> str:
        """Who chose the group's option: a line of params.yaml, or the preset."""
        return f"experiment {self.preset}" if self.chosen[group].by_preset else self.place_of(f"{group}.use")

    def place_of(self, key: str) -> str:
        """`file:line` where the key is set, or the file where it would be."""
        group, *inner = _place(key)
        for depth in range(len(inner), 0, -1):  # what is missing stands where it would belong
            for layer in self.chosen[str(group)].layers if group in self.chosen else ():
                if layer.line_of(tuple(inner[:depth])) is not None:
                    return layer.shown(tuple(inner[:depth]))
        if inner and inner != ["use"] and group in self.chosen:
            option = next(layer for layer in self.chosen[str(group)].layers if not layer.prefix)
            return option.path.as_posix()
        for place in ((group, *inner), (group,)):
            for layer in self.said:
                if layer.line_of(place) is not None:
                    return layer.shown(place)
        return self.said[-1].path.as_posix()


def compose(
    params: Path,
    conf: Path,
    *,
    groups: Iterable[str] | None = None,
    overrides: Sequence[str] = (),
    instead: Mapping[str, str] | None = None,
) -> Composed:
    """The variant that params.yaml and Hydra's overrides choose, or only some of its groups, each apart.

    `instead` names options to look at in place of what params.yaml says of their groups.
    """
    composed = Composed(params)
    problems = composed.problems
    every_group = _groups(conf)
    wanted = every_group if groups is None else list(groups)
    chooser = Chooser(params, conf, every_group, problems, overrides, instead or {})
    composed.said = chooser.layers
    chooser.check_keys()
    noted = len(problems.lines)
    preset = chooser.preset() if groups is None else None
    composed.preset = preset.name if preset else None
    for group in wanted:
        before = len(problems.lines)
        choice = chooser.choice(group, preset)
        if choice is not None and len(problems.lines) == before:
            composed.chosen[group] = choice
    if len(problems.lines) > noted or set(composed.chosen) != set(wanted) or groups is not None:
        trees = {group: _alone(conf, group, choice, composed) for group, choice in composed.chosen.items()}
        plain = {group: tree for group, tree in trees.items() if tree is not None}
    else:
        plain = _together(conf, composed)
    values = {key: value for key, value in chooser.said.values.items() if key not in {*every_group, EXPERIMENT}}
    composed.tree = values | plain | {"variant": {group: choice.use for group, choice in composed.chosen.items()}}
    return composed


def _together(conf: Path, composed: Composed) -> dict[str, Any]:
    """All groups in one Hydra composition, so that values can refer to each other."""
    overrides = [f"{group}={choice.use}" for group, choice in composed.chosen.items() if not choice.by_preset]
    if composed.preset is not None:
        overrides.append(f"{EXPERIMENT}={composed.preset}")
    try:
        tree = _composition(conf, PRIMARY, overrides)
    except HydraException as error:
        composed.problems.note(f"{conf.as_posix()}: {_one_line(error)}")
        return {}
    for group, choice in composed.chosen.items():
        tree[group] = OmegaConf.merge(tree[group], *choice.changes)
    resolved = {group: _resolved(tree, group, composed) for group in composed.chosen}
    return {group: value for group, value in resolved.items() if value is not None}


def _alone(conf: Path, group: str, choice: Choice, composed: Composed) -> dict[str, Any] | None:
    """One group without the others: for a stage that needs no more, or to find what else is wrong."""
    try:
        tree = _composition(conf, f"{group}/{choice.use}", [])
    except HydraException as error:
        composed.problems.note(f"{conf.as_posix()}: {_one_line(error)}")
        return None
    tree[group] = OmegaConf.merge(tree.get(group, {}), *choice.changes)
    return _resolved(tree, group, composed)


def _composition(conf: Path, name: str, overrides: list[str]) -> DictConfig:
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf.resolve()), version_base="1.3", job_name="bakeoff"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=ORDER)
        tree = hydra_compose(name, overrides)
    OmegaConf.set_struct(tree, False)
    return tree


def _resolved(tree: DictConfig, group: str, composed: Composed) -> dict[str, Any] | None:
    try:
        value = OmegaConf.to_container(tree[group], resolve=True, throw_on_missing=True)
    except InterpolationKeyError as error:
        if set(tree) == {group}:
            return None  # it may refer to another group, which has its own mistake
        composed.problems.add(
            str(error.full_key or group), f"cannot be resolved: {_one_line(error).split(' full_key:')[0]}"
        )
        return None
    except OmegaConfBaseException as error:
        key = str(getattr(error, "full_key", None) or group)
        text = _one_line(error).split(" full_key:")[0]
        composed.problems.add(key, f"cannot be resolved: {text}")
        return None
    assert isinstance(value, dict)
    return {str(key): item for key, item in value.items()}


def _groups(conf: Path) -> list[str]:
    path = conf / f"{PRIMARY}.yaml"
    defaults = read_mapping(path).get("defaults")
    if not isinstance(defaults, list):
        raise ConfigError(f"{path.as_posix()}: defaults: must list the groups")
    names = [next(iter(entry)) for entry in defaults if isinstance(entry, dict)]
    return [name for name in names if name != EXPERIMENT]


def _place(key: str) -> Place:
    """`model.anchors.aspect_ratios[1]` -> ("model", "anchors", "aspect_ratios", 1)."""
    return tuple(int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", key))


def _one_line(error: Exception) -> str:
    return " ".join(line.strip() for line in str(error).splitlines() if line.strip())
