"""data/raw or a built-in source -> data/records: shards, indexes, label files, manifest."""

import json
from pathlib import Path

from bakeoff import workspace
from bakeoff.config.compose import compose
from bakeoff.config.parse import Problems, parse_kind
from bakeoff.errors import said_plainly
from bakeoff.progress import progress, say
from bakeoff.quiet import load_tensorflow
from bakeoff.records import SOURCES
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import SPLITS, Source


def build_records(source: Source, out: Path) -> Manifest:
    load_tensorflow()
    from bakeoff.records.shards import write_labels, write_split

    partial = workspace.fresh_folder(out)
    splits = {}
    with progress("build_records", sum(source.count(split) for split in SPLITS), "examples") as bar:
        for split in SPLITS:
            splits[split] = write_split(source, split, partial, bar.advance)
    write_labels(source.classes(), partial)
    manifest = Manifest(source.task, tuple(source.classes()), splits)
    report = {split: {"examples": content.examples, "by class": content.counts} for split, content in splits.items()}
    (partial / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    manifest.write(partial)
    workspace.replace_folder(partial, out)
    return manifest


def chosen_source(params: Path, conf: Path) -> Source:
    composed = compose(params, conf, groups=["data"])
    problems = Problems(composed.file_of)
    source = parse_kind(SOURCES, composed.tree["data"], "data", problems)
    problems.raise_any()
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
