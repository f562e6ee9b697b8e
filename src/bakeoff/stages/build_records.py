"""data/raw or a built-in source -> data/records: shards, indexes, label files, manifest."""

import json
from contextlib import ExitStack
from pathlib import Path

from bakeoff import workspace
from bakeoff.config.compose import compose
from bakeoff.config.parse import parse_kind
from bakeoff.errors import said_plainly
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records import SOURCES
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import SPLITS, TRAIN, Source


def build_records(source: Source, out: Path) -> Manifest:
    load_tensorflow()
    from bakeoff.records.box_table import BoxTable
    from bakeoff.records.shards import write_labels, write_split

    splits = {}
    total = sum(source.count(split) for split in SPLITS)
    with workspace.building(out) as partial:
        with progress("build_records", total, "examples") as bar, ExitStack() as files:
            table = files.enter_context(BoxTable(partial)) if source.task == "detection" else None
            for split in SPLITS:
                splits[split] = write_split(source, split, partial, bar.advance, table if split == TRAIN else None)
        write_labels(source.classes(), partial)
        report = {split: {"examples": made.examples, "by class": made.counts} for split, made in splits.items()}
        (partial / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        boxes_sha256 = table.sha256() if table else None
        manifest = Manifest(source.task, tuple(source.classes()), splits, boxes_sha256=boxes_sha256)
        manifest.write(partial)
    return manifest


def chosen_source(params: Path, conf: Path) -> Source:
    composed = compose(params, conf, groups=["data"])
    composed.problems.raise_any()
    source = parse_kind(SOURCES, composed.tree["data"], "data", composed.problems)
    composed.problems.raise_any()
    return source


def main() -> None:
    with said_plainly():
        workspace.require_own_code()
        manifest = build_records(chosen_source(workspace.PARAMS, workspace.CONF), workspace.RECORDS)
        counts = ", ".join(f"{content.examples:,} {split}" for split, content in manifest.splits.items())
        shards = sum(len(content.shards) for content in manifest.splits.values())
        say(f"build_records: {counts} examples of {len(manifest.classes)} classes for {manifest.task}")
        say(f"  in {shards} shards: {workspace.RECORDS.as_posix()}/ (digest {manifest.digest[:12]})")


if __name__ == "__main__":
    main()
