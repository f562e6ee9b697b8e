"""First weights from elsewhere: what is loaded, what is skipped, what stays random (`init.json`).

{"source": "weights.h5", "loaded": ["Conv1/kernel", …], "skipped": [{"name": "logits/kernel", "here": [1280, 5],
 "there": [1280, 19]}], "left_random": ["logits/bias"], "unused": 4}
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np

from bakeoff.errors import ConfigError, DataError
from bakeoff.networks.network import Network, Pretrained, select
from bakeoff.training.origin import KEY, Origin
from bakeoff.training.settings import Init
from bakeoff.training.weight_files import Layers, Stored, open_weights, read_table, stored_by_variable
from bakeoff.training.weights import require_matches

FILE = "init.json"
SHOWN = 3


def load_first_weights(network: keras.Model, model: Network, init: Init, origin: Origin) -> dict[str, Any]:
    """Into the network; returns what `init.json` holds."""
    if init.weights == "none":
        everything = [weight.path for weight in network.weights]
        return {"source": init.weights, "loaded": [], "skipped": [], "left_random": everything}
    wanted = _wanted(network, model, init)
    with _stored(network, model, init, origin) as (stored, unused):
        report = _load(network, stored, wanted)
    source = (origin.path or Path(init.weights)).as_posix()
    if init.warm_start:
        _require_what_was_asked(report, source, wanted)
    if not report["loaded"]:
        raise DataError(f"{source}: holds nothing that fits this network: weights of another architecture ({KEY})")
    if not init.warm_start and not origin.is_tf_checkpoint:  # nothing says that a part was meant
        _require_this_architecture(report, source, model)
    return {"source": source, "digest": origin.digest} | report | {"unused": unused - len(report["loaded"])}


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    (folder / FILE).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def in_words(report: Mapping[str, Any], init: Init) -> list[str]:
    """For the screen: counts, and the first few names; if all is random, nothing, or what the recipe was made for."""
    if report["source"] == "none":
        made_for = f"the first weights are random; this recipe was made to start from {init.lacks} (train.init.weights)"
        return [made_for] if init.lacks else []
    lines = [f"first weights from {report['source']}: {len(report['loaded'])} variables loaded"]
    skipped = [f"{one['name']} {one['here']}, there {one['there']}" for one in report["skipped"]]
    for what, names in (("skipped, another shape", skipped), ("left random", report["left_random"])):
        if names:
            more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            lines.append(f"  {len(names)} {what}: {'; '.join(names[:SHOWN])}{more}")
    return lines


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


@contextmanager
def _stored(
    network: keras.Model, model: Network, init: Init, origin: Origin
) -> Iterator[tuple[Callable[[str, str, int], Stored | None], int]]:
    """(path, layer, number in the layer) -> what is stored for a variable; and how much is stored."""
    if origin.is_tf_checkpoint:
        assert origin.path is not None and init.names is not None
        table = read_table(Path(init.names), [weight.path for weight in network.weights])
        by_variable = stored_by_variable(origin.path, table)
        yield lambda path, layer, number: by_variable.get(path), len(by_variable)
    elif origin.path is None:
        layers = _of_imagenet(model)
        yield _by_layer(layers), sum(map(len, layers.values()))
    else:
        with open_weights(origin.path) as layers:
            yield _by_layer(layers), sum(map(len, layers.values()))


def _by_layer(layers: Layers) -> Callable[[str, str, int], Stored | None]:
    def find(path: str, layer: str, number: int) -> Stored | None:
        variables = layers.get(layer, {})
        return variables.get(path.rpartition("/")[2]) or variables.get(str(number))

    return find


def _of_imagenet(model: Network) -> Layers:
    if not isinstance(model, Pretrained):
        raise ConfigError(f"{KEY}: must not be imagenet, for Keras has no trained weights of {type(model).__name__}")
    try:
        trained = model.imagenet()
    except Exception as error:  # Keras raises a bare one for whatever the network answers
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{KEY}: ImageNet's weights could not be downloaded ({reason}); "
            "connect to the internet, or name a file of weights"
        ) from None
    return {
        layer.name: {
            weight.path.rpartition("/")[2]: Stored(tuple(weight.shape), weight.numpy) for weight in layer.weights
        }
        for layer in trained._flatten_layers(include_self=False)
    }


def _load(network: keras.Model, stored: Callable[[str, str, int], Stored | None], wanted: set[str]) -> dict[str, Any]:
    loaded, skipped, left = [], [], []
    for layer in network._flatten_layers():
        for number, weight in enumerate([*layer._trainable_variables, *layer._non_trainable_variables]):
            found = stored(weight.path, layer.name, number) if weight.path in wanted else None
            if found is None:
                left.append(weight.path)
            elif found.shape != tuple(weight.shape):
                skipped.append({"name": weight.path, "here": list(weight.shape), "there": list(found.shape)})
            else:
                weight.assign(_finite(found.read(), weight.path))
                loaded.append(weight.path)
    return {"loaded": loaded, "skipped": skipped, "left_random": left}


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
