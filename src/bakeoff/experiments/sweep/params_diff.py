"""params.yaml as it is and as a configuration wants it -> options of `dvc exp run -S` that turn one into the other.

DVC edits params.yaml with Hydra's notation, yet by rules of its own: a missing key needs `++`, a bare `lr: cosine`
takes no `lr.peak`, mappings are merged, and texts that it writes lose their quotes. So the options are made from the
two trees.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hydra.core.override_parser.types import Quote, QuotedString

from bakeoff.config.compose.overrides import parse_values
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.run_file.parse import flat
from bakeoff.learning.run_file.yaml_file import SURPRISES

NAME = re.compile(r"[A-Za-z_]\w*")
RESERVED = {"null", "true", "false", "inf", "nan"}  # in any case; Hydra reads them as values


def list_options(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Return the options that turn the tree `now` of params.yaml into `wanted`."""
    options = list(_list_changes(now, wanted, ()))
    if options:  # DVC then writes every value anew
        for key, value in flat(wanted).items():
            _require_portable(key, value)
    return options


def _list_changes(now: Mapping[str, Any], wanted: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    same = {key for key in now if key in wanted and repr(now[key]) == repr(wanted[key])}
    changed = [key for key in {**now, **wanted} if key not in same]
    named = all(isinstance(key, str) and NAME.fullmatch(key) for key in changed)
    if path and not (named and all(key in wanted or now[key] is not None for key in changed)):
        # No path names such a key, and Hydra cannot take away a null. So the mapping is replaced as a whole.
        yield f"~{'.'.join(path)}"
        yield _format_setting(path, dict(wanted))
        return
    for key in changed:
        before, after = now.get(key), wanted.get(key)
        place = (*path, str(key))
        if key not in wanted:
            yield f"~{'.'.join(place)}"
        elif isinstance(before, Mapping) and isinstance(after, Mapping) and after:
            yield from _list_changes(before, after, place)
        else:
            if isinstance(before, Mapping):
                yield f"~{'.'.join(place)}"
            yield _format_setting(place, after)


def _format_setting(path: tuple[str, ...], value: Any) -> str:
    option = f"++{'.'.join(path)}={format_value(value)}"
    if value is None or type(value) in (int, bool):
        return option  # Hydra has one way to read these
    try:
        [override] = parse_values([option])
    except ConfigError:
        override = None
    if override is None or repr(_unwrap(override.value())) != repr(value):
        key = ".".join(path)
        raise ConfigError(
            f"{key}: must be a value that `dvc exp run -S` can carry, got {value!r}; write it in params.yaml"
        )
    return option


def format_value(value: Any) -> str:
    """Return a value in Hydra's notation, so that Hydra reads the same value back."""
    if isinstance(value, str):
        bare = NAME.fullmatch(value) and value.lower() not in RESERVED
        return value if bare else QuotedString(value, Quote.single).with_quotes()
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{format_value(inner)}" for key, inner in value.items()) + "}"
    return f"[{','.join(map(format_value, value))}]" if isinstance(value, list) else repr(value)


def _unwrap(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unwrap(inner) for key, inner in value.items()}
    return [_unwrap(inner) for inner in value] if isinstance(value, list) else value


def _require_portable(key: str, value: Any) -> None:
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            continue
        if "${" in text or text == "???":
            raise ConfigError(f"{key}: must be a value for `dvc exp run -S`, got {text!r}; write what it refers to")
        for why, pattern in SURPRISES.items():
            if pattern.fullmatch(text):
                raise ConfigError(f"{key}: DVC would write {text!r} without quotes, and {text} {why.split(';')[0]}")
