"""What JSON has for a dataclass -> the dataclass, by its type hints: exactly, or as far as it fits."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Value = TypeVar("Value")


def load_fields(kind: Callable[..., Value], tree: Mapping[str, Any], *, strict: bool = True, **given: Any) -> Value:
    """Return a dataclass; `given` has the fields that are known. Keys that it does not know are left out.

    Other mistakes raise KeyError or TypeError. If it is not `strict`, the field has its default instead.
    """
    for name, (load, is_needed) in _describe_fields(kind).items():
        if name not in given and (name in tree or (strict and is_needed)):
            try:
                given[name] = load(tree[name], strict=strict)
            except TypeError:
                if strict:
                    raise
    return kind(**given)


@cache
def _describe_fields(kind: Any) -> dict[str, tuple[Callable[..., Any], bool]]:
    """Return how each field is read, and whether it has no default."""
    hints = get_type_hints(kind)
    return {
        field.name: (_make_loader(hints[field.name]), field.default is field.default_factory is MISSING)
        for field in fields(kind)
    }


def _make_loader(hint: Any) -> Callable[..., Any]:
    """Return a function that takes what JSON has for a type, and raises TypeError for anything else."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        load = _make_loader(arguments[0])
        return lambda value, strict: None if value is None else load(value, strict=strict)
    if origin is tuple:
        return partial(_load_parts, _make_loader(arguments[0]))
    if origin is Mapping:
        return partial(_load_mapping, {float: (int, float), Any: object}.get(arguments[1], arguments[1]))
    if is_dataclass(hint):
        kind: Any = hint
        return lambda value, strict: load_fields(kind, _expect(dict, value), strict=strict)
    return partial(_expect, hint)


def _load_parts(load: Callable[..., Any], value: Any, *, strict: bool) -> tuple[Any, ...]:
    parts = []
    for part in _expect(list, value):
        try:
            parts.append(load(part, strict=strict))
        except TypeError:
            if strict:
                raise
    return tuple(parts)


def _load_mapping(kind: Any, value: Any, *, strict: bool) -> Any:
    if not all(isinstance(one, kind) for one in _expect(dict, value).values()):
        raise TypeError
    return value


def _expect(kind: Any, value: Any, *, strict: bool = True) -> Any:
    """Return the value if it is of the kind. A whole number serves as a float, and a boolean as no number."""
    if kind is float and type(value) is int:
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError
    return value
