"""A tree of plain values -> frozen dataclasses, with every mistake by file and key.

The dataclasses' type hints are the schema: int, float, bool, str, Literal, `X | None`, `tuple[X, ...]`
and nested dataclasses. Their `__post_init__` says what the types cannot.
"""

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bakeoff.errors import ConfigError, OutOfRange, choices

Located = Callable[[str], str]  # a full key, "lr.peak" -> `file:line` where it is set


class Problems:
    """All mistakes of a variant, so that they can be said in one go, and what is odd without being one."""

    def __init__(self, place_of: Located) -> None:
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self._place_of = place_of

    def add(self, key: str, text: str) -> None:
        self.note(f"{self._place_of(key)}: {key}: {text}")

    def note(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)

    def warn(self, key: str, text: str) -> None:
        self.warnings.append(f"{self._place_of(key)}: {key}: {text}")

    def refused(self, prefix: str, error: OutOfRange) -> None:
        self.add(f"{prefix}{error.key}", error.reason)

    def raise_any(self) -> None:
        if self.lines:
            raise ConfigError("\n".join(self.lines))


class _Wrong(Exception):
    """A value that could not be read; the problem is noted already."""


def parse_kind(kinds: Mapping[str, type], tree: Any, key: str, problems: Problems) -> Any:
    """The settings object of a group: its `kind` chooses the class; a group of one kind need not name it."""
    if not isinstance(tree, Mapping):
        problems.add(key, f"must be a mapping, got {tree!r}")
        return None
    values = dict(tree)
    kind = values.pop("kind", next(iter(kinds)) if len(kinds) == 1 else None)
    if kind is None:
        problems.add(f"{key}.kind", f"is missing; one of: {', '.join(sorted(kinds))}")
        return None
    if kind not in kinds:
        problems.add(f"{key}.kind", f"no such kind {kind!r}; {choices(str(kind), kinds)}")
        return None
    return parse(kinds[kind], values, key, problems)


def parse(cls: type, tree: Any, key: str, problems: Problems) -> Any:
    """An object of the dataclass `cls`, or None with the mistakes noted."""
    try:
        return _object(cls, tree, key, problems)
    except _Wrong:
        return None


def kind_of(kinds: Mapping[str, type], settings: object) -> str:
    return next(name for name, cls in kinds.items() if type(settings) is cls)


def _object(cls: type, tree: Any, key: str, problems: Problems) -> Any:
    prefix = f"{key}." if key else ""
    if not isinstance(tree, Mapping):
        problems.add(key, f"must be a mapping, got {tree!r}")
        raise _Wrong
    fields = {field.name: field for field in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    values, wrong = {}, False
    for name in tree:
        if name not in fields:
            problems.add(f"{prefix}{name}", f"no such key; {choices(str(name), fields)}")
            wrong = True
    for name, field in fields.items():
        if name not in tree:
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                problems.add(f"{prefix}{name}", f"is missing; it must be {_said(hints[name])}")
                wrong = True
            continue
        try:
            values[name] = _field(field, hints[name], tree[name], f"{prefix}{name}", problems)
        except _Wrong:
            wrong = True
    if wrong:
        raise _Wrong
    try:
        return cls(**values)
    except OutOfRange as error:
        problems.refused(prefix, error)
        raise _Wrong from None


def _field(field: dataclasses.Field, hint: Any, value: Any, key: str, problems: Problems) -> Any:
    """A field that holds one of several kinds of settings says in its metadata which there are."""
    if "kinds" not in field.metadata:
        return _value(hint, value, key, problems)
    if value is None and field.default is None:
        return None
    settings = parse_kind(field.metadata["kinds"], value, key, problems)
    if settings is None:
        raise _Wrong
    return settings


def _value(hint: Any, value: Any, key: str, problems: Problems) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        choices_of = [part for part in get_args(hint) if part is not type(None)]
        if len(choices_of) == 1:
            return _value(choices_of[0], value, key, problems)
        fitting = [
            part for part in choices_of if (value in get_args(part) if _is_literal(part) else type(value) is part)
        ]
        return value if fitting else _refuse(hint, value, key, problems)
    if origin is Literal:
        if value in get_args(hint):
            return value
        problems.add(key, f"no such choice {value!r}; {choices(str(value), map(str, get_args(hint)))}")
        raise _Wrong
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            return _refuse(hint, value, key, problems)
        return tuple(_value(get_args(hint)[0], item, f"{key}[{place}]", problems) for place, item in enumerate(value))
    if dataclasses.is_dataclass(hint):
        return _object(hint, value, key, problems)  # type: ignore[arg-type]
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if hint is not float and type(value) is hint:
        return value
    return _refuse(hint, value, key, problems)


def _refuse(hint: Any, value: Any, key: str, problems: Problems) -> Any:
    shown = "nothing" if value is None else repr(value)
    problems.add(key, f"must be {_said(hint)}, got {shown}")
    raise _Wrong


def _said(hint: Any) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text (in quotes if it looks like a number)",
    }
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if part is type(None) else _said(part) for part in get_args(hint))
    if origin is Literal:
        one_of = "one of " if len(get_args(hint)) > 1 else ""
        return f"{one_of}{', '.join(map(str, get_args(hint)))}"
    if origin is tuple:
        return f"a list, each {_said(get_args(hint)[0])}"
    return names.get(hint, "a mapping")


def _is_literal(hint: Any) -> bool:
    return get_origin(hint) is Literal
