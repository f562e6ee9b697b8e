"""`bakeoff import ZIP-OR-FOLDER`: what an exporter wrote becomes a folder of data/raw and an option of conf/data."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, absolute_path, argument, option
from bakeoff.app.cli.terminal import print_columns
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.formatting import make_printable
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.importing.datasets.detect_format import Survey
    from bakeoff.importing.datasets.import_dataset import Brought

KINDS = ("coco", "box_csv", "pascal_voc", "yolo", "image_folders", "clips", "unlabelled")
MOST_GB = 10.0
PROPOSALS = "proposals.csv"  # as `bakeoff propose` writes it
MOST_BESIDE = 8  # names
MOST_CLASSES = 40  # lines of the table


@dataclass(frozen=True)
class ImportCommand(Command):
    source: Path = argument("the zip or folder, as it was exported", "ZIP|FOLDER", type=absolute_path)
    name: str | None = option("name of the option (default: the file's name)")
    into: Path | None = option("new folder (default: data/raw/NAME)", "DIR", type=Path)
    kind: str | None = option(
        "layout of the export, if several fit; unlabelled: photos that are yet to be labelled", flags="--as",
        choices=KINDS,
    )  # fmt: skip
    max_gb: float = option(f"refuse exports that unpack to more than this ({MOST_GB:g})", "N", default=MOST_GB)

    def run(self) -> None:
        from bakeoff.importing.datasets.import_dataset import Request, bring_in, choose_name

        if not self.max_gb > 0:
            raise ConfigError(f"--max-gb: must be above 0, got {self.max_gb:g}")
        name = choose_name(self.name, self.source)
        folder = self.into or workspace.RAW / name
        most_bytes = int(self.max_gb * 1e9)
        brought = bring_in(Request(self.source, name, folder, self.kind, most_bytes))
        print_line(f"import: {brought.folder.as_posix()}/ from {self.source.name}: {brought.survey.layout.name}")
        print_columns(_list_counts(brought.survey))
        for line in _list_remarks(brought):
            print_line(line)
        print_line(f"written: {brought.option.as_posix()}")
        print_line(f"next: params.yaml: data: {{use: {name}}}")
        print_line(f"      dvc add {brought.tracked.as_posix()}")
        print_line("      dvc repro build_records")


def _list_counts(survey: "Survey") -> Iterator[tuple[str, ...]]:
    from bakeoff.dataset.records.record import SPLITS
    from bakeoff.importing.datasets.detect_format import UNSAID

    sides = [side for side in (*SPLITS, UNSAID) if survey.images[side]]
    yield ("", *sides)
    unit = "clips" if survey.layout.kind == "clips" else "images"
    yield (f"  {unit}", *(f"{survey.images[side]:,}" for side in sides))
    for label in survey.classes[:MOST_CLASSES]:
        yield (f"  {make_printable(label)}", *(f"{survey.objects[label, side]:,}" for side in sides))
    if len(survey.classes) > MOST_CLASSES:
        yield (f"  and {len(survey.classes) - MOST_CLASSES} classes more", *("" for _ in sides))


def _list_remarks(brought: "Brought") -> Iterator[str]:
    from bakeoff.importing.datasets.detect_format import UNSAID
    from bakeoff.importing.datasets.unlabelled import WITHOUT_LABELS

    survey = brought.survey
    if brought.beside:
        more = f" and {len(brought.beside) - MOST_BESIDE:,} more" if len(brought.beside) > MOST_BESIDE else ""
        yield f"  beside it, and not used: {', '.join(brought.beside[:MOST_BESIDE])}{more}"
    split = survey.layout.settings.get("split", {})
    if split.get("by") == "blocks":
        yield "  all is of one film: validation is the end of it (split.by: blocks)"
    elif split.get("by") == "fraction":
        yield "  it names training alone: a share of every class is drawn for validation (split.by: fraction)"
    elif survey.images[UNSAID]:
        yield "  it names no split: a share of every class is drawn for validation (split, docs/records.md)"
    if "group" in split:
        yield f"  what {split['group']!r} finds alike in names stays on one side (split.group)"
    if survey.rejected:
        share = survey.rejected / (survey.rejected + survey.total)
        yield f"  {survey.rejected:,} ({share:.1%}) cannot be used, and build_records will reject them:"
        yield from (f"    {problem}" for problem in survey.problems)
        if survey.rejected > len(survey.problems):
            yield f"    and {survey.rejected - len(survey.problems):,} more"
    if survey.layout.name == WITHOUT_LABELS:
        yield f"  {survey.ignored:,} photos without labels; `bakeoff web` labels them"
    elif survey.ignored:
        yield f"  {survey.ignored:,} other files are left alone"
    if brought.left_out:
        yield f"  {brought.left_out:,} hidden files and files of macOS or Windows were not copied"
    if (brought.folder / PROPOSALS).is_file():
        yield f"  {PROPOSALS} is in it: a model proposed labels; correct them before you train"
    for other in brought.others:
        layout = other.layout
        yield f"  {layout.name} fits, too, with {other.total:,} examples: for that add --as {layout.kind} and --name"
