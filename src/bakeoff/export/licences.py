"""What a run started from and was trained on -> a statement of licences: of its weights, of this code, of its data.

weights: random weights; nobody else has rights in them
code: bakeoff, Apache-2.0; no code of another detector is in the files
data: 600 examples of 10 classes; their licence is that of your pictures, and no file here names it
AGPL: in none of these that is known
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.learning.checkpoints.trained_state import find_published

UNKNOWN = "not known"
AGPL = "AGPL"


def state_licences(starts: Sequence[Mapping[str, Any]], own: Mapping[str, Any] | None) -> list[str]:
    """`starts` and `own` are those of a run's lineage; export.json has them."""
    published, began = find_published(starts, own), find_published(starts)
    weights = [_describe(one) for one in began] or ["random weights; nobody else has rights in them"]
    taught = [f"taught by weights from: {_describe(one)}" for one in published if one not in began]
    trained_on = [str(one.get("data") or UNKNOWN) for one in (*starts, own or {}) if "run" in one]
    return [
        *(f"weights: {line}" for line in weights),
        *taught,
        "code: bakeoff, Apache-2.0; no code of another detector is in the files",
        f"data: {', then '.join(trained_on) or UNKNOWN}; their licence is that of your pictures, and no file here"
        " names it",
        f"{AGPL}: {_find_agpl(published)}",
    ]


def _describe(one: Mapping[str, Any]) -> str:
    sure = "" if one.get("verified") is not False else ", not verified"
    return f"{one.get('name')}, licence {one.get('licence') or UNKNOWN}{sure}; trained on {one.get('data') or UNKNOWN}"


def _find_agpl(published: Sequence[Mapping[str, Any]]) -> str:
    names = [str(one.get("name")) for one in published if AGPL in str(one.get("licence") or "").upper()]
    if names:
        return f"the weights {', '.join(names)}; who gives the files away must publish all that they are part of"
    unknown = [str(one.get("name")) for one in published if not one.get("licence")]
    if unknown:
        return f"not known, for the licence of {', '.join(unknown)} is not known; ask whoever published the weights"
    return "in none of these that is known"
