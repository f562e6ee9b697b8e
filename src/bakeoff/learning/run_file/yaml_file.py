"""YAML as users write it: every mistake with its line, no duplicate keys, and nothing that readers disagree on.

`1e-3` is a number, as people mean it; `yes`, `010`, `1:30` and dates, which one reader takes for a text and the next
for something else, are refused.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bakeoff.foundation.errors import ConfigError, show
from bakeoff.foundation.files import write_whole

KeyPath = tuple[str | int, ...]  # ("anchors", "aspect_ratios", 0)
MOST_BYTES = 200_000  # of a file; the largest here has 10,000
MOST_LEVELS = 16  # of mappings and lists in each other; the deepest here has 6
MOST_DIGITS = 18  # of a whole number
UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # also halves of a character
YAML = "tag:yaml.org,2002:"
FLOAT_TAG = f"{YAML}float"
KINDS = {"str", "int", "float", "bool", "null", "seq", "map"}
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
    lines: dict[KeyPath, int]  # where each key and each item of a list stands


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # a page of them can stand for more values than memory holds
            raise yaml.constructor.ConstructorError(
                None, None, "aliases (*name) are not read; write the value out", self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[str] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(key, yaml.ScalarNode):
                raise _refuse(key, "a key must be one word")
            if not isinstance(name, str):
                raise _refuse(key, f"a key must be a text, got {show(key.value)[1:-1]}; put it in quotes")
            if name in seen:
                raise _refuse(key, f"key {show(name)} is there twice")
            seen.add(name)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if isinstance(node, yaml.CollectionNode) and node.flow_style:
            items = [part for item in node.value for part in (item if isinstance(item, tuple) else [item])]
            for item in items:
                if isinstance(item, yaml.ScalarNode) and item.style is None and ":" in item.value:
                    raise _refuse(item, f"{show(item.value)[1:-1]} ends at the colon to some readers; put it in quotes")
        if isinstance(node, yaml.ScalarNode) and node.style is None:
            for why, pattern in SURPRISES.items():
                if pattern.fullmatch(node.value):
                    raise _refuse(node, f"{show(node.value)[1:-1]} {why}")
        if (kind := node.tag.removeprefix(YAML)) not in KINDS:
            raise _refuse(node, f"tags ({show(kind)[1:-1]}) are not read; write the value out, or put it in quotes")
        if kind == "int" and len(node.value) > 2 * MOST_DIGITS:  # Python itself refuses thousands of them
            raise _refuse(node, f"a number must have at most {MOST_DIGITS} digits")
        return super().construct_object(node, deep)


_Loader.add_implicit_resolver(FLOAT_TAG, BARE_EXPONENT, list("-+0123456789"))


def _refuse(node: yaml.Node, why: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, why, node.start_mark)


def read_document(path: Path) -> Document:
    place, line, tree, lines = path.as_posix(), 0, None, {}
    try:
        with path.open("rb") as file:
            source = file.read(MOST_BYTES + 1)
        if len(source) > MOST_BYTES:
            raise ConfigError(f"{place}: must be at most {MOST_BYTES:,} bytes, got more")
        text = source.decode("utf-8")
        loader = _Loader(text)
        if (node := loader.get_single_node()) is not None:
            tree, lines = loader.construct_document(node), _lines(node, ())
        odd = find_odd(tree)
        why = ": ".join(filter(None, [name_place(odd[0]), odd[1]])) if odd else None
        line = lines.get(odd[0], 0) if odd else 0
    except FileNotFoundError:
        raise ConfigError(f"{place}: no such file") from None
    except OSError as error:
        raise ConfigError(f"{place}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{place}: not UTF-8 text, byte {error.start} cannot be read") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        why = f"not valid YAML: {error.problem}"
    except yaml.reader.ReaderError as error:
        line, why = text.count("\n", 0, error.position) + 1, f"not valid YAML: {error.reason}"
    except ValueError as error:
        why = f"not valid YAML: {' '.join(str(error).split())}"
    except RecursionError:
        why = "not valid YAML: nested too deeply"
    if why:
        raise ConfigError(f"{place}:{line}: {why}" if line else f"{place}: {why}")
    if not isinstance(tree, dict):
        kind = "nothing" if tree is None else f"a {type(tree).__name__}"
        raise ConfigError(f"{place}: must be a mapping of keys to values, got {kind}")
    return Document(tree, lines)


def find_odd(value: Any, place: KeyPath = ()) -> tuple[KeyPath, str] | None:
    """Return where a tree holds what not every reader and writer can take, and why; None if there is no such place."""
    if len(place) > MOST_LEVELS:
        return place[:MOST_LEVELS], f"must not be nested deeper than {MOST_LEVELS} levels"
    if isinstance(value, str) and UNREADABLE.search(value):
        return place, f"must be made of printable characters, got {show(value)}"
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        return place, f"must have at most {MOST_DIGITS} digits"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(value, dict) and (not isinstance(key, str) or UNREADABLE.search(key)):
            return place, f"a key must be a text of printable characters, got {show(key)}"
        if odd := find_odd(item, (*place, key)):
            return odd
    return None


def name_place(place: KeyPath) -> str:
    """Return ("anchors", "aspect_ratios", 0) as anchors.aspect_ratios[0]."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def read_mapping(path: Path) -> dict[str, Any]:
    return read_document(path).values


def write_mapping(path: Path, tree: dict[str, Any], *, head: str) -> None:
    body = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=100)
    write_whole(path, f"{head}{body}")


def _lines(node: yaml.Node | None, place: KeyPath) -> dict[KeyPath, int]:
    line_numbers: dict[KeyPath, int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, key.value)
            line_numbers |= {inner: key.start_mark.line + 1} | _lines(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            line_numbers |= {(*place, number): item.start_mark.line + 1} | _lines(item, (*place, number))
    return line_numbers
