"""The installed bakeoff, in a workspace that another version ran last -> keys, values and stages that it changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.config.compose.variant import read_variant
from bakeoff.config.compose.whole_run import as_tree
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.experiments.planning.plan import make_plan
from bakeoff.experiments.planning.plan_rows import list_stage_rows
from bakeoff.experiments.planning.stage_status import DvcState, read_known
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import read_text
from bakeoff.foundation.formatting import format_names
from bakeoff.learning.run_file.parse import ABSENT, Difference, differences
from bakeoff.tracking.results.results import COMPARED_BY_NOBODY, parse_yaml

KEYS_SHOWN = 12
OF_NO_GROUP = ("derived", "digest", "variant")  # follow from the rest


@dataclass(frozen=True)
class VersionEffect:
    """How the variant renders now, beside how it was rendered last."""

    new: list[str]  # keys
    gone: list[str]
    changed: list[str]  # `lr.peak 0.1 → 0.2`

    @classmethod
    def between(cls, last: Mapping[str, Any], now: Mapping[str, Any]) -> "VersionEffect":
        """Compare the groups whose option is the same as last time. In another group the user chose another option."""
        same = [key for key in now if key not in OF_NO_GROUP and _option(last, key) == _option(now, key)]
        one, other = ({key: tree[key] for key in same if key in tree} for tree in (last, now))
        pairs = [pair for pair in differences(one, other) if not pair.key.startswith(COMPARED_BY_NOBODY)]
        return cls(
            [pair.key for pair in pairs if pair.one is ABSENT],
            [pair.key for pair in pairs if pair.other is ABSENT],
            [_describe(pair) for pair in pairs if ABSENT not in (pair.one, pair.other)],
        )

    def rows(self) -> Iterator[tuple[str, str]]:
        for name, keys in (("new keys", self.new), ("keys gone", self.gone), ("values", self.changed)):
            yield name, format_names(keys, KEYS_SHOWN) if keys else "none"


def list_effects(pipeline: str) -> Iterator[tuple[str, str]]:
    """Yield rows about keys and stages, as if dvc.yaml held `pipeline`.

    Raises ConfigError with all settings of params.yaml and conf/ that this version refuses.
    """
    try:
        read_manifest(workspace.RECORDS)
    except DataError:
        yield "stages", "none has run yet"
        return
    last = parse_yaml(read_text(workspace.RUN))
    if last:
        yield from VersionEffect.between(last, as_tree(read_variant().whole())).rows()
    stages = parse_yaml(pipeline).get("stages") or {}

    def known() -> DvcState:
        return replace(read_known(), stages=stages)

    yield from list_stage_rows(make_plan([], known=known))


def _option(run_yaml: Mapping[str, Any], group: str) -> Any:
    return (run_yaml.get("variant") or {}).get(group)


def _describe(pair: Difference) -> str:
    return f"{pair.key} {pair.one} → {pair.other}"
