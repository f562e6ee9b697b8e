"""`bakeoff curve`: the same variant on shares of its training set, and what more data would bring."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.internal_sweep import add_sweep_options, train_or_resume
from bakeoff.app.cli.predict import from_here
from bakeoff.app.cli.terminal import print_columns
from bakeoff.app.cli.terminal_table import print_wrapped
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.learning_curve.errors_by_size import Measurements
    from bakeoff.experiments.learning_curve.statement import Statement
    from bakeoff.experiments.sweep.sweep_manifest import SweepManifest

SHARES = "0.12,0.25,0.5,1"
SEEDS = 3
PAGE = "curve.html"


def add_to(commands: Any) -> None:
    curve = commands.add_parser("curve")
    add = curve.add_argument
    add("overrides", nargs="*", metavar="OVERRIDE", help="overrides for all of its runs, such as model=ssd_tiny")
    add("--shares", default=SHARES, metavar="LIST", help=f"shares of the training set, the whole last ({SHARES})")
    add("--seeds", type=int, default=SEEDS, metavar="N", help=f"runs for each share, with the same seeds ({SEEDS})")
    add(
        "--same",
        choices=("steps", "epochs"),
        default="steps",
        help="what is equal for all shares: steps, so that only the data differ, or epochs (steps)",
    )
    add(
        "--show",
        nargs="?",
        const="",
        metavar="ID",
        help="show the result of the last sweep, or of sweep ID; train nothing",
    )
    add("--metric", metavar="NAME", help="judge by this metric (default: the metric of the task)")
    curve.add_path("--html", type=from_here, metavar="FILE", help=f"path of the page (the sweep's folder, {PAGE})")
    add("--json", action="store_true", help="print JSON, for scripts")
    add_sweep_options(curve)
    curve.set_defaults(run=show_curve)


def show_curve(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.sweep_manifest import find_manifest

    if arguments.show is not None and arguments.resume is not None:
        raise WorkspaceError("--show: must stand without --resume")
    if arguments.show is None:
        train_or_resume(arguments, arguments.overrides, lambda: _make_overrides(arguments))
        if arguments.dry_run:
            return
    _show(find_manifest(arguments.show or arguments.resume or None), arguments)


def _make_overrides(arguments: argparse.Namespace) -> list[str]:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.experiments.learning_curve.shares import make_overrides, read_shares

    shares = read_shares(arguments.shares)
    variant = read_variant(overrides=arguments.overrides)
    return make_overrides(variant.whole(), shares, arguments.seeds, arguments.same)


def _show(manifest: "SweepManifest", arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.compare.load_runs import gather
    from bakeoff.experiments.learning_curve.curve_page import write_page
    from bakeoff.experiments.learning_curve.errors_by_size import gather_measurements
    from bakeoff.experiments.learning_curve.more_steps import find_rise
    from bakeoff.experiments.learning_curve.networks import find_network
    from bakeoff.experiments.learning_curve.statement import describe_limits, make_statement

    gathered = gather()
    for remark in gathered.remarks:
        print(f"warning: {remark}", file=sys.stderr)
    measurements = gather_measurements(manifest, gathered, arguments.metric)
    statement = make_statement(measurements, find_rise(measurements), find_network(measurements, gathered))
    remarks = describe_limits(measurements)
    page = Path(arguments.html) if arguments.html else manifest.folder / PAGE
    write_page(page, manifest.id, measurements, statement, remarks)
    if arguments.json:
        print(json.dumps(_as_tree(manifest, measurements, statement), indent=1))
        return
    print_columns([("training examples", "seeds", measurements.measure.name, "of the seeds"), *measurements.rows])
    for sentence in statement.sentences:
        print_wrapped(sentence)
    for remark in remarks:
        print(f"warning: {remark}", file=sys.stderr)
    print_line(f"the curve: {os.path.relpath(page)}")


def _as_tree(manifest: "SweepManifest", measurements: "Measurements", statement: "Statement") -> dict[str, Any]:
    measure, last = measurements.measure, measurements.levels[-1]
    twice = statement.curves.predict(2 * last.examples) if statement.curves else None
    ends = sorted(map(measure.value, (twice.low, twice.high))) if twice else None
    return {
        "version": 1,
        "sweep": manifest.id,
        "metric": measure.name,
        "points": [
            {"share": one.share, "seed": one.seed, "examples": one.examples, "value": one.value, "run": one.run.run_id}
            for one in measurements.points
        ],
        "twice_the_data": {"examples": 2 * last.examples, "value": measure.value(twice.middle), "interval": ends}
        if twice
        else None,
        "sentences": statement.sentences,
    }
