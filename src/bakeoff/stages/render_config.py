"""params.yaml + conf/ + the records -> models/config: run.yaml, lr.svg and pipeline.config."""

import sys
from pathlib import Path

from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.data_source import require_same_source
from bakeoff.config.compose.lr_plot import lr_svg
from bakeoff.config.compose.variant import read_variant
from bakeoff.config.compose.whole_run import Run, write
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.experiments.planning.known_before import describe_known
from bakeoff.experiments.planning.plan import check_best_by
from bakeoff.experiments.planning.time_estimate import keep_stage
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.files import sync, write_whole
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.own_parts import run_all_parts
from bakeoff.foundation.progress import print_line
from bakeoff.learning.plan.phases import plan_phases
from bakeoff.learning.plan.run_length import format_steps, is_endless
from bakeoff.stages import begin_stage

PICTURE, PIPELINE = "lr.svg", "pipeline.config"


def render_config(params: Path, conf: Path, records: Path, out: Path, *, facts: Path) -> Run:
    """`facts` is the folder that keeps what is known of networks."""
    run_all_parts()
    variant = read_variant(params, conf, records, facts=facts)
    check_best_by(variant)
    run = variant.whole()
    manifest = read_manifest(records)
    require_same_source(manifest, records, params, conf)
    for warning in variant.problems.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    picture, pipeline = lr_svg(run.name, plan_phases(run)), format_pipeline(run, manifest)
    write(run, out)
    write_whole(out.parent / PICTURE, picture)
    write_whole(out.parent / PIPELINE, pipeline)
    sync(out.parent)
    return run


def main() -> None:
    with errors_in_one_line():
        begin_stage("render_config", __doc__)
        run = render_config(workspace.PARAMS, workspace.CONF, workspace.RECORDS, workspace.RUN, facts=workspace.facts())
        workspace.promise(trained_to_its_end=True)
        numbers, batch = run.derived, run.train.batch
        epochs = "" if is_endless(numbers.steps) else f"{numbers.epochs:g} epochs of "
        length = f"{format_steps(numbers.steps)} steps of {batch}, {epochs}{numbers.train_examples:,} examples"
        memory = f"{numbers.memory_estimate_bytes / 1e9:.1f} of {numbers.memory_budget_bytes / 1e9:.1f} GB"
        classes = format_count(numbers.num_classes, "class")
        print_line(f"render_config: {run.name}: {length}, {classes}; memory about {memory}")
        if device := run.export.device:
            print_line(f"  {device} takes this network; `bakeoff plan` measures the file it will get")
        for name, text in describe_known(run, read_manifest(workspace.RECORDS)).items():
            print_line(f"  {name}: {text}")
        print_line(f"  {workspace.RUN.as_posix()}, {PICTURE} and {PIPELINE} beside it")
        keep_stage("render_config", key="network built" if "tensorflow" in sys.modules else "")


if __name__ == "__main__":
    main()
