"""YAML as users write it: every mistake with its line, no duplicate keys, and nothing that readers disagree on.

`1e-3` is a number, as people mean it; `yes`, `010`, `1:30` and dates, which one reader takes for a text and the next
for something else, are refused.
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bakeoff.errors import ConfigError
from bakeoff.files import write_whole

Place = tuple[str | int, ...]  # ("anchors", "aspect_ratios", 0)
FLOAT_TAG = "tag:yaml.org,2002:float"
BARE_EXPONENT = re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$")  # YAML 1.1 takes `1e-3` for a text: it lacks a dot
SURPRISES = {
    "is true or false to some readers and a text to others; write true or false, or put it in quotes": re.compile(
        r"(yes|no|on|off|y|n)", re.IGNORECASE
    ),
    "is an octal number to some readers; drop the leading 0, or put it in quotes": re.compile(r"[-+]?0[0-9_]+"),
    "is a number in base 60 to some readers; put it in quotes": re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?"),
    "is a date to some readers; put it in quotes": re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?"),
}


@dataclass(frozen=True)
class Document:
    values: dict[str, Any]
    lines: dict[Place, int]  # where each key and each item of a list stands


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # a page of them can stand for more values than memory holds
            raise yaml.constructor.ConstructorError(
                None, None, "aliases (*name) are not read; write the value out", self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[object] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, Hashable):
                raise yaml.constructor.ConstructorError(None, None, "a key must be one word", key.start_mark)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is there twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.style is None:
            for why, pattern in SURPRISES.items():
                if pattern.fullmatch(node.value):
                    raise yaml.constructor.ConstructorError(None, None, f"{node.value} {why}", node.start_mark)
        return super().construct_object(node, deep)


_Loader.add_implicit_resolver(FLOAT_TAG, BARE_EXPONENT, list("-+0123456789"))


def read_document(path: Path) -> Document:
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        tree = None if node is None else loader.construct_document(node)
        lines = _lines(node, ())
    except FileNotFoundError:
        raise ConfigError(f"{path.as_posix()}: no such file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.as_posix()}: not UTF-8 text, byte {error.start} cannot be read") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path.as_posix()}:{line}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path.as_posix()}: not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(f"{path.as_posix()}: not valid YAML: nested too deeply") from None
    if not isinstance(tree, dict):
        found = "nothing" if tree is None else f"a {type(tree).__name__}"
        raise ConfigError(f"{path.as_posix()}: must be a mapping of keys to values, got {found}")
    return Document(tree, lines)


def read_mapping(path: Path) -> dict[str, Any]:
    return read_document(path).values


def write_mapping(path: Path, tree: dict[str, Any], *, head: str) -> None:
    body = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=100)
    write_whole(path, f"{head}{body}")


def _lines(node: yaml.Node | None, place: Place) -> dict[Place, int]:
    found: dict[Place, int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, key.value)
            found |= {inner: key.start_mark.line + 1} | _lines(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            found |= {(*place, number): item.start_mark.line + 1} | _lines(item, (*place, number))
    return found
