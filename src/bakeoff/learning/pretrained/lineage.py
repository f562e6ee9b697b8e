"""Whose weights a run starts from: others' by the `about.yaml` beside them, a run's own by its `state.json`.

    [{"name": "ssd_mobilenet_v2_320x320_coco17_tpu-8", "licence": "Apache-2.0", "data": "COCO 2017", "verified": false,
      "sha256": "77ab…"}, {"run": "1356d7d31e99a84a", "data": "600 examples of 10 classes", "steps": 2000}]

The oldest comes first; each was trained on from the one before it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bakeoff.foundation.errors import ConfigError, choices
from bakeoff.foundation.files import write_whole

CARD = "about.yaml"
FILE = "lineage.json"  # in the folder of a run's work
STATE = "state.json"  # beside the weights of a run
TEXTS = ("name", "source", "came_from", "page", "licence", "forbids", "data", "sha256")
KNOWN = (*TEXTS, "accepted", "classes", "verified")
IMAGENET = {"name": "imagenet", "page": "Keras Applications", "licence": "Apache-2.0", "data": "ImageNet (ILSVRC 2012)"}

Lineage = list[dict[str, Any]]


def lineage_of(weights: str, path: Path | None, digest: str) -> Lineage:
    """`weights` is what the variant calls them, `path` their file, or the prefix of a checkpoint."""
    if path is None:
        return [] if weights == "none" else [dict(IMAGENET)]
    if (state := path.parent / STATE).is_file():
        return _of_run(_read_json(state))
    if (work := path.parent.parent / FILE).is_file():
        return [*_read_json(work)["starts"], _read_json(work)["own"]]
    card = read_card(path)
    card.pop("came_from", None)  # which may be a folder or server that is nobody else's business
    return [{"name": weights, "licence": None, "data": None} | card | {"digest": digest}]


def find_starts(weights: str, path: Path | None, digest: str, gone_on_from: Path | None) -> Lineage:
    """Of a run that continues another, what the other started from; its folder of work is `gone_on_from`."""
    return starts_of_work(gone_on_from) if gone_on_from else lineage_of(weights, path, digest)


def read_card(path: Path) -> dict[str, Any]:
    """Return what is said of a file or a checkpoint, in its folder or, of `checkpoint/ckpt-0`, in the folder around."""
    folder = path.parent.parent if path.parent.name == "checkpoint" else path.parent
    file = folder / CARD
    if not file.is_file():
        return {}
    try:
        facts = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.as_posix()}: cannot be read ({' '.join(str(error).split())[:200]})") from None
    if not isinstance(facts, dict):
        raise ConfigError(f"{file.as_posix()}: must be lines of `key: value`, got {facts!r}")
    for key, value in facts.items():
        if key not in KNOWN:
            raise ConfigError(f"{file.as_posix()}: no such key {key!r}; {choices(str(key), KNOWN)}")
        if key in TEXTS and not isinstance(value, str | None):
            raise ConfigError(f"{file.as_posix()}: {key}: must be a text or null, got {value!r}")
    return facts


def require_licence(path: Path, key: str) -> None:
    """Refuse weights that may not be used, unless whoever fetched them has said that this use is none of those."""
    card = read_card(path)
    if card.get("forbids") and card.get("accepted") is not True:
        raise ConfigError(
            f"{key}: the licence of {path.as_posix()}, {card.get('licence')}, forbids {card['forbids']}; if that is no "
            f"use of yours, write `accepted: true` into the {CARD} beside it"
        )


def own_entry(fingerprint: str, digest: str, examples: int, classes: Sequence[str]) -> dict[str, Any]:
    """What a run adds, for those that start from its weights."""
    noun = "class" if len(classes) == 1 else "classes"
    return {"run": fingerprint, "data": f"{examples:,} examples of {len(classes)} {noun}", "records": digest}


def keep(starts: Lineage, own: Mapping[str, Any], folder: Path) -> None:
    write_whole(folder / FILE, json.dumps({"starts": starts, "own": own}, indent=1) + "\n", lasting=True)


def starts_of_work(folder: Path) -> Lineage:
    """Return what the run in a folder of work started from."""
    if (folder / FILE).is_file():
        return list(_read_json(folder / FILE)["starts"])
    return [{"name": f"whatever run {folder.name[:8]} started from", "licence": None, "data": None}]


def starts_of(state: Mapping[str, Any]) -> Lineage:
    """Return what a finished run started from, also of one from before more was kept than a name."""
    lineage = state.get("lineage") or {}
    known = lineage.get("starts")
    if known is not None:
        return list(known)
    source = lineage.get("started_from", "none")
    return [] if source == "none" else [{"name": source, "licence": None, "data": None}]


def licences_of(starts: Lineage) -> list[str]:
    """Return the licences of all weights that others have published; `not known` among them."""
    return list(dict.fromkeys(one.get("licence") or "not known" for one in starts if "run" not in one))


def in_words(starts: Lineage) -> str:
    return "; then ".join(map(_describe, starts)) or "random weights"


def remarks(starts: Lineage) -> list[str]:
    """For the screen; of random weights nothing."""
    return [f"  {in_words(starts)}"] if starts else []


def _describe(one: Mapping[str, Any]) -> str:
    if "run" in one:
        steps = f"{one['steps']:,} steps on " if "steps" in one else ""
        return f"run {one['run'][:8]}: {steps}{one.get('data') or 'data that is not known'}"
    sure = "" if one.get("verified") is not False else ", not verified"
    data = one.get("data") or "data that is not known"
    return f"{one['name']}, trained on {data}, licence {one.get('licence') or 'not known'}{sure}"


def _of_run(state: Mapping[str, Any]) -> Lineage:
    lineage = state.get("lineage") or {}
    own = lineage.get("own") or {"run": lineage.get("fingerprint", "not known"), "data": None}
    return [*starts_of(state), own | ({"steps": state["step"]} if "step" in state else {})]


def _read_json(file: Path) -> dict[str, Any]:
    try:
        tree = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        tree = None
    if not isinstance(tree, dict):
        raise ConfigError(f"{file.as_posix()}: cannot be read; copy the folder of the run again")
    return tree
