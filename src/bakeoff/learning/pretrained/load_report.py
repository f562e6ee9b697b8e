"""First weights from elsewhere: what is loaded, what is skipped, what stays random (`init.json`).

{"source": "weights.h5", "loaded": ["Conv1/kernel", …], "skipped": [{"name": "logits/kernel", "here": [1280, 5],
 "there": [1280, 19]}], "left_random": ["logits/bias"], "unused": ["predictions/kernel"], "differs": []}
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.network import Network, select
from bakeoff.learning.networks.weights import require_matches
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.match_variables import NamedArrays, open_stock
from bakeoff.learning.pretrained.weight_source import KEY, WeightSource

FILE = "init.json"
SHOWN = 3


def load_first_weights(network: keras.Model, model: Network, init: Init, origin: WeightSource) -> dict[str, Any]:
    """Into the network; returns what `init.json` holds."""
    if init.weights == "none":
        everything = [weight.path for weight in network.weights]
        return {"source": init.weights, "loaded": [], "skipped": [], "left_random": everything, "differs": []}
    wanted = _wanted(network, model, init)
    source = (origin.path or Path(init.weights)).as_posix()
    with open_stock(network, model, init, origin) as stock:
        report = _load(network, stock, wanted)
        if init.warm_start:
            _require_what_was_asked(report, source, wanted)
        if not report["loaded"]:
            raise DataError(f"{source}: holds nothing that fits this network: weights of another architecture ({KEY})")
        if not init.warm_start and init.names is None:  # no setting says that only a part is to be loaded
            _require_this_architecture(report, source, model)
        if init.names is None:
            _require_partners(report, source, wanted, stock)
    return {"source": source, "digest": origin.digest} | report


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    (folder / FILE).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def in_words(report: Mapping[str, Any], init: Init) -> list[str]:
    """For the screen: counts, and the first few names; if all is random, nothing, or what the recipe was made for."""
    if report["source"] == "none":
        made_for = f"the first weights are random; this recipe was made to start from {init.lacks} (train.init.weights)"
        return [made_for] if init.lacks else []
    lines = [f"first weights from {report['source']}: {len(report['loaded'])} variables loaded"]
    skipped = [f"{one['name']} {one['here']}, there {one['there']}" for one in report["skipped"]]
    named = (
        ("skipped, another shape", skipped),
        ("left random", report["left_random"]),
        ("not used", report["unused"]),
    )
    for what, names in named:
        if names:
            more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            lines.append(f"  {len(names)} {what}: {'; '.join(names[:SHOWN])}{more}")
    return [*lines, *(f"  {difference}" for difference in report["differs"])]


def _wanted(network: keras.Model, model: Network, init: Init) -> set[str]:
    """The variables that `warm_start` names; along with them, always, the statistics of their layers."""
    paths = [weight.path for weight in network.weights]
    if not init.warm_start:
        return set(paths)
    require_matches(paths, init.warm_start, model.parts, "train.init.warm_start")
    chosen = set(select(paths, init.warm_start, model.parts))
    layers = {path.rpartition("/")[0] for path in chosen}
    statistics = {weight.path for weight in network.non_trainable_weights}
    return chosen | {path for path in statistics if path.rpartition("/")[0] in layers}


def _load(network: keras.Model, stock: NamedArrays, wanted: set[str]) -> dict[str, Any]:
    loaded, skipped, left, used = [], [], [], set()
    for weight in network.weights:
        name = stock.name_of(weight.path) if weight.path in wanted else None
        if name is None:
            left.append(weight.path)
            continue
        used.add(name)
        stored = stock.fitted(weight.path, tuple(weight.shape))
        if stored.shape != tuple(weight.shape):
            skipped.append({"name": weight.path, "here": list(weight.shape), "there": list(stored.shape)})
        else:
            weight.assign(_finite(stored.read(), weight.path))
            loaded.append(weight.path)
    unused = [name for name in stock.names if name not in used]
    differs = stock.differences(loaded)
    return {"loaded": loaded, "skipped": skipped, "left_random": left, "unused": unused, "differs": differs}


def _finite(array: np.ndarray, path: str) -> np.ndarray:
    if not np.isfinite(array).all():
        raise DataError(f"{KEY}: holds {path} with numbers that are not finite; take weights from before that")
    return array


def _require_what_was_asked(report: dict[str, Any], source: str, wanted: set[str]) -> None:
    """What `warm_start` names in so many words must be there."""
    for one in report["skipped"]:
        raise DataError(
            f"{source}: {one['name']} has shape {one['there']}, this network's has {one['here']}; "
            "leave it out of train.init.warm_start"
        )
    missing = [path for path in report["left_random"] if path in wanted]
    if missing:
        more = f", and {len(missing) - 1} more of the {len(wanted)} that" if len(missing) > 1 else ", which"
        raise DataError(
            f"{source}: holds no {missing[0]}{more} train.init.warm_start names; "
            "these are weights of another architecture, or leave it out of train.init.warm_start"
        )


def _require_this_architecture(report: dict[str, Any], source: str, model: Network) -> None:
    """A few layers may be called alike, and fit, in networks that have nothing in common."""
    skipped = [one["name"] for one in report["skipped"]]
    backbone = select([*report["loaded"], *skipped, *report["left_random"]], ["backbone"], model.parts)
    fitting = len(set(backbone) & set(report["loaded"]))
    if fitting < len(backbone) / 2:
        raise DataError(
            f"{source}: fits {fitting} of the {len(backbone)} variables of this network's backbone: weights of another "
            "architecture; if some are meant to be taken all the same, name them in train.init.warm_start"
        )
    missing = [path for path in backbone if path in set(report["left_random"])]
    if missing:
        raise DataError(
            f"{source}: holds no {missing[0]}{_more(missing)}, of the {len(backbone)} variables of this network's "
            "backbone, which would stay random; take whole weights, or name what is meant in train.init.warm_start"
        )


def _require_partners(report: dict[str, Any], source: str, wanted: set[str], stock: NamedArrays) -> None:
    """A layer is loaded whole: what it lacks there, or has there and not here, would change what it computes."""
    loaded = {path.rpartition("/")[0] for path in report["loaded"]}
    alone = [path for path in report["left_random"] if path in wanted and path.rpartition("/")[0] in loaded]
    if alone:
        raise DataError(
            f"{source}: holds no {alone[0]}{_more(alone)}, but the rest of the layer: weights of another architecture, "
            "or of a part that train.init.warm_start has to leave out"
        )
    beside = stock.beside(loaded)
    if beside:
        raise DataError(
            f"{source}: holds {beside[0]}{_more(beside)}, which the network's layer has no place for: weights of "
            "another architecture"
        )


def _more(names: list[str]) -> str:
    return f", and {len(names) - 1} more" if len(names) > 1 else ""
