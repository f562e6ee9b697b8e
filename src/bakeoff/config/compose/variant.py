"""params.yaml + conf/ + records -> the resolved variant, with all that is wrong with it and where each value stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.config.compose.auto_batch import largest_batch
from bakeoff.config.compose.checks import Records
from bakeoff.config.compose.compose import Composed, compose
from bakeoff.config.compose.data_source import digest_settings, parse_source
from bakeoff.config.compose.derive import resolve
from bakeoff.config.compose.network_facts import (
    Facts,
    asks_for_eight_bits,
    facts_of,
    kept_facts,
    limits_on_this_machine,
)
from bakeoff.config.compose.read_once import Same, read_once
from bakeoff.config.compose.tile_cost import read_sizes
from bakeoff.config.compose.whole_run import GROUPS, Draft, Run, as_tree, group_tree, parse_draft
from bakeoff.dataset.records.manifest import Manifest, read_boxes, read_manifest
from bakeoff.dataset.sources import SOURCES
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.letterbox import LETTERBOX, fit_of
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.tiles import tiles_of
from bakeoff.learning.plan.run_length import show_lengths
from bakeoff.learning.run_file.parse import ABSENT, Problems, flat
from bakeoff.learning.run_file.settings import Groups

# Every group of a variant and the classes that its settings can be.
KINDS: Groups = {"data": SOURCES, **GROUPS}
DEFAULT, DERIVED = "default", "derived"


@dataclass(frozen=True)
class ResolvedVariant:
    run: Run | None  # None if there are problems
    draft: Draft  # the settings as they were given, before any value was derived from them
    composed: Composed
    problems: Problems

    def whole(self) -> Run:
        """Return the run, or raise every mistake at once."""
        self.problems.raise_any()
        assert self.run is not None
        return self.run


def read_variant(
    params: Path = workspace.PARAMS, conf: Path = workspace.CONF, records: Path = workspace.RECORDS, *,
    facts: Path | None = None, overrides: Sequence[str] = (),
) -> ResolvedVariant:  # fmt: skip
    """Resolve the workspace's variant, changed by Hydra's `overrides`.

    `facts` is the folder that keeps what is known of networks and of this machine, if it is not the workspace's own.
    """
    kept_in = facts or workspace.facts()
    composed = compose(params, conf, overrides=overrides)
    problems = composed.problems
    draft = parse_variant(composed.tree, problems)
    needs_sizes = tiles_of(draft.model) is not None or fit_of(draft.model) == LETTERBOX
    records_read = _read_records(records, problems, with_sizes=needs_sizes)
    run = resolve(
        draft,
        records_read,
        problems,
        # A typo is said at once; what only the built network shows is said of the mended variant.
        facts_of=lambda network, classes: read_once(
            _find_facts,
            bool(problems.lines),
            Same(network),
            classes,
            kept_in,
            asks_for_eight_bits(draft.train, draft.export),
        ),
        set_by=composed.set_by,
        limits_of=lambda memory: limits_on_this_machine(memory, kept_in, partial(problems.warn, "memory.budget")),
        largest_batch=lambda smallest, load, limits: largest_batch(smallest, load, limits, records, kept_in),
    )
    if problems.lines and records_read.manifest and _is_of_other_data(records_read.manifest, draft):
        remedy = "write this data into params.yaml and run `dvc repro build_records` first"
        problems.lines.insert(0, f"{composed.place_of('data')}: data: the records are of other data; {remedy}")
    return ResolvedVariant(run, draft, composed, problems)


def _find_facts(kept_only: bool, network: Same[Network], classes: int, kept_in: Path, quantizes: bool) -> Facts | None:
    return (kept_facts if kept_only else facts_of)(network.one, classes, kept_in, quantizes=quantizes)


def _is_of_other_data(manifest: Manifest, draft: Draft) -> bool:
    """Of a merged dataset nobody knows before its parts are read."""
    is_merged = draft.data is None or "merge" in draft.data
    return not is_merged and manifest.source_digest not in ("", digest_settings([dict(draft.data or {})]))


def _read_records(folder: Path, problems: Problems, *, with_sizes: bool) -> Records:
    try:
        return read_once(_read_whole_records, folder, with_sizes)
    except DataError as error:
        problems.note(str(error))
        return Records(None)


def _read_whole_records(folder: Path, with_sizes: bool) -> Records:
    manifest = read_manifest(folder)
    boxes = read_boxes(folder, manifest) if manifest.boxes_sha256 else None
    sizes = read_sizes(folder, manifest) if with_sizes and boxes is not None else None
    return Records(manifest, boxes, sizes)


def parse_variant(tree: Mapping[str, Any], problems: Problems) -> Draft:
    """Return the checked groups, with every mistake noted; `data` with every default filled in."""
    if "data" not in tree:
        return parse_draft(tree, problems)
    source = parse_source(tree["data"], problems)
    return parse_draft({**tree, "data": None if source is None else group_tree(source, SOURCES)}, problems)


@dataclass(frozen=True)
class Value:
    key: str
    value: Any
    origin: str


def values_of(run: Run, draft: Draft, composed: Composed) -> list[Value]:
    """Return every key of run.yaml with its value and where that comes from."""
    stated = flat(as_tree(draft))
    values = show_lengths(flat(as_tree(run)))
    return [Value(key, value, _origin(key, value, stated, composed)) for key, value in values.items()]


def _origin(key: str, value: Any, stated: Mapping[str, Any], composed: Composed) -> str:
    group, _, inner = key.partition(".")
    if group == "variant":
        return composed.origin_of_choice(inner)
    if value != stated.get(key, ABSENT):
        return DERIVED
    return composed.place_of(key) if not inner or composed.layer_of(key) else DEFAULT
