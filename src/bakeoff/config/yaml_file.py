"""YAML as users write it: errors in one line with the line's number, no duplicate keys, `1e-3` is a number."""

import re
from pathlib import Path
from typing import Any

import yaml

from bakeoff.errors import ConfigError


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[object] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is there twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


# YAML 1.1 takes `1e-3` for a text because it lacks a dot.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def read_mapping(path: Path) -> dict[str, Any]:
    try:
        tree = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError:
        raise ConfigError(f"{path.as_posix()}: no such file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.as_posix()}: not UTF-8 text, byte {error.start} cannot be read") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path.as_posix()}:{line}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path.as_posix()}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(tree, dict):
        found = "nothing" if tree is None else f"a {type(tree).__name__}"
        raise ConfigError(f"{path.as_posix()}: must be a mapping of keys to values, got {found}")
    return tree


def write_mapping(path: Path, tree: dict[str, Any], *, head: str) -> None:
    """Whole or not at all: written beside, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    body = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=100)
    partial.write_text(f"{head}{body}", encoding="utf-8", newline="\n")
    partial.replace(path)
