"""params.yaml + conf/ + the records' manifest -> models/config/run.yaml."""

from pathlib import Path

from bakeoff import workspace
from bakeoff.config.compose import compose
from bakeoff.config.parse import Problems
from bakeoff.config.run import Run, parse_run, resolve, write
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
        numbers, gigabytes = run.derived, 10**9
        say(
            f"render_config: {run.name}: {numbers.steps:,} steps of {run.train.batch_size}, {numbers.epochs:g} epochs of "
            f"{numbers.train_examples:,} examples, {numbers.num_classes} classes; memory about "
            f"{numbers.memory_estimate_bytes / gigabytes:.1f} of {numbers.memory_budget_bytes / gigabytes:.1f} GB"
        )
        say(f"  {workspace.RUN.as_posix()}")


if __name__ == "__main__":
    main()
