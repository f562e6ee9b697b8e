"""params.yaml + conf/ -> one tree of plain values, composed by Hydra.

params.yaml says `lr: {use: cosine, peak: 0.08}`: conf/lr/cosine.yaml with another peak; `lr: cosine` is the
option as it stands.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bakeoff.config.parse import Problems
from bakeoff.config.yaml_file import read_mapping
from bakeoff.errors import ConfigError, choices

PRIMARY = "variant"  # conf/variant.yaml lists the groups


@dataclass(frozen=True)
class Choice:
    """What params.yaml says of one group."""

    use: str
    changes: dict[str, Any]


class Composed:
    """The composed tree, and for every key the file that set it."""

    def __init__(self, tree: dict[str, Any], chosen: dict[str, Choice], params: Path, conf: Path) -> None:
        self.tree = tree
        self._chosen, self._params, self._conf = chosen, params, conf

    def file_of(self, key: str) -> str:
        group, *inner = key.split(".")
        if group not in self._chosen:
            return self._params.as_posix()
        changed: Any = self._chosen[group].changes
        for name in inner:
            name = name.partition("[")[0]
            if not isinstance(changed, dict) or name not in changed:
                return (self._conf / group / f"{self._chosen[group].use}.yaml").as_posix()
            changed = changed[name]
        return self._params.as_posix() if inner else (self._conf / group / f"{self._chosen[group].use}.yaml").as_posix()


def compose(
    params: Path, conf: Path, groups: Iterable[str] | None = None, instead: Mapping[str, str] | None = None
) -> Composed:
    """The variant that params.yaml chooses, or only some of its groups; `instead` names other options for some."""
    every_group = _groups(conf)
    wanted = every_group if groups is None else list(groups)
    said = read_mapping(params) | dict(instead or {})
    chosen = _choices(said, every_group, params, conf)
    for choice, group in ((chosen[group], group) for group in wanted):
        read_mapping(conf / group / f"{choice.use}.yaml")  # says a mistake in YAML by file and line
    overrides = [f"{group}={chosen[group].use}" for group in every_group]
    try:
        GlobalHydra.instance().clear()
        with initialize_config_dir(str(conf.resolve()), version_base="1.3", job_name="bakeoff"):
            composed = hydra_compose(PRIMARY, overrides)
        OmegaConf.set_struct(composed, False)
        for group in wanted:
            composed[group] = OmegaConf.merge(composed[group], chosen[group].changes)
        plain = {group: OmegaConf.to_container(composed[group], resolve=True) for group in wanted}
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(f"{conf.as_posix()}: {_first_line(error)}") from None
    values = {key: value for key, value in said.items() if key not in every_group}
    tree = values | plain | {"variant": {group: chosen[group].use for group in every_group}}
    return Composed(tree, chosen, params, conf)


def _groups(conf: Path) -> list[str]:
    path = conf / f"{PRIMARY}.yaml"
    defaults = read_mapping(path).get("defaults")
    if not isinstance(defaults, list):
        raise ConfigError(f"{path.as_posix()}: defaults: must list the groups")
    return [next(iter(entry)) for entry in defaults if isinstance(entry, dict)]


def _choices(said: dict[str, Any], groups: list[str], params: Path, conf: Path) -> dict[str, Choice]:
    problems = Problems(lambda key: params.as_posix())
    for key in said:
        if key not in groups and key != "seed":
            problems.add(str(key), f"no such key; {choices(str(key), [*groups, 'seed'])}")
    if "seed" not in said:
        problems.add("seed", "is missing; it must be a whole number")
    chosen = {}
    for group in groups:
        options = sorted(file.stem for file in (conf / group).glob("*.yaml"))
        entry = said.get(group)
        if isinstance(entry, dict):
            changes = {key: value for key, value in entry.items() if key != "use"}
            use = entry.get("use")
        else:
            use, changes = entry, {}
        if use is None:
            key = group if group not in said or entry is None else f"{group}.use"
            problems.add(key, f"is missing; one of: {', '.join(options)}")
        elif not isinstance(use, str) or use not in options:
            problems.add(
                f"{group}.use", f"no such option {use!r} in {(conf / group).as_posix()}/; {choices(str(use), options)}"
            )
        else:
            chosen[group] = Choice(use, changes)
    problems.raise_any()
    return chosen


def _first_line(error: Exception) -> str:
    return " ".join(line.strip() for line in str(error).splitlines() if line.strip())
