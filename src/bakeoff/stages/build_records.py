"""data/raw or a built-in source -> data/records: shards, indexes, label files, report, manifest."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.errors import ConfigError, said_plainly
from bakeoff.machine import cores
from bakeoff.progress import progress, say
from bakeoff.records import SOURCES
from bakeoff.records.box_table import BoxTable
from bakeoff.records.build import Part, build
from bakeoff.records.dataset import Dataset
from bakeoff.records.manifest import Manifest
from bakeoff.records.merged import Merged
from bakeoff.records.page import counted
from bakeoff.records.record import SPLITS, TRAIN, Record, Source
from bakeoff.records.report import Findings, write_made_report
from bakeoff.records.samples import A_SPLIT, sample
from bakeoff.records.shards import write_labels, write_split
from bakeoff.records.tally import Tally

NOTHING = Findings({}, (), ())


def build_records(
    source: Source | Dataset | list[Part], out: Path, workers: int | None = None
) -> tuple[Manifest, Findings]:
    """Of one source, or of several datasets as one."""
    if isinstance(source, list):
        return build(source, out, workers or cores())
    if isinstance(source, Dataset):
        return build([Part("", source)], out, workers or cores())
    return make_records(source, out), NOTHING


def make_records(source: Source, out: Path) -> Manifest:
    """Of a source that draws its examples itself."""
    splits, tallies, pictures = {}, {}, []
    total = sum(source.count(split) for split in SPLITS)
    with workspace.building(out) as partial:
        with progress("build_records", total, "examples") as bar, ExitStack() as files:
            table = files.enter_context(BoxTable(partial)) if source.task == "detection" else None
            for split in SPLITS:
                tally = tallies[split] = Tally()

                def seen(record: Record, split: str = split, tally: Tally = tally) -> None:
                    if tally.examples < A_SPLIT:
                        pictures.append(sample(split, record))
                    tally.add(record)
                    if table and split == TRAIN:
                        table.add(record.boxes)

                splits[split] = write_split(source, split, partial, bar.advance, seen)
        write_labels(source.classes(), partial)
        write_made_report(partial, source.classes(), tallies, pictures)
        boxes_sha256 = table.sha256() if table else None
        manifest = Manifest(source.task, tuple(source.classes()), splits, boxes_sha256=boxes_sha256)
        manifest.write(partial)
    return manifest


def chosen_source(params: Path, conf: Path) -> Source | Dataset | list[Part]:
    source = _option(params, conf, None)
    if not isinstance(source, Merged):
        return source
    parts = [Part(name, _option(params, conf, name)) for name in source.merge]
    for part in parts:
        if not isinstance(part.dataset, Dataset):
            kind = type(part.dataset).__name__
            raise ConfigError(
                f"{params.as_posix()}: data.merge: must name options that read files, {part.name} is {kind}"
            )
    return parts


def _option(params: Path, conf: Path, name: str | None) -> Any:
    # Every worker process imports this module, and Hydra takes longer to load than a worker needs for 1,000 images.
    from bakeoff.config.compose import compose
    from bakeoff.config.parse import parse_kind

    composed = compose(params, conf, groups=["data"], instead={"data": name} if name else None)
    composed.problems.raise_any()
    source = parse_kind(SOURCES, composed.tree["data"], "data", composed.problems)
    composed.problems.raise_any()
    return source


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bakeoff.stages.build_records", description=__doc__)
    parser.add_argument("--workers", type=int, help="processes; all cores unless given; the records are the same")
    workers = parser.parse_args().workers
    with said_plainly():
        workspace.require_own_code()
        source = chosen_source(workspace.PARAMS, workspace.CONF)
        manifest, findings = build_records(source, workspace.RECORDS, workers)
        counts = ", ".join(f"{content.examples:,} {split}" for split, content in manifest.splits.items())
        shards = counted(sum(len(content.shards) for content in manifest.splits.values()), "shard")
        told = "".join(f", {counted(count, 'file')} {kind}" for kind, count in findings.counts.items() if count)
        classes = counted(len(manifest.classes), "class")
        say(f"build_records: {counts} examples of {classes} for {manifest.task}{told}")
        for line in (*findings.warnings, *findings.reasons):
            say(f"  {line}")
        say(f"  in {shards}: {workspace.RECORDS.as_posix()}/ (digest {manifest.digest[:12]}, report.html)")


if __name__ == "__main__":
    main()
