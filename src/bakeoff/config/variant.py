"""params.yaml + conf/ + records -> the resolved variant, with all that is wrong with it and where each value stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bakeoff.config.batch_trial import largest_batch
from bakeoff.config.checks import Records
from bakeoff.config.compose import Composed, compose
from bakeoff.config.facts import facts_of
from bakeoff.config.kinds import parse_variant
from bakeoff.config.limits import limits_on_this_machine
from bakeoff.config.resolve import resolve
from bakeoff.errors import DataError
from bakeoff.records.manifest import read_boxes, read_manifest
from bakeoff.run.parse import Problems
from bakeoff.run.settings import Draft, Run


@dataclass(frozen=True)
class Variant:
    run: Run | None  # None if there are problems
    draft: Draft  # as it was said, before anything followed from it
    composed: Composed
    problems: Problems

    def whole(self) -> Run:
        """Or every mistake at once."""
        self.problems.raise_any()
        assert self.run is not None
        return self.run


def read_variant(params: Path, conf: Path, records: Path, *, facts: Path, overrides: Sequence[str] = ()) -> Variant:
    """`facts` is the folder that keeps what is known of networks and of this machine; `overrides` are Hydra's."""
    composed = compose(params, conf, overrides=overrides)
    problems = composed.problems
    draft = parse_variant(composed.tree, problems)
    run = resolve(
        draft,
        _read_records(records, problems),
        problems,
        facts_of=lambda network, num_classes: facts_of(network, num_classes, facts),
        is_set=lambda key: composed.layer_of(key) is not None,
        limits_of=lambda memory: limits_on_this_machine(memory, facts, partial(problems.warn, "memory.budget")),
        largest_batch=lambda smallest, load, limits: largest_batch(smallest, load, limits, records, facts),
    )
    return Variant(run, draft, composed, problems)


def _read_records(folder: Path, problems: Problems) -> Records:
    try:
        manifest = read_manifest(folder)
        boxes = read_boxes(folder, manifest) if manifest.boxes_sha256 else None
    except DataError as error:
        problems.note(str(error))
        return Records(None)
    return Records(manifest, boxes)
