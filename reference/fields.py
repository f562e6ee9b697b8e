"""A settings class -> its keys, as a reader of conf/ knows them.

`fields_of(Tiles)` -> Field("size", "whole number or null", "null", "16 to 65,536", "side of a tile, …"), …
"""

import dataclasses
import inspect
import io
import json
import tokenize
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from reference.ranges import find_rules, wrong_values

PLAIN = {int: "whole number", float: "number", bool: "true or false", str: "text"}
SEVERAL = {int: "whole numbers", float: "numbers", str: "texts"}
# What these hold has a table of its own: the group lr, and the same rules as of a single crop.
ELSEWHERE = ("phases[].lr", "augment.crop.ways")


@dataclasses.dataclass(frozen=True)
class Field:
    key: str
    type: str
    default: str
    range: str
    comment: str  # what stands behind the field in the code; empty: nothing


def fields_of(settings: Any, prefix: str = "") -> Iterator[Field]:
    """Yield the keys of a settings object, those of its inner objects with the way to them.

    `settings` is valid: its values are what a wrong one replaces to learn the rule for it.
    """
    cls: type = type(settings)
    hints, comments = get_type_hints(cls), comments_of(cls)
    for field in dataclasses.fields(cls):
        hint, key = hints[field.name], f"{prefix}{field.name}"
        if dataclasses.is_dataclass(hint):
            yield from fields_of(getattr(settings, field.name), f"{key}.")
            continue
        kinds: Mapping[str, type] = field.metadata.get("kinds", {})
        choices = ", ".join(f"`{choice}`" for choice in _choices_of(hint))
        rules = choices or find_rules(settings, field.name, wrong_values(hint))
        yield Field(key, describe_type(hint), describe_default(field), rules, comments.get(field.name, ""))
        yield from _inner(hint, kinds, key)


def _inner(hint: Any, kinds: Mapping[str, type], key: str) -> Iterator[Field]:
    """Yield the keys of what a field may hold: an object, a list of them, or an object of one of several kinds."""
    if key in ELSEWHERE:
        return
    if kinds:
        yield Field(f"{key}.kind", "choice", "required", ", ".join(f"`{kind}`" for kind in kinds), "")
    seen = set[str]()
    for cls in kinds.values() or _classes_in(hint):
        place = f"{key}[]" if get_origin(hint) is tuple else key
        for field in fields_of(example_of(cls), f"{place}."):
            if field.key not in seen:
                seen.add(field.key)
                yield field


def list_keys(cls: type, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys and types of a class that nobody fills in by hand."""
    for name, hint in get_type_hints(cls).items():
        if dataclasses.is_dataclass(hint):
            yield from list_keys(hint, f"{prefix}{name}.")  # type: ignore[arg-type]
            continue
        yield f"{prefix}{name}", describe_type(hint)
        for one in _classes_in(hint):
            yield from list_keys(one, f"{prefix}{name}[].")


def example_of(cls: type, **given: Any) -> Any:
    """Return a valid object: the defaults, and a text for what has none."""
    lacking = [field.name for field in dataclasses.fields(cls) if _lacks_default(field)]
    values: dict[str, Any] = dict.fromkeys(lacking, "name") | given
    if cls.__name__ == "Tiles":
        values |= {"size": 320}
    return cls(**values)


def _lacks_default(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _classes_in(hint: Any) -> list[type]:
    parts: tuple[Any, ...] = get_args(hint) if get_origin(hint) in (Union, types.UnionType, tuple) else ()
    return [part for part in parts if isinstance(part, type) and dataclasses.is_dataclass(part)]


def _choices_of(hint: Any) -> list[str]:
    """Return the names that a field may have; of a field that also takes numbers or any text, none."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    rest = [part for part in parts if part is not type(None)]
    if len(rest) == 1 and get_origin(rest[0]) is tuple:
        return _choices_of(get_args(rest[0])[0])
    return [str(name) for name in get_args(rest[0])] if len(rest) == 1 and get_origin(rest[0]) is Literal else []


def describe_type(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        rest = [part for part in get_args(hint) if part is not type(None)]
        named = [part for part in rest if get_origin(part) is Literal]
        if all(dataclasses.is_dataclass(part) for part in rest):
            parts = ["mapping"]
        elif named and len(rest) > 1:
            parts = [describe_type(part) for part in rest if part not in named]
            parts += [f"`{name}`" for part in named for name in get_args(part)]
        else:
            parts = [describe_type(part) for part in rest]
        parts += ["null"] if len(rest) < len(get_args(hint)) else []
        return f"{', '.join(parts[:-1])} or {parts[-1]}" if len(parts) > 1 else parts[0]
    if origin is Literal:
        return "choice"
    if origin is tuple:
        [item, *_] = get_args(hint)
        if get_origin(item) is tuple:
            return "list of lists"
        return f"list of {'mappings' if dataclasses.is_dataclass(item) else SEVERAL.get(item, 'choices')}"
    return PLAIN.get(hint, "mapping")


def describe_default(field: dataclasses.Field) -> str:
    if _lacks_default(field):
        return "required"
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        return f"{len(value)} mappings"
    return f"`{value}`" if isinstance(value, str) and value else f"`{json.dumps(_as_written(value))}`"


def _as_written(value: Any) -> Any:
    """Return it as YAML writes it: 1 for 1.0, lists for tuples."""
    if isinstance(value, tuple):
        return [_as_written(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 10**6 else value


@cache
def comments_of(cls: type) -> Mapping[str, str]:
    """Return the comment behind each field, also of the classes that it is made of."""
    comments: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(one):
            continue
        source = inspect.getsource(one)
        lines = source.splitlines()
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                name = lines[token.start[0] - 1].strip().partition(":")[0]
                comments |= {name: token.string.lstrip("# ")} if name.isidentifier() else {}
    return comments
