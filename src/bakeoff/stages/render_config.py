"""params.yaml + conf/ + the records' manifest -> models/config/run.yaml."""

import sys
from pathlib import Path

from bakeoff import workspace
from bakeoff.config.compose import compose
from bakeoff.config.resolve import resolve
from bakeoff.config.run import Run, parse_draft, write
from bakeoff.errors import DataError, said_plainly
from bakeoff.progress import say
from bakeoff.records.manifest import Manifest, read_manifest


def render_config(params: Path, conf: Path, records: Path, out: Path) -> Run:
    composed = compose(params, conf)
    problems = composed.problems
    draft = parse_draft(composed.tree, problems)
    manifest: Manifest | None = None
    try:
        manifest = read_manifest(records)
    except DataError as error:
        problems.note(str(error))
    run = resolve(draft, manifest, problems, is_set=lambda key: composed.layer_of(key) is not None)
    for warning in problems.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    problems.raise_any()
    assert run is not None
    write(run, out)
    return run


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        run = render_config(workspace.PARAMS, workspace.CONF, workspace.RECORDS, workspace.RUN)
        assert run.derived is not None
        numbers, batch = run.derived, run.train.batch_size
        length = f"{numbers.steps:,} steps of {batch}, {numbers.epochs:g} epochs of {numbers.train_examples:,} examples"
        memory = f"{numbers.memory_estimate_bytes / 1e9:.1f} of {numbers.memory_budget_bytes / 1e9:.1f} GB"
        say(f"render_config: {run.name}: {length}, {numbers.num_classes} classes; memory about {memory}")
        say(f"  {workspace.RUN.as_posix()}")


if __name__ == "__main__":
    main()
