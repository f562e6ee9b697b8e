"""What a run and its numbers are called in MLflow, whose pages make a folder of charts of what stands before a slash.

    name       9e1f70b2 ssd_small · cosine · low, lr.peak 0.08      the run's short name, the variant, what was changed
    params     lr.use instead of variant.lr; derived values are tags, for nobody chooses them
    metrics    evaluation/mAP_50                       of all examples, those of headline.json, at most eight
               within_evaluation/more/mAP_small        the others; the folders within come after the curves of training
               within_evaluation/classes/AP.cat        a number of each class
               within_evaluation/errors/errors.missed  a number of each kind of error
               within_evaluation/intervals/mAP.low     the ends of intervals

Journals and compare have the plain names. A store that an earlier version wrote has those, too, and reads the same.
"""

import os
import re
from collections.abc import Mapping
from functools import cache

from bakeoff.evaluation.headline_json import FIRST
from bakeoff.foundation import git
from bakeoff.foundation.files import read_text
from bakeoff.foundation.formatting import without_secrets
from bakeoff.foundation.workspace import PARAMS
from bakeoff.tracking.results.results import flatten, parse_yaml
from bakeoff.tracking.results.run_id import SHOWN_OF_ID

OWN_ID = re.compile(r"[0-9a-f]{32}")
DIFFERS_TAG = "bakeoff.differs"  # what params.yaml changed, as the run's name in MLflow has it
OPTION, USE, DERIVED = "variant.", ".use", "derived."
NAMED_OPTIONS = ("model.use", "lr.use", "memory.use")  # by the variant's name
MOST_CHANGES = 4
EVALUATED = re.compile(r"(?P<place>evaluation\w*)/(?P<name>.+)")
WITHIN = re.compile(r"within_(?P<place>evaluation\w*)/(?P<folder>more|classes|errors|intervals)/(?P<name>.+)")
INTERVAL, ERRORS = "interval.", ("errors.", "lost_")


def metric_in_mlflow(name: str) -> str:
    match = EVALUATED.fullmatch(name)
    if not match:
        return name
    place, own = match["place"], match["name"]
    if own.startswith(INTERVAL):
        return f"within_{place}/intervals/{own.removeprefix(INTERVAL)}"
    if "." in own:
        return f"within_{place}/{'errors' if own.startswith(ERRORS) else 'classes'}/{own}"
    return name if own in FIRST else f"within_{place}/more/{own}"


def is_of_all_classes(name: str) -> bool:
    """Tell whether a number is of all classes together: neither AP_50.cat nor errors.missed. Intervals are."""
    match = EVALUATED.fullmatch(name)
    return not match or match["name"].startswith(INTERVAL) or "." not in match["name"]


@cache  # thousands of runs have the same few names
def metric_from_mlflow(name: str) -> str:
    match = WITHIN.fullmatch(name)
    if not match:
        return name
    return f"{match['place']}/{INTERVAL if match['folder'] == 'intervals' else ''}{match['name']}"


def params_in_mlflow(values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return params, and tags: those that were derived."""
    chosen = {option_in_params(key): value for key, value in values.items() if not key.startswith(DERIVED)}
    return chosen, {key: value for key, value in values.items() if key.startswith(DERIVED)}


@cache
def option_in_params(key: str) -> str:
    """Call `variant.lr`, the option, by the name that params.yaml has for it: `lr.use`."""
    return f"{key.removeprefix(OPTION)}{USE}" if key.startswith(OPTION) else key


def params_from_mlflow(params: Mapping[str, str], tags: Mapping[str, str]) -> dict[str, str]:
    return {**params, **{key: value for key, value in tags.items() if key.startswith(DERIVED)}}


def short_of(run_id: str) -> str:
    """Return a run's short name. The run of a sweep itself has the sweep's name."""
    return run_id[:SHOWN_OF_ID] if OWN_ID.fullmatch(run_id) else ""


def name_in_mlflow(run_id: str, name: str, differs: str = "") -> str:
    """Put the short name and what was changed before the variant, for MLflow's lists cut long names off."""
    return f"{short_of(run_id)} {f'{differs}, ' if differs else ''}{name}".lstrip()


def name_from_mlflow(run_id: str, name: str, tags: Mapping[str, str]) -> str:
    """Return the name without what was put into it; one that a user gave it in MLflow stays."""
    if name.startswith(run_id[:SHOWN_OF_ID]):
        name = name.removeprefix(f"{short_of(run_id)} ")
    differs = tags.get(DIFFERS_TAG, "")
    if not differs or name.startswith(f"{differs}, "):
        return name.removeprefix(f"{differs}, ")
    return name.replace(f", {differs}", "", 1)  # as versions up to 0.15 had it, behind the variant


def describe_changes(variant: Mapping[str, object]) -> str:
    """Return the changes of params.yaml since the last commit, for a name: `lr.peak 0.08, seed 3`. In an experiment the
    commit is the one that it started from. Only changes that the rendered `variant` has count.
    """
    before = dict(flatten(parse_yaml(git.file_at(os.environ.get("DVC_EXP_BASELINE_REV", "HEAD"), PARAMS.name))))
    rendered = {option_in_params(key): value for key, value in flatten(variant)}
    changes = []
    for key, value in flatten(parse_yaml(read_text(PARAMS))):
        used = f"{key}{USE}" if f"{key}{USE}" in rendered else key  # a bare name is an option
        if used in NAMED_OPTIONS or value in (before.get(key), before.get(used)):
            continue
        if used in rendered and rendered[used] == value:
            changes.append(without_secrets(f"{used} {value}"))
    more = len(changes) - MOST_CHANGES
    return ", ".join([*changes[:MOST_CHANGES], *([f"{more} more"] if more > 0 else [])])
