"""params.yaml and Hydra's overrides -> which option each group has, and which files its values come from.

experiment: frc_cosine           a preset: conf/experiment/frc_cosine.yaml chooses options for several groups
model: {use: preset}             the option that the preset chooses; a group that is not named means the same
lr: {use: cosine, peak: 0.08}    conf/lr/cosine.yaml, with another peak
memory: low                      conf/memory/low.yaml as it stands

`lr=cosine lr.peak=0.1 +model.width=0.5 experiment=frc_cosine` are overrides. One choice has one meaning, whether it
stands in params.yaml, behind `dvc exp run -S`, or on a command line.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from bakeoff.config.compose.overrides import apply_overrides, find_place, parse_values
from bakeoff.config.compose.read_once import read_once
from bakeoff.foundation.errors import ConfigError, choices, show
from bakeoff.foundation.shipped import find_conf, list_options, replaces_built_in, shown_path
from bakeoff.learning.run_file.parse import Problems, flat
from bakeoff.learning.run_file.yaml_file import Document, KeyPath, read_document

PRIMARY = "variant"  # conf/variant.yaml lists the groups
PRESET = "preset"
EXPERIMENT = "experiment"
MISSING = "???"  # Hydra's word for a value that is still to be given
COMMAND_LINE = Path("command line")
PACKAGE = "# @package _global_"  # what tells Hydra that a preset's keys are those of the whole variant
ALTERNATIVES: dict[KeyPath, KeyPath] = {  # setting one of the two keys replaces the other one of the option
    ("train", "steps"): ("train", "epochs"),
    ("train", "epochs"): ("train", "steps"),
}
OPEN = "data"  # build_records must not depend on presets, or every one would rebuild the records


@dataclass(frozen=True)
class ConfigLayer:
    """A file that sets values of a group, and where in the file they are."""

    path: Path
    document: Document
    prefix: KeyPath

    def line_of(self, place: KeyPath) -> int | None:
        whole = (*self.prefix, *place)
        return self.document.lines.get(whole, self.document.lines.get(ALTERNATIVES.get(whole, ())))

    def locate(self, place: KeyPath) -> str:
        """Return `file:line`; the command line has no lines."""
        line = self.line_of(place)
        return self.path.as_posix() if line is None or self.path == COMMAND_LINE else f"{self.path.as_posix()}:{line}"


@dataclass(frozen=True)
class ChosenOption:
    use: str
    change: dict[str, Any]  # what params.yaml changes of it
    by_preset: bool
    layers: tuple[ConfigLayer, ...]  # nearest first: params.yaml, the preset, the option, what that builds on


@dataclass(frozen=True)
class Preset:
    name: str
    options: dict[str, str]
    layer: ConfigLayer


class Chooser:
    """Reads params.yaml against conf/; every mistake is noted in `problems`."""

    def __init__(
        self,
        params: Path,
        conf: Path,
        groups: list[str],
        problems: Problems,
        overrides: Sequence[str],
        instead: Mapping[str, Any],
    ) -> None:
        self._conf, self._groups, self._problems = conf, groups, problems
        document = read_once(read_document, params)
        parsed = parse_values(overrides)
        paths = [find_place(override, groups) for override in parsed]
        set_here = [path for path, override in zip(paths, parsed, strict=True) if not override.is_delete()]
        over: dict[KeyPath, int] = {path[:depth]: 1 for path in set_here for depth in range(1, len(path) + 1)}
        under = {key: line for key, line in document.lines.items() if not any(key[: len(at)] == at for at in paths)}
        self.settings = Document(apply_overrides(document.values, overrides, groups) | dict(instead), under)
        self.layers = (
            *([ConfigLayer(COMMAND_LINE, Document(self.settings.values, over), ())] if over else []),
            ConfigLayer(params, self.settings, ()),
        )

    def check_keys(self) -> None:
        self._problems.refuse_keys(self.settings.values, [*self._groups, EXPERIMENT, "seed", "note"])

    def preset(self) -> Preset | None:
        name = self.settings.values.get(EXPERIMENT)
        if name is None:
            return None
        folder = self._conf / EXPERIMENT
        if not self._is_option(EXPERIMENT, name):
            known = choices(str(name), self._options_of(EXPERIMENT))
            self._problems.add(EXPERIMENT, f"no such preset {show(name)} in {folder.as_posix()}/; {known}")
            return None
        layer = self._read(read_once(find_conf, self._conf, EXPERIMENT, f"{name}.yaml"), PACKAGE)
        if layer is None:
            return None
        options: dict[str, str] = {}
        for number, entry in enumerate(_list(layer.document.values.get("defaults"))):
            group = _overridden_group(entry)
            if group is None:
                group, wrong = "defaults", f"must be entries such as `override /lr: cosine`, got {show(entry)}"
            elif group == OPEN:
                wrong = "a preset leaves the data open, params.yaml chooses it"
            elif group not in self._groups:
                wrong = f"no such group; {choices(group, self._groups)}"
            else:
                options[group] = next(iter(entry.values()))
                continue
            self._problems.note(f"{layer.locate(('defaults', number))}: {group}: {wrong}")
        for key, value in layer.document.values.items():
            kind, type_ = ("list", list) if key == "defaults" else ("mapping", dict)
            if key != "defaults" and (key not in self._groups or key == OPEN):
                allowed = choices(str(key), [group for group in self._groups if group != OPEN])
                self._problems.note(f"{layer.locate((key,))}: {key}: no key of a preset; {allowed}")
            elif not isinstance(value, type_):
                self._problems.note(f"{layer.locate((key,))}: {key}: must be a {kind}, got {show(value)}")
        return Preset(str(name), options, layer)

    def choice(self, group: str, preset: Preset | None) -> ChosenOption | None:
        asked, changes, key = self._use(group)
        of_preset = preset.options.get(group) if preset else None
        by_preset = asked == PRESET or (asked is None and of_preset is not None)
        use = of_preset if by_preset else asked
        if use is None:
            self._note_no_option(group, key, asked, preset)
            return None
        if not self._is_option(group, use):
            folder = (self._conf / group).as_posix()
            text = f"no such option {show(use)} in {folder}/; {choices(str(use), self._options_of(group))}"
            if by_preset and preset is not None:
                self._problems.note(f"{preset.layer.path.as_posix()}: {group}: {text}")
            else:
                self._problems.add(key, text)
            return None
        layers = [replace(layer, prefix=(group,)) for layer in self.layers]
        presets_changes = preset.layer.document.values.get(group) if preset else None
        if preset and isinstance(presets_changes, dict):
            layers.append(replace(preset.layer, prefix=(group,)))
        else:
            presets_changes = {}
        option = self._option_layers(group, use)
        if read_once(replaces_built_in, self._conf, group, use):
            self._problems.warn(key, f"conf/{group}/{use}.yaml takes the place of the built-in option of this name")
        for inner, value in flat(changes, f"{group}.").items():
            if value == MISSING:  # merged, it would leave what it was meant to replace
                self._problems.add(inner, f"must be a value, got {MISSING}")
        change = _alternatives(group, presets_changes) | _alternatives(group, changes) | changes
        return ChosenOption(use, change, by_preset, (*layers, *option)) if option else None

    def _note_no_option(self, group: str, key: str, asked: str | None, preset: Preset | None) -> None:
        if group != OPEN and preset is None and self.settings.values.get(EXPERIMENT) is not None:
            return  # the preset itself is what is wrong, and was noted
        if asked is None:
            why = "is missing"
        elif (name := self.settings.values.get(EXPERIMENT)) is not None:
            why = f"experiment {name!r} leaves this group open"
        else:
            why = f"{PRESET!r} needs an experiment"
        if group == OPEN:
            why += "; `bakeoff import FOLDER --name NAME` adds an option for your data"
        self._problems.add(key, f"{why}; {choices('', self._options_of(group))}")

    def _use(self, group: str) -> tuple[Any, dict[str, Any], str]:
        entry = self.settings.values.get(group)
        if isinstance(entry, dict):
            return entry.get("use"), {key: value for key, value in entry.items() if key != "use"}, f"{group}.use"
        return entry, {}, group if entry is None else f"{group}.use"

    def _option_layers(self, group: str, use: str, above: tuple[str, ...] = ()) -> list[ConfigLayer]:
        """Return the option's own file, then those that it builds on; `above` are those that build on it."""
        layer = self._read(read_once(find_conf, self._conf, group, f"{use}.yaml"))
        if layer is None:
            return []
        layers, bases = [layer], layer.document.values.get("defaults", [])
        if not isinstance(bases, list):
            rule = f"must be a list of options to build on, got {show(bases)}"
            self._problems.note(f"{layer.locate(('defaults',))}: {group}.defaults: {rule}")
        for number, base in enumerate(_list(bases)):
            if base == "_self_":
                continue
            if base not in (*above, use) and self._is_option(group, base):
                layers += self._option_layers(group, base, (*above, use))
                continue
            text = f"no such option {show(base)} to build on; {choices(str(base), self._options_of(group))}"
            self._problems.note(f"{layer.locate(('defaults', number))}: {group}: {text}")
        return layers

    def _read(self, path: Path, head: str = "") -> ConfigLayer | None:
        """Read a file of conf/; `head` is the line for Hydra with which it must begin, and nothing else."""
        try:
            document = read_once(read_document, path)
        except ConfigError as error:
            self._problems.note(str(error))
            return None
        first_lines = read_once(_read_head, path)
        if first_lines != ([head] if head else []):
            rule = (
                f"must have the line `{head}` for Hydra, at the top"
                if head
                else "must go, it puts the values elsewhere"
            )
            self._problems.note(
                f"{path.as_posix()}:1: {f'{show(first_lines[0])[1:-1]}: ' if first_lines else ''}{rule}"
            )
        return ConfigLayer(read_once(shown_path, path, self._conf), document, ())

    def _options_of(self, group: str) -> list[str]:
        return read_once(list_options, self._conf, group)

    def _is_option(self, group: str, name: object) -> bool:
        return isinstance(name, str) and name in self._options_of(group)


def _read_head(path: Path) -> list[str]:
    """Return the lines for Hydra with which a file begins."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return list(takewhile(re.compile(r"#\s*@").match, lines))


def _alternatives(group: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Return what the changes take away: `{epochs: 3}` takes away an option's steps."""
    others = [ALTERNATIVES.get((group, key)) for key, value in changes.items() if value is not None]
    return {str(other[-1]): None for other in others if other and str(other[-1]) not in changes}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _overridden_group(entry: Any) -> str | None:
    [key, value] = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else ("", None)
    match = re.fullmatch(r"override /(\w+)", str(key))
    return match[1] if match and isinstance(value, str) else None
