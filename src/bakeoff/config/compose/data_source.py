"""params.yaml + conf/ -> the source of the records by itself, which build_records asks for, and a digest of it.

Little is imported here, because whoever builds records waits for it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.config.compose.allowed_paths import require_in
from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.read_once import parse_group
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import RecordSource
from bakeoff.dataset.sources import SOURCES
from bakeoff.dataset.sources.dataset import Dataset, Merged, Part, part_folders
from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.foundation.workspace import RAW
from bakeoff.learning.run_file.parse import Problems, settings_tree

# Keys of `data` that came later, or how they begin.
LATER = ("fold", "test", "validation_path", "classes", "skip_supercategories", "dated", "square")
UNDECIDING = ("num_threads", "expect")  # decide no record


@dataclass(frozen=True)
class ChosenSource:
    """What builds the records. build_records keeps the digest in the manifest, and render_config compares it.

    Code of this room that composes other settings from the same files is nothing that a build depends on, and would
    go unnoticed otherwise.
    """

    source: RecordSource | Dataset | list[Part]
    digest: str  # of its settings, every default filled in


def choose_source(params: Path, conf: Path, option: str | None = None) -> ChosenSource:
    """Return what the group `data` names: a source, or each part of a merged one; or another option as its file has it.

    Raises ConfigError.
    """
    source = _compose_option(params, conf, option)
    trees = [settings_tree(source, SOURCES)]
    if isinstance(source, Dataset) and len(folders := part_folders(source)) > 1:
        return ChosenSource(folders, digest_settings(trees))
    if not isinstance(source, Merged):
        return ChosenSource(source, digest_settings(trees))
    parts = [Part(name, _compose_option(params, conf, name)) for name in source.merge]
    for part in parts:
        if not isinstance(part.dataset, Dataset):
            rule = f"must name options that read files, {part.name} is {type(part.dataset).__name__}"
            raise ConfigError(f"{params.as_posix()}: data.merge: {rule}")
        if len(part_folders(part.dataset)) > 1:
            rule = f"must name options of one folder, {part.name} has folders of its own for validation or the test"
            raise ConfigError(f"{params.as_posix()}: data.merge: {rule}")
        trees.append(settings_tree(part.dataset, SOURCES))
    parts = [
        replace(
            part,
            dataset=replace(part.dataset, expect=source.expect, classes=source.classes or part.dataset.classes),
        )
        for part in parts
    ]
    return ChosenSource(parts, digest_settings(trees))


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
    source = parse_source(composed.tree["data"], composed.problems)
    composed.problems.raise_any()
    return source


def parse_source(tree: Any, problems: Problems) -> Any:
    source = parse_group(SOURCES, tree, "data", problems)
    if isinstance(source, Dataset):
        for key in ("path", "validation_path", "test_path"):
            if (path := getattr(source, key)) is not None:
                require_in(RAW, Path(path), f"data.{key}", "a folder", problems)
    return source


def digest_settings(trees: list[dict[str, Any]]) -> str:
    stated = [_leave_out_unasked(tree) for tree in trees]
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()


def _leave_out_unasked(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without those that nobody asked for: records of before they existed stay good."""
    inner = {key: _leave_out_unasked(value) if isinstance(value, dict) else value for key, value in tree.items()}
    return {
        key: value for key, value in inner.items() if key not in UNDECIDING and (value or not key.startswith(LATER))
    }
