"""params.yaml + conf/ -> one tree of plain values, as Hydra composes it; and for every key, where it was set."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.config.compose.option_lookup import EXPERIMENT, PRIMARY, Chooser, ChosenOption, ConfigLayer
from bakeoff.config.compose.read_once import files_read_once, read_once
from bakeoff.config.compose.schedule_length import SetBy
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.shipped import built_in_options, find_conf
from bakeoff.learning.run_file.parse import Problems
from bakeoff.learning.run_file.yaml_file import Document, KeyPath, read_mapping

# Options with the intervals of a predecessor, which were made for its long runs.
RECIPES = (
    "lr/frc_cosine", "lr/ftc_fpnlite", "lr/ftc_ssd_mobilenet_v1_fpn_640", "lr/ftc_ssd_mobilenet_v2_320",
    "train/frc", "train/inception_from_scratch",
)  # fmt: skip


class Composed:
    """The composed groups; one with a mistake in its choice or its files is missing, the mistake is in `problems`."""

    def __init__(self, params: Path, conf: Path) -> None:
        self._recipes = read_once(_list_recipes, conf)
        self.tree: dict[str, Any] = {}
        self.problems = Problems(self.place_of)
        self.chosen: dict[str, ChosenOption] = {}
        self.preset: str | None = None
        self.user_layers: tuple[ConfigLayer, ...] = (
            ConfigLayer(params, Document({}, {}), ()),
        )  # command line, params.yaml

    def changed_params(self) -> dict[str, Any]:
        """Return params.yaml as it is once the overrides are written into it."""
        return self.user_layers[0].document.values

    def layer_of(self, key: str) -> ConfigLayer | None:
        """Return the file that sets the key; None if its value is a default."""
        group, *inner = _place(key)
        layers = self.chosen[str(group)].layers if group in self.chosen else ()
        return next((layer for layer in layers if layer.line_of(tuple(inner)) is not None), None)

    def set_by(self, key: str) -> SetBy | None:
        """Return whether the user set the key, or an option of a predecessor; None if its value is a default."""
        layer = self.layer_of(key)
        if layer is None:
            return None
        return "recipe" if layer.path in self._recipes else "user"

    def origin_of_choice(self, group: str) -> str:
        """Return who chose the group's option: a line of params.yaml, or the preset."""
        return f"experiment {self.preset}" if self.chosen[group].by_preset else self.place_of(f"{group}.use")

    def place_of(self, key: str) -> str:
        """Return `file:line` where the key is set, or the file where it would be."""
        group, *inner = _place(key)
        for depth in range(len(inner), 0, -1):  # a missing key is located at the nearest block that would hold it
            for layer in self.chosen[str(group)].layers if group in self.chosen else ():
                if layer.line_of(tuple(inner[:depth])) is not None:
                    return layer.locate(tuple(inner[:depth]))
        if inner and inner != ["use"] and group in self.chosen:
            option = next(layer for layer in self.chosen[str(group)].layers if not layer.prefix)
            return option.path.as_posix()
        for place in ((group, *inner), (group,)):
            for layer in self.user_layers:
                if layer.line_of(place) is not None:
                    return layer.locate(place)
        return self.user_layers[-1].path.as_posix()


@files_read_once()
def compose(
    params: Path,
    conf: Path,
    *,
    groups: Iterable[str] | None = None,
    overrides: Sequence[str] = (),
    instead: Mapping[str, Any] | None = None,
) -> Composed:
    """Return the variant that params.yaml and Hydra's overrides choose, or only some of its groups.

    `instead` names options to use in place of those that params.yaml chooses.
    """
    composed = Composed(params, conf)
    problems = composed.problems
    every_group = read_once(list_groups, conf)
    wanted = every_group if groups is None else list(groups)
    chooser = Chooser(params, conf, every_group, problems, overrides, instead or {})
    composed.user_layers = chooser.layers
    chooser.check_keys()
    preset = chooser.preset() if groups is None else None
    composed.preset = preset.name if preset else None
    for group in wanted:
        before = len(problems.lines)
        choice = chooser.choice(group, preset)
        if choice is not None and len(problems.lines) == before:
            composed.chosen[group] = choice
    trees: dict[str, Any] = {}
    if composed.chosen:
        from bakeoff.config.compose.hydra_compose import compose_groups  # loads Hydra

        left_out = [group for group in every_group if group not in composed.chosen]
        trees = compose_groups(conf, composed.chosen, left_out, composed.preset, problems)
    values = {key: value for key, value in chooser.settings.values.items() if key not in {*every_group, EXPERIMENT}}
    composed.tree = values | trees | {"variant": {group: choice.use for group, choice in composed.chosen.items()}}
    return composed


def list_groups(conf: Path) -> list[str]:
    """Return the groups that a variant is made of, as conf/variant.yaml lists them."""
    path = find_conf(conf, f"{PRIMARY}.yaml")
    defaults = read_mapping(path).get("defaults")
    names = (
        [next(iter(entry), "") for entry in defaults if isinstance(entry, dict)] if isinstance(defaults, list) else []
    )
    if not names or not all(re.fullmatch(r"\w+", name) for name in names):
        raise ConfigError(f"{path.as_posix()}: defaults: must list the groups, such as `- model: ???`")
    return [name for name in names if name != EXPERIMENT]


def _list_recipes(conf: Path) -> set[Path]:
    return {built_in_options(conf) / f"{name}.yaml" for name in RECIPES}


def _place(key: str) -> KeyPath:
    """`model.anchors.aspect_ratios[1]` -> ("model", "anchors", "aspect_ratios", 1)."""
    parts = re.findall(r"[^.\[\]]+", key)
    return tuple(int(part) if re.fullmatch("[0-9]{1,9}", part) else part for part in parts) or (key,)
