"""data/raw or a built-in source -> data/records: shards, indexes, label files, report, manifest."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.dataset.building import worker_pool as processes
from bakeoff.experiments.cluster.ray_connection import ON_VARIABLE
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import errors_in_one_line
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.machine import cores
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.timings import keep_duration, seconds_here
from bakeoff.stages import read_options, stage_parser

if TYPE_CHECKING:  # worker processes import this module first, and start to load theirs before this one loads the rest
    from bakeoff.dataset.building.report_data import BuildFindings
    from bakeoff.dataset.building.worker_tasks import MakePool
    from bakeoff.dataset.records.manifest import Manifest
    from bakeoff.dataset.records.record import RecordSource
    from bakeoff.dataset.sources.dataset import Dataset, Part


def build_records(
    source: "RecordSource | Dataset | list[Part]",
    out: Path,
    *,
    source_digest: str = "",
    workers: int | None = None,
    make_pool: "MakePool | None" = None,
) -> "tuple[Manifest, BuildFindings]":
    """Build the records of one source, or of several datasets as one."""
    from bakeoff.dataset.building.build import build
    from bakeoff.dataset.building.report_data import BuildFindings
    from bakeoff.dataset.building.write_shards import make_records
    from bakeoff.dataset.sources.dataset import Dataset, Part

    if not isinstance(source, (Dataset, list)):
        return make_records(source, out, source_digest), BuildFindings({}, (), ())
    parts = source if isinstance(source, list) else [Part("", source)]
    threads = workers or max(part.dataset.num_threads or 0 for part in parts) or cores()
    return build(parts, out, threads, source_digest, make_pool=make_pool)


def main() -> None:
    parser = stage_parser("build_records", __doc__)
    parser.add_argument(
        "--workers", type=int, help="number of processes (default: all cores); the records are the same for any number"
    )
    parser.add_argument(
        "--on",
        metavar="ADDRESS",
        default=os.environ.get(ON_VARIABLE),
        help="address of a Ray cluster; the records are the same",
    )
    with errors_in_one_line(), ExitStack() as elsewhere:
        options = read_options(parser)
        if not options.on and (options.workers or cores()) > 1:
            processes.start_server()
        from bakeoff.config.compose.data_source import choose_source
        from bakeoff.dataset.sources.dataset import Dataset

        workspace.require_own_code()
        chosen = choose_source(workspace.PARAMS, workspace.CONF)
        make_pool = None
        if options.on and isinstance(chosen.source, (Dataset, list)):
            from bakeoff.experiments.cluster.ray_building import open_pools

            make_pool = elsewhere.enter_context(open_pools(options.on))
        manifest, findings = build_records(
            chosen.source, workspace.RECORDS, source_digest=chosen.digest, workers=options.workers, make_pool=make_pool
        )
        counts = ", ".join(f"{content.examples:,} {split}" for split, content in manifest.splits.items())
        shards = format_count(sum(len(content.shards) for content in manifest.splits.values()), "shard")
        others = "".join(f", {format_count(count, 'file')} {kind}" for kind, count in findings.counts.items() if count)
        classes = format_count(len(manifest.classes), "class")
        print_line(f"build_records: {counts} examples of {classes} for {manifest.task}{others}")
        for line in (*findings.split, *findings.warnings, *findings.reasons):
            print_line(f"  {line}")
        print_line(f"  in {shards}: {workspace.RECORDS.as_posix()}/ (digest {manifest.digest[:12]}, report.html)")
        keep_duration("build_records", "", seconds_here())


if __name__ == "__main__":
    main()
