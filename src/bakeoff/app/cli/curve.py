"""`bakeoff curve`: the same variant on shares of its training set, and what more data would bring."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.command_options import Command, argument, flag, group, option
from bakeoff.app.cli.internal_sweep import InternalSweep
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


@dataclass(frozen=True)
class CurveCommand(Command):
    overrides: tuple[str, ...] = argument("overrides for all of its runs, such as model=ssd_tiny", "OVERRIDE")
    shares: str = option(f"shares of the training set, the whole last ({SHARES})", "LIST", default=SHARES)
    seeds: int = option(f"runs for each share, with the same seeds ({SEEDS})", "N", default=SEEDS)
    same: str = option(
        "what is equal for all shares: steps, so that only the data differ, or epochs (steps)", default="steps",
        choices=("steps", "epochs"),
    )  # fmt: skip
    show: str | None = option(
        "show the result of the last sweep, or of sweep ID; train nothing", "ID", nargs="?", const=""
    )
    metric: str | None = option("judge by this metric (default: the metric of the task)", "NAME")
    html: Path | None = option(f"path of the page (the sweep's folder, {PAGE})", "FILE")
    json: bool = flag("print JSON, for scripts")
    sweep: InternalSweep = group(InternalSweep)

    def run(self) -> None:
        from bakeoff.experiments.sweep.sweep_manifest import find_manifest

        if self.show is not None and self.sweep.resume is not None:
            raise WorkspaceError("--show: must stand without --resume")
        if self.show is None:
            self.sweep.train_or_resume(self.overrides, lambda: _make_overrides(self))
            if self.sweep.dry_run:
                return
        _show(find_manifest(self.show or self.sweep.resume or None), self)


def _make_overrides(curve: CurveCommand) -> list[str]:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.experiments.learning_curve.shares import make_overrides, read_shares

    shares = read_shares(curve.shares)
    variant = read_variant(overrides=curve.overrides)
    return make_overrides(variant.whole(), shares, curve.seeds, curve.same)


def _show(manifest: "SweepManifest", curve: CurveCommand) -> None:
    from bakeoff.experiments.compare.load_runs import gather
    from bakeoff.experiments.learning_curve.curve_page import write_page
    from bakeoff.experiments.learning_curve.errors_by_size import gather_measurements
    from bakeoff.experiments.learning_curve.more_steps import find_rise
    from bakeoff.experiments.learning_curve.networks import find_network
    from bakeoff.experiments.learning_curve.statement import describe_limits, make_statement

    gathered = gather()
    for remark in gathered.remarks:
        print(f"warning: {remark}", file=sys.stderr)
    measurements = gather_measurements(manifest, gathered, curve.metric)
    statement = make_statement(measurements, find_rise(measurements), find_network(measurements, gathered))
    remarks = describe_limits(measurements)
    page = curve.html or manifest.folder / PAGE
    write_page(page, manifest.id, measurements, statement, remarks)
    if curve.json:
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
