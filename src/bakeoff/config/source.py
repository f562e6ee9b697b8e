"""params.yaml + conf/data/ -> the source of the records, and a digest of all its settings.

build_records keeps the digest in the manifest, and render_config compares it: code of this room that composes other
settings from the same files is not what a build depends on, and would go unnoticed otherwise.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.config.compose import compose
from bakeoff.config.watched import check_data_path
from bakeoff.errors import ConfigError, DataError
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import Source
from bakeoff.run.parse import parse_kind
from bakeoff.run.settings import settings_tree
from bakeoff.sources import SOURCES
from bakeoff.sources.dataset import Dataset, Merged, Part


@dataclass(frozen=True)
class ChosenSource:
    source: Source | Dataset | list[Part]
    digest: str  # of its settings, every default filled in


def choose_source(params: Path, conf: Path) -> ChosenSource:
    """Return what the group `data` names: a source, or each part of a merged one. Raises ConfigError."""
    source = _compose_option(params, conf, None)
    trees = [settings_tree(source, SOURCES)]
    if not isinstance(source, Merged):
        return ChosenSource(source, _digest(trees))
    parts = [Part(name, _compose_option(params, conf, name)) for name in source.merge]
    for part in parts:
        if not isinstance(part.dataset, Dataset):
            kind = type(part.dataset).__name__
            raise ConfigError(
                f"{params.as_posix()}: data.merge: must name options that read files, {part.name} is {kind}"
            )
        trees.append(settings_tree(part.dataset, SOURCES))
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
    source = parse_kind(SOURCES, composed.tree["data"], "data", composed.problems)
    if isinstance(source, Dataset):
        check_data_path(source.path, composed.problems)
    composed.problems.raise_any()
    return source


def _digest(trees: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(trees, sort_keys=True).encode()).hexdigest()
