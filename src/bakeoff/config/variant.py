"""params.yaml + conf/ + records -> the resolved variant, with all that is wrong with it and where each value stands.

And the source of the records by itself, which build_records asks for.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.config.auto_batch import largest_batch
from bakeoff.config.checks import Records, check_data_path
from bakeoff.config.compose import Composed, compose
from bakeoff.config.facts import facts_of, limits_on_this_machine
from bakeoff.config.resolve import resolve
from bakeoff.config.tile_price import read_sizes
from bakeoff.errors import ConfigError, DataError
from bakeoff.networks.tiles import tiles_of
from bakeoff.records.manifest import Manifest, read_boxes, read_manifest
from bakeoff.records.record import Source
from bakeoff.run.parse import ABSENT, Problems, flat, parse_kind
from bakeoff.run.settings import GROUPS, Draft, Run, as_tree, parse_draft, settings_tree
from bakeoff.sources import SOURCES
from bakeoff.sources.dataset import Dataset, Merged, Part, part_folders

# Every group of a variant and the classes that its settings can be.
KINDS: dict[str, Mapping[str, type]] = {"data": SOURCES} | GROUPS
DEFAULT, DERIVED = "default", "derived"
# Keys of `data` that came later, or how they begin.
LATER = ("fold", "test", "validation_path", "classes", "skip_supercategories", "dated", "square")


@dataclass(frozen=True)
class Variant:
    run: Run | None  # None if there are problems
    draft: Draft  # as it was said, before anything followed from it
    composed: Composed
    problems: Problems

    def whole(self) -> Run:
        """Return the run, or raise every mistake at once."""
        self.problems.raise_any()
        assert self.run is not None
        return self.run


def read_variant(params: Path, conf: Path, records: Path, *, facts: Path, overrides: Sequence[str] = ()) -> Variant:
    """Resolve the workspace's variant, changed by Hydra's `overrides`.

    `facts` is the folder that keeps what is known of networks and of this machine.
    """
    composed = compose(params, conf, overrides=overrides)
    problems = composed.problems
    draft = parse_variant(composed.tree, problems)
    found = _read_records(records, problems, with_sizes=tiles_of(draft.model) is not None)
    run = resolve(
        draft,
        found,
        problems,
        facts_of=lambda network, num_classes: facts_of(network, num_classes, facts),
        is_set=lambda key: composed.layer_of(key) is not None,
        limits_of=lambda memory: limits_on_this_machine(memory, facts, partial(problems.warn, "memory.budget")),
        largest_batch=lambda smallest, load, limits: largest_batch(smallest, load, limits, records, facts),
    )
    if problems.lines and found.manifest and _is_of_other_data(found.manifest, draft):
        remedy = "write this data into params.yaml and run `dvc repro build_records` first"
        problems.lines.insert(0, f"{composed.place_of('data')}: data: the records are of other data; {remedy}")
    return Variant(run, draft, composed, problems)


def _is_of_other_data(manifest: Manifest, draft: Draft) -> bool:
    """Of a merged dataset nobody knows before its parts are read."""
    is_merged = draft.data is None or "merge" in draft.data
    return not is_merged and manifest.source_digest not in ("", _digest([dict(draft.data or {})]))


def _read_records(folder: Path, problems: Problems, *, with_sizes: bool) -> Records:
    try:
        manifest = read_manifest(folder)
        boxes = read_boxes(folder, manifest) if manifest.boxes_sha256 else None
        sizes = read_sizes(folder, manifest) if with_sizes and boxes is not None else None
    except DataError as error:
        problems.note(str(error))
        return Records(None)
    return Records(manifest, boxes, sizes)


def parse_variant(tree: Mapping[str, Any], problems: Problems) -> Draft:
    """Return the checked groups, with every mistake noted; `data` with every default filled in."""
    if "data" not in tree:
        return parse_draft(tree, problems)
    source = _parse_source(tree["data"], problems)
    return parse_draft({**tree, "data": None if source is None else settings_tree(source, SOURCES)}, problems)


@dataclass(frozen=True)
class Value:
    key: str
    value: Any
    origin: str


def values_of(run: Run, draft: Draft, composed: Composed) -> list[Value]:
    """Return every key of run.yaml with its value and where that comes from."""
    stated = flat(as_tree(draft))
    return [Value(key, value, _origin(key, value, stated, composed)) for key, value in flat(as_tree(run)).items()]


def _origin(key: str, value: Any, stated: Mapping[str, Any], composed: Composed) -> str:
    group, _, inner = key.partition(".")
    if group == "variant":
        return composed.origin_of_choice(inner)
    if value != stated.get(key, ABSENT):
        return DERIVED
    return composed.place_of(key) if not inner or composed.layer_of(key) else DEFAULT


@dataclass(frozen=True)
class ChosenSource:
    """What builds the records. build_records keeps the digest in the manifest, and render_config compares it.

    Code of this room that composes other settings from the same files is nothing that a build depends on, and would
    go unnoticed otherwise.
    """

    source: Source | Dataset | list[Part]
    digest: str  # of its settings, every default filled in


def choose_source(params: Path, conf: Path, option: str | None = None) -> ChosenSource:
    """Return what the group `data` names: a source, or each part of a merged one; or another option as its file has it.

    Raises ConfigError.
    """
    source = _compose_option(params, conf, option)
    trees = [settings_tree(source, SOURCES)]
    if isinstance(source, Dataset) and len(folders := part_folders(source)) > 1:
        return ChosenSource(folders, _digest(trees))
    if not isinstance(source, Merged):
        return ChosenSource(source, _digest(trees))
    parts = [Part(name, _compose_option(params, conf, name)) for name in source.merge]
    for part in parts:
        if not isinstance(part.dataset, Dataset):
            rule = f"must name options that read files, {part.name} is {type(part.dataset).__name__}"
            raise ConfigError(f"{params.as_posix()}: data.merge: {rule}")
        if len(part_folders(part.dataset)) > 1:
            rule = f"must name options of one folder, {part.name} has folders of its own for validation or the test"
            raise ConfigError(f"{params.as_posix()}: data.merge: {rule}")
        trees.append(settings_tree(part.dataset, SOURCES))
    if source.classes:
        parts = [replace(part, dataset=replace(part.dataset, classes=source.classes)) for part in parts]
    return ChosenSource(parts, _digest(trees))


def require_same_source(manifest: Manifest, records: Path, params: Path, conf: Path) -> None:
    """Refuse records that were built with other settings than the same files give now."""
    if manifest.source_digest and manifest.source_digest != choose_source(params, conf).digest:
        raise DataError(
            f"{records.as_posix()}: was built with other settings than params.yaml and conf/data/ give now; "
            "run `dvc repro --force build_records`"
        )


def _compose_option(params: Path, conf: Path, name: str | None) -> Any:
    composed = compose(params, conf, groups=["data"], instead={"data": name} if name else None)
    composed.problems.raise_any()
    source = _parse_source(composed.tree["data"], composed.problems)
    composed.problems.raise_any()
    return source


def _parse_source(tree: Any, problems: Problems) -> Any:
    source = parse_kind(SOURCES, tree, "data", problems)
    if isinstance(source, Dataset):
        for key in ("path", "validation_path", "test_path"):
            if (path := getattr(source, key)) is not None:
                check_data_path(path, problems, f"data.{key}")
    return source


def _digest(trees: list[dict[str, Any]]) -> str:
    stated = [_leave_out_unasked(tree) for tree in trees]
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()


def _leave_out_unasked(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without those that nobody asked for: records of before they existed stay good."""
    inner = {key: _leave_out_unasked(value) if isinstance(value, dict) else value for key, value in tree.items()}
    return {key: value for key, value in inner.items() if value or not key.startswith(LATER)}
