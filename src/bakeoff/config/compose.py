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
        """Return the file that sets the key; None if its value is a default."""
        group, *inner = _place(key)
        layers = self.chosen[str(group)].layers if group in self.chosen else ()
        return next((layer for layer in layers if layer.line_of(tuple(inner)) is not None), None)

    def origin_of_choice(self, group: str) -> str:
        """Return who chose the group's option: a line of params.yaml, or the preset."""
        return f"experiment {self.preset}" if self.chosen[group].by_preset else self.place_of(f"{group}.use")

    def place_of(self, key: str) -> str:
        """Return `file:line` where the key is set, or the file where it would be."""
        group, *inner = _place(key)
        for depth in range(len(inner), 0, -1):  # what is missing stands where it would belong
            for layer in self.chosen[str(group)].layers if group in self.chosen else ():
                if layer.line_of(tuple(inner[:depth])) is not None:
                    return layer.locate(tuple(inner[:depth]))
        if inner and inner != ["use"] and group in self.chosen:
            option = next(layer for layer in self.chosen[str(group)].layers if not layer.prefix)
            return option.path.as_posix()
        for place in ((group, *inner), (group,)):
            for layer in self.said:
                if layer.line_of(place) is not None:
                    return layer.locate(place)
        return self.said[-1].path.as_posix()


def compose(
    params: Path,
    conf: Path,
    *,
    groups: Iterable[str] | None = None,
    overrides: Sequence[str] = (),
    instead: Mapping[str, str] | None = None,
) -> Composed:
    """Return the variant that params.yaml and Hydra's overrides choose, or only some of its groups, each apart.

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
    sound = len(problems.lines) == noted and set(composed.chosen) == set(wanted)
    if groups is not None:
        plain = _compose_apart(conf, composed)  # nothing else is asked for
    elif sound:  # together, so that values can refer to each other
        options = [f"{group}={choice.use}" for group, choice in composed.chosen.items() if not choice.by_preset]
        options += [f"{EXPERIMENT}={preset.name}"] if preset else []
        try:
            plain = _compose_groups(conf, PRIMARY, options, composed.chosen, composed)
        except HydraException as error:
            problems.note(_refusal(conf, error))
            plain = {}
    else:  # to find what else is wrong, without the groups that have a mistake
        options = [
            f"{group}={composed.chosen[group].use}" if group in composed.chosen else f"~{group}" for group in wanted
        ]
        try:
            plain = _compose_groups(conf, PRIMARY, options, composed.chosen, composed, partly=True)
        except HydraException:  # of one group, which does not make the others wrong
            plain = _compose_apart(conf, composed)
    values = {key: value for key, value in chooser.said.values.items() if key not in {*every_group, EXPERIMENT}}
    composed.tree = values | plain | {"variant": {group: choice.use for group, choice in composed.chosen.items()}}
    return composed


def _compose_apart(conf: Path, composed: Composed) -> dict[str, Any]:
    """Return each group by a composition of its own; what Hydra refuses is noted and left out."""
    plain: dict[str, Any] = {}
    for group, choice in composed.chosen.items():
        try:
            plain |= _compose_groups(conf, f"{group}/{choice.use}", [], {group: choice}, composed, partly=True)
        except HydraException as error:
            composed.problems.note(_refusal(conf, error))
    return plain


def _compose_groups(
    conf: Path, name: str, options: list[str], chosen: Mapping[str, Choice], composed: Composed, *, partly: bool = False
) -> dict[str, Any]:
    """Return groups by one Hydra composition, changed as params.yaml says; values that fail are noted and left out.

    `partly`: some groups of the variant are missing, so that a value may refer to nothing without being wrong.
    """
    GlobalHydra.instance().clear()
    hydra = initialize_config_dir(str(conf.resolve()), version_base="1.3", job_name="bakeoff")
    with hydra, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=ORDER)
        tree = hydra_compose(name, options)
    OmegaConf.set_struct(tree, False)
    for group, choice in chosen.items():
        tree[group] = OmegaConf.merge(tree.get(group, {}), *choice.changes)
    resolved = {group: _resolve_group(tree, group, composed, partly) for group in chosen}
    return {group: value for group, value in resolved.items() if value is not None}


def _resolve_group(tree: DictConfig, group: str, composed: Composed, partly: bool) -> dict[str, Any] | None:
    try:
        value = OmegaConf.to_container(tree[group], resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        if isinstance(error, InterpolationKeyError) and partly:
            return None  # it may refer to another group, which has its own mistake
        key = str(getattr(error, "full_key", None) or group)
        composed.problems.add(key, f"cannot be resolved: {_one_line(error).split(' full_key:')[0]}")
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


def _refusal(conf: Path, error: HydraException) -> str:
    return f"{conf.as_posix()}: {_one_line(error)}"


def _one_line(error: Exception) -> str:
    return " ".join(line.strip() for line in str(error).splitlines() if line.strip())
