"""Which variables of a network a list of patterns names: `backbone`, `head.boxes`, `block_1*`, `logits/kernel`.

A pattern is the name of one of the network's parts, a layer, or a glob over variable paths (`layer/variable`).
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

Parts = Mapping[str, tuple[str, ...]]
NEAREST = 3


def select(paths: Iterable[str], patterns: Sequence[str], parts: Parts) -> list[str]:
    """The paths that at least one pattern names, in their own order."""
    globs = [glob for pattern in patterns for glob in parts.get(pattern, (pattern,))]
    return [path for path in paths if any(_matches(path, glob) for glob in globs)]


def unmatched(paths: Sequence[str], patterns: Sequence[str], parts: Parts) -> dict[str, list[str]]:
    """The patterns that name nothing, each with the nearest names that would."""
    names = sorted({*parts, *(path.split("/")[0] for path in paths)})
    empty = [pattern for pattern in patterns if not select(paths, [pattern], parts)]
    return {pattern: get_close_matches(pattern.strip("*?"), names, n=NEAREST, cutoff=0.4) for pattern in empty}


def _matches(path: str, glob: str) -> bool:
    return path.startswith(f"{glob}/") or fnmatchcase(path, glob)
