"""Where the variables of networks here are in TensorFlow checkpoints of others: tables by layer, and who reads them.

A line is `layer of the network<TAB>scope in the checkpoint`. `{n}` stands for a number, `{4*n-2}` for what follows from
it; in a scope `*` stands for any name and `#` for any number. A layer may have several lines: one of them will do.

`tf2` is for checkpoints of the Object Detection API for TensorFlow 2, whose names are paths of Python objects; `tf1` is
for those of TF-Slim and of that API for TensorFlow 1. A table in `backbones` is for networks that have all its
layers; of several the longest counts, for a ResNet-101 has all layers of a ResNet-50.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PLACE = re.compile(r"\{(?:(\d+)\*)?([a-z])([+-]\d+)?\}")
SLIM = {
    "kernel": "weights",
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}


@dataclass(frozen=True)
class Kind:
    """A way to name variables; `roots` are what may stand before the scopes of a backbone."""

    name: str
    roots: tuple[str, ...]
    suffix: str = ""

    def key(self, scope: str, variable: str) -> str:
        return f"{scope}/{SLIM.get(variable, variable) if self.name == 'tf1' else variable}{self.suffix}"


# What loads and then computes something else here: a key that tells it, and how.
DIFFERENCES = (
    (
        re.compile(r"/fpn/smoothing_2/"),
        "under TensorFlow 1 a pyramid passes the sum of a level on, here the smoothed one: its finest level answers "
        "otherwise until it is trained",
    ),
    (
        re.compile(r"(^|/)resnet_v1_\d+/"),
        "TF-Slim's ResNets stride in the last unit of a block, here in the first: it answers otherwise until it is "
        "trained",
    ),
)

KINDS = (
    Kind(
        "tf2",
        ("model/_feature_extractor/classification_backbone/", "feature_extractor/", ""),
        "/.ATTRIBUTES/VARIABLE_VALUE",
    ),
    Kind("tf1", ("FeatureExtractor/", "")),
)


@dataclass(frozen=True)
class LayerNames:
    name: str
    variables: tuple[tuple[str, str], ...]  # for each variable: its path in the network, its name in the tables


def find_names(layers: Collection[LayerNames], keys: Collection[str]) -> dict[str, str]:
    """Return the key of each variable that one way of naming finds in a checkpoint; the way that finds most."""
    ways = [_find(layers, kind, root, keys) for kind in KINDS for root in kind.roots]
    return max(ways, key=len)


def find_differences(keys: Iterable[str]) -> list[str]:
    """Say what else the layers compute here that are filled from these keys."""
    every = list(keys)
    return [words for pattern, words in DIFFERENCES if any(pattern.search(key) for key in every)]


def _find(layers: Collection[LayerNames], kind: Kind, root: str, keys: Collection[str]) -> dict[str, str]:
    rows = _read_rows(kind, root, {layer.name for layer in layers})
    keys = frozenset(keys)
    found: dict[str, str] = {}
    for layer in layers:
        ways = ({path: kind.key(scope, name) for path, name in layer.variables} for scope in _scopes(layer.name, rows))
        most: dict[str, str] = {}
        for way in ways:
            here = _present(way, keys)
            most = here if len(here) > len(most) else most
        found |= most
    return found


def _read_rows(kind: Kind, root: str, layers: Collection[str]) -> list[tuple[str, str]]:
    rows = [row for file in sorted((HERE / kind.name).glob("*.tsv")) for row in read_table(file)]
    backbones = [list(read_table(file)) for file in sorted((HERE / kind.name / "backbones").glob("*.tsv"))]
    fitting = [table for table in backbones if all(_is_in(layers, ours) for ours, _ in table)]
    return rows + [(ours, root + theirs) for ours, theirs in max(fitting, key=len, default=[])]


def _is_in(layers: Collection[str], ours: str) -> bool:
    return any(_pattern(ours).fullmatch(name) for name in layers)


def read_table(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            ours, _, theirs = line.partition("\t")
            yield ours, theirs


def _pattern(ours: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{([a-z])\\\}", r"(?P<\1>\\d+)", re.escape(ours)))


def _scopes(layer: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for ours, theirs in rows:
        if match := _pattern(ours).fullmatch(layer):
            yield PLACE.sub(lambda place: str(_number(place, match.groupdict())), theirs)


def _number(place: re.Match[str], numbers: Mapping[str, str]) -> int:
    times, name, plus = place.groups()
    return int(times or 1) * int(numbers[name]) + int(plus or 0)


def _present(way: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """Return the variables whose key the checkpoint has; a star may stand for one key only."""
    found = {}
    for path, key in way.items():
        if "*" in key or "#" in key:
            pattern = re.compile(re.escape(key).replace(r"\*", "[^/]+").replace(r"\#", r"\d+"))
            matches = [one for one in keys if pattern.fullmatch(one)]
            if len(matches) == 1:
                found[path] = matches[0]
        elif key in keys:
            found[path] = key
    return found
