"""params.yaml + conf/ -> one tree of plain values, composed by Hydra; and for every key, where it was set."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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
REFUSALS = (OmegaConfBaseException, RecursionError, ValueError, TypeError)  # OmegaConf's, some of them without a name


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
    """Return the variant that params.yaml and Hydra's overrides choose, or only some of its groups.

    `instead` names options to look at in place of what params.yaml says of their groups.
    """
    composed = Composed(params)
    problems = composed.problems
    every_group = _groups(conf)
    wanted = every_group if groups is None else list(groups)
    chooser = Chooser(params, conf, every_group, problems, overrides, instead or {})
    composed.said = chooser.layers
    chooser.check_keys()
    preset = chooser.preset() if groups is None else None
    composed.preset = preset.name if preset else None
    for group in wanted:
        before = len(problems.lines)
        choice = chooser.choice(group, preset)
        if choice is not None and len(problems.lines) == before:
            composed.chosen[group] = choice
    options = [f"{group}={choice.use}" for group, choice in composed.chosen.items()]
    options += [f"~{group}" for group in every_group if group not in composed.chosen]
    plain = _compose_groups(conf, options, composed) if composed.chosen else {}
    values = {key: value for key, value in chooser.said.values.items() if key not in {*every_group, EXPERIMENT}}
    composed.tree = values | plain | {"variant": {group: choice.use for group, choice in composed.chosen.items()}}
    return composed


def _compose_groups(conf: Path, options: list[str], composed: Composed) -> dict[str, Any]:
    """Return the chosen groups by one Hydra composition, changed as params.yaml says; what fails is left out."""
    try:
        plain = _compose_options(conf.resolve(), tuple(options), _content_of(conf))
        chosen = composed.chosen.items()
        tree = OmegaConf.create({group: merge(plain[group], *choice.changes) for group, choice in chosen})
    except (HydraException, *REFUSALS) as error:
        composed.problems.note(f"{conf.as_posix()}: {_one_line(error)}")
        return {}
    resolved = {group: _resolve_group(tree, group, composed) for group in composed.chosen}
    return {group: value for group, value in resolved.items() if value is not None}


@lru_cache(maxsize=32)
def _compose_options(conf: Path, options: tuple[str, ...], content: tuple[bytes, ...]) -> Any:
    """Return what Hydra makes of these options; of a sweep's points many choose the same ones of the same files."""
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf), version_base="1.3", job_name="bakeoff"):
        return OmegaConf.to_container(hydra_compose(PRIMARY, list(options)))


def _content_of(conf: Path) -> tuple[bytes, ...]:
    return tuple(part for path in sorted(conf.rglob("*.yaml")) for part in (str(path).encode(), path.read_bytes()))


def merge(tree: Any, *changes: Any) -> Any:
    """Return a tree with changes: mappings are merged, any other value takes the place of what was there."""
    for change in changes:
        if isinstance(tree, dict) and isinstance(change, dict):
            tree = tree | {key: merge(tree[key], value) if key in tree else value for key, value in change.items()}
        else:
            tree = change
    return tree


def _resolve_group(tree: DictConfig, group: str, composed: Composed) -> dict[str, Any] | None:
    try:
        value = OmegaConf.to_container(tree[group], resolve=True, throw_on_missing=True)
    except REFUSALS as error:
        if isinstance(error, InterpolationKeyError) and composed.problems.lines:
            return None  # it may refer to a group that is left out for its own mistake
        key = str(getattr(error, "full_key", None) or group)
        composed.problems.add(key, f"cannot be resolved: {_one_line(error).split(' full_key:')[0]}")
        return None
    assert isinstance(value, dict)
    return {str(key): item for key, item in value.items()}


def _groups(conf: Path) -> list[str]:
    path = conf / f"{PRIMARY}.yaml"
    defaults = read_mapping(path).get("defaults")
    names = (
        [next(iter(entry), "") for entry in defaults if isinstance(entry, dict)] if isinstance(defaults, list) else []
    )
    if not names or not all(re.fullmatch(r"\w+", name) for name in names):
        raise ConfigError(f"{path.as_posix()}: defaults: must list the groups, such as `- model: ???`")
    return [name for name in names if name != EXPERIMENT]


def _place(key: str) -> Place:
    """`model.anchors.aspect_ratios[1]` -> ("model", "anchors", "aspect_ratios", 1)."""
    parts = re.findall(r"[^.\[\]]+", key)
    return tuple(int(part) if re.fullmatch("[0-9]{1,9}", part) else part for part in parts) or (key,)


def _one_line(error: Exception) -> str:
    return " ".join(line.strip() for line in str(error).splitlines() if line.strip())
