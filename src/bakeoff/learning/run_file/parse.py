"""A tree of plain values -> frozen dataclasses, with every mistake by file and key; and two trees side by side.

The dataclasses' type hints are the schema: int, float, bool, str, Literal, `X | None`, `tuple[X, ...]`
and nested dataclasses. Their `__post_init__` says what the types cannot.
"""

import dataclasses
import math
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bakeoff.foundation.errors import MOST_SHOWN, ConfigError, OutOfRange, choices, show

ABSENT = "(absent)"  # the value of a key that only the other tree has
MOST = 10**15  # the largest absolute value of a number: every smaller integer is exact as a float
MOST_KEYS, MOST_LINES = 10, 50  # unknown keys of one mapping, mistakes altogether: more of them nobody reads
LONGEST_LINE = 1500  # letters; the place is at its beginning, the remedy at its end
Located = Callable[[str], str]  # a full key, "lr.peak" -> `file:line` where it is set


class Problems:
    """All mistakes of a variant, so that they can be said in one go, and what is odd without being one."""

    def __init__(self, place_of: Located) -> None:
        self.lines: list[str] = []
        self._noted: set[str] = set()
        self.warnings: list[str] = []
        self._place_of = place_of

    def add(self, key: str, text: str) -> None:
        self.note(f"{self._place_of(key)}: {key[:MOST_SHOWN] or repr(key)}: {text}")

    def note(self, line: str) -> None:
        line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
        if len(line) > LONGEST_LINE:
            line = f"{line[: LONGEST_LINE // 2]} … {line[-LONGEST_LINE // 2 :]}"
        if line not in self._noted:
            self._noted.add(line)
            self.lines.append(line)

    def refuse_keys(self, names: Iterable[str], known: Collection[str], prefix: str = "") -> bool:
        """Note the names that are none of the known ones; return whether there are any."""
        unknown = [name for name in names if name not in known]
        for name in unknown[:MOST_KEYS]:
            self.add(f"{prefix}{name}", f"no such key; {choices(str(name), known)}")
        if more := len(unknown[MOST_KEYS:]):
            self.add(f"{prefix}{unknown[MOST_KEYS]}", f"no such key; unknown from here on: {more:,}")
        return bool(unknown)

    def warn(self, key: str, text: str) -> None:
        self.warnings.append(f"{self._place_of(key)}: {key}: {text}")

    def add_refusal(self, prefix: str, error: OutOfRange) -> None:
        self.add(f"{prefix}{error.key}", error.reason)

    def raise_any(self) -> None:
        if more := len(self.lines[MOST_LINES:]):
            self.lines[MOST_LINES:] = [f"{self._place_of('')}: {more:,} more mistakes; correct these first"]
        if self.lines:
            raise ConfigError("\n".join(self.lines))


class _Wrong(Exception):
    """A value that cannot be read; the problem is noted already."""


def parse_kind(kinds: Mapping[str, type], tree: Any, key: str, problems: Problems) -> Any:
    """Return the settings object of a group: its `kind` chooses the class; a group of one kind need not name it."""
    if not isinstance(tree, Mapping):
        problems.add(key, f"must be a mapping, got {show(tree)}")
        return None
    values = dict(tree)
    kind = values.pop("kind", next(iter(kinds)) if len(kinds) == 1 else None)
    if kind is None:
        problems.add(f"{key}.kind", f"is missing; one of: {', '.join(sorted(kinds))}")
        return None
    if not isinstance(kind, str) or kind not in kinds:
        problems.add(f"{key}.kind", f"no such kind {show(kind)}; {choices(str(kind), kinds)}")
        return None
    return parse(kinds[kind], values, key, problems)


def parse(cls: type, tree: Any, key: str, problems: Problems) -> Any:
    """Return an object of the dataclass `cls`, or None with the mistakes noted."""
    try:
        return _parse_object(cls, tree, key, problems)
    except _Wrong:
        return None


def kind_of(kinds: Mapping[str, type], settings: object) -> str:
    return next(name for name, cls in kinds.items() if type(settings) is cls)


def _parse_object(cls: type, tree: Any, key: str, problems: Problems) -> Any:
    prefix = f"{key}." if key else ""
    if not isinstance(tree, Mapping):
        problems.add(key, f"must be a mapping, got {show(tree)}")
        raise _Wrong
    fields = {field.name: field for field in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    values, wrong = {}, problems.refuse_keys(tree, fields, prefix)
    for name, field in fields.items():
        if name not in tree:
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                problems.add(f"{prefix}{name}", f"is missing; it must be {_describe(hints[name])}")
                wrong = True
            continue
        try:
            values[name] = _parse_field(field, hints[name], tree[name], f"{prefix}{name}", problems)
        except _Wrong:
            wrong = True
    if wrong:
        raise _Wrong
    try:
        return cls(**values)
    except OutOfRange as error:
        problems.add_refusal(prefix, error)
        raise _Wrong from None


def _parse_field(field: dataclasses.Field, hint: Any, value: Any, key: str, problems: Problems) -> Any:
    """Parse a field; one that holds one of several kinds of settings says in its metadata which there are."""
    if "each" in field.metadata:
        return _parse_each(field.metadata["each"], value, key, problems)
    if "kinds" not in field.metadata:
        return _parse_value(hint, value, key, problems)
    if value is None and field.default is None:
        return None
    settings = parse_kind(field.metadata["kinds"], value, key, problems)
    if settings is None:
        raise _Wrong
    return settings


def _parse_each(kinds: Mapping[str, type], tree: Any, key: str, problems: Problems) -> dict[str, Any]:
    """Parse a mapping from names of kinds to their settings."""
    if not isinstance(tree, Mapping):
        problems.add(key, f"must be a mapping from names to settings, got {show(tree)}")
        raise _Wrong
    if problems.refuse_keys(tree, kinds, f"{key}."):
        raise _Wrong
    return {name: _parse_object(kinds[name], tree[name] or {}, f"{key}.{name}", problems) for name in tree}


def _parse_value(hint: Any, value: Any, key: str, problems: Problems) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        parts = [part for part in get_args(hint) if part is not type(None)]
        if len(parts) == 1:
            return _parse_value(parts[0], value, key, problems)
        for part in parts:
            if value in get_args(part) if get_origin(part) is Literal else type(value) is part:
                return _parse_value(part, value, key, problems)
        return _refuse(hint, value, key, problems)
    if origin is Literal:
        if value in get_args(hint):
            return value
        problems.add(key, f"no such choice {show(value)}; {choices(str(value), map(str, get_args(hint)))}")
        raise _Wrong
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            return _refuse(hint, value, key, problems)
        return tuple(
            _parse_value(get_args(hint)[0], item, f"{key}[{place}]", problems) for place, item in enumerate(value)
        )
    if dataclasses.is_dataclass(hint):
        return _parse_object(hint, value, key, problems)  # type: ignore[arg-type]
    if type(value) is hint and hint not in (int, float):
        return value
    if hint in (int, float) and type(value) in (int, hint) and -math.inf < value < math.inf:
        if abs(value) <= MOST:
            return hint(value)
        problems.add(key, f"must be between {-MOST:,} and {MOST:,}, got {show(value)}")
        raise _Wrong
    return _refuse(hint, value, key, problems)


def _refuse(hint: Any, value: Any, key: str, problems: Problems) -> Any:
    shown = "nothing" if value is None else show(value)
    problems.add(key, f"must be {_describe(hint)}, got {shown}")
    raise _Wrong


def _describe(hint: Any) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text (in quotes if it looks like a number)",
    }
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if part is type(None) else _describe(part) for part in get_args(hint))
    if origin is Literal:
        one_of = "one of " if len(get_args(hint)) > 1 else ""
        return f"{one_of}{', '.join(map(str, get_args(hint)))}"
    if origin is tuple:
        return f"a list, each {_describe(get_args(hint)[0])}"
    return names.get(hint, "a mapping")


@dataclasses.dataclass(frozen=True)
class Difference:
    key: str
    one: Any
    other: Any


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return every value by its full key, `train.phases[0].name`; a list of plain values is one value."""
    rows: dict[str, Any] = {}
    for key, value in tree.items():
        rows |= _flat(value, f"{prefix}{key}")
    return rows


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """Return the keys in which two trees differ, in their order."""
    first, second = flat(one), flat(other)
    keys = [*first, *(key for key in second if key not in first)]
    pairs = [Difference(key, first.get(key, ABSENT), second.get(key, ABSENT)) for key in keys]
    return [pair for pair in pairs if pair.one != pair.other or type(pair.one) is not type(pair.other)]


def _flat(value: Any, key: str) -> dict[str, Any]:
    if isinstance(value, Mapping) and value:
        return flat(value, f"{key}.")
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        rows: dict[str, Any] = {}
        for number, item in enumerate(value):
            rows |= _flat(item, f"{key}[{number}]")
        return rows
    return {key: value}


def settings_tree(settings: Any, kinds: Mapping[str, type] | None = None) -> dict[str, Any]:
    """Return a settings object as plain values; where several kinds may stand, with the one it is.

    The metadata `left_out` of a field that came later is the value with which run.yaml and fingerprints stay as they
    were.
    """
    tree: dict[str, Any] = {"kind": kind_of(kinds, settings)} if kinds and len(kinds) > 1 else {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if "left_out" not in field.metadata or value != field.metadata["left_out"]:
            tree[field.name] = make_plain(value, field.metadata.get("kinds"))
    return tree


def make_plain(value: Any, kinds: Mapping[str, type] | None = None) -> Any:
    """Return a value with lists in place of tuples, as YAML has them."""
    if dataclasses.is_dataclass(value):
        return settings_tree(value, kinds)
    if isinstance(value, dict):
        return {key: make_plain(item) for key, item in value.items()}
    return [make_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
