"""params.yaml + conf/ + the records' manifest -> models/config/run.yaml."""

from pathlib import Path

from bakeoff import workspace
from bakeoff.config.compose import compose
from bakeoff.config.parse import Problems
from bakeoff.config.resolve import resolve
from bakeoff.config.run import Run, parse_run, write
from bakeoff.errors import said_plainly
from bakeoff.progress import say
from bakeoff.records.manifest import read_manifest


def render_config(params: Path, conf: Path, records: Path, out: Path) -> Run:
    composed = compose(params, conf)
    problems = Problems(composed.file_of)
    run = parse_run(composed.tree, problems)
    resolved = resolve(run, read_manifest(records), problems) if run else None
    problems.raise_any()
    assert resolved is not None
    write(resolved, out)
    return resolved


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
