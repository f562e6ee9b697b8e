"""Folds: configurations that differ in which part of the data is validation. Each of them builds records of its own.

--folds 3  ->  +data.split.fold=1/3,2/3,3/3 +data.split.test=0
"""

from collections.abc import Mapping
from typing import Any

from bakeoff.dataset.sources.dataset import MOST_FOLDS
from bakeoff.foundation.errors import WorkspaceError

FOLD, TEST = "data.split.fold", "data.split.test"
OF_FOLDS = ("fold", "test")  # keys of data.split that folds may set, for a test split would be in no fold


def make_overrides(folds: int) -> list[str]:
    """Return the overrides of a sweep that trains every fold."""
    if not 2 <= folds <= MOST_FOLDS:
        raise WorkspaceError(f"--folds: must be 2 to {MOST_FOLDS}, got {folds}")
    return [f"+{FOLD}={','.join(f'{number}/{folds}' for number in range(1, folds + 1))}", f"+{TEST}=0"]


def find_fold(data: Any) -> str | None:
    """Return the fold that params.yaml's group `data` names."""
    split = data.get("split") if isinstance(data, Mapping) else None
    return split.get("fold") if isinstance(split, Mapping) else None


def is_same_data(one: Any, other: Any) -> bool:
    """Return whether two groups `data` name the same data, whatever their folds are."""
    return _without_fold(one) == _without_fold(other)


def _without_fold(data: Any) -> Any:
    if isinstance(data, str):
        return {"use": data}
    if not isinstance(data, Mapping) or not isinstance(data.get("split"), Mapping):
        return data
    split = {key: value for key, value in data["split"].items() if key not in OF_FOLDS}
    return {key: value for key, value in data.items() if key != "split"} | ({"split": split} if split else {})
