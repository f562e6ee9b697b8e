"""Where each value of a resolved variant comes from: a file and line, a default, or the rest of the variant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.config.compose import Composed
from bakeoff.run.differences import ABSENT, flat
from bakeoff.run.settings import Draft, Run, as_tree

DEFAULT, DERIVED = "default", "derived"


@dataclass(frozen=True)
class Value:
    key: str
    value: Any
    origin: str


def values_of(run: Run, draft: Draft, composed: Composed) -> list[Value]:
    """Every key of run.yaml with its value and where that was said."""
    said = flat(as_tree(draft))
    return [Value(key, value, _origin(key, value, said, composed)) for key, value in flat(as_tree(run)).items()]


def _origin(key: str, value: Any, said: Mapping[str, Any], composed: Composed) -> str:
    group, _, inner = key.partition(".")
    if group == "variant":
        return composed.origin_of_choice(inner)
    if value != said.get(key, ABSENT):
        return DERIVED
    return composed.place_of(key) if not inner or composed.layer_of(key) else DEFAULT
