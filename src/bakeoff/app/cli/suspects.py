"""`bakeoff suspects`: examples whose label is probably wrong, by models that did not train on them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, group, option
from bakeoff.app.cli.internal_sweep import InternalSweep
from bakeoff.app.cli.terminal import RUN
from bakeoff.app.cli.terminal_table import print_fitted
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.inference.label_errors.rank import LabelErrorReport

FORMATS = ("voc", "coco")
REMARKS, SHOWN = 10, 100


@dataclass(frozen=True)
class SuspectsCommand(Command):
    which: tuple[str, ...] = argument(
        f"{RUN}; several if they are folds; default: what this workspace trained. With --folds: changes of the "
        "variant, such as train.steps=500",
        "RUN",
    )
    folds: int | None = option("first train N models as a sweep; each judges the part that it did not train on", "N")
    sweep: str | None = option("judge by the folds of the last sweep, or of sweep ID", "ID", nargs="?", const="")
    count: int = option(f"number of suspects on the page ({SHOWN})", "N", default=SHOWN, least=1)
    html: Path | None = option("write a page with the pictures, which needs no network", "FILE")
    csv: Path | None = option("write a row for each suspect", "FILE")
    format: str | None = option(
        "write corrected boxes to --out; your own labels stay as they are", flags="--as", choices=FORMATS
    )
    out: Path | None = option("folder for --as", "FOLDER")
    right: tuple[str, ...] = option(
        "remember that the labels of these examples are right as they are", "NAME", nargs="+"
    )
    own: InternalSweep = group(InternalSweep)

    def run(self) -> None:
        _require_sense(self)
        if self.right:
            from bakeoff.inference.label_errors.confirmed import FILE, mark_right
            from bakeoff.inference.label_errors.labelled import Labelled

            count = mark_right(list(self.right), Labelled())
            print_line(f"{FILE.as_posix()}: {count:,} labels are right as they are; commit it")
            return
        if self.folds is not None or self.own.resume is not None:
            self.own.train_or_resume(self.which, lambda: _make_overrides(self))
            if self.own.dry_run:
                return
        from bakeoff.inference.label_errors.labelled import Labelled
        from bakeoff.inference.label_errors.out_of_fold import read_held_out
        from bakeoff.inference.label_errors.rank import list_suspects

        listing = list_suspects(read_held_out(_find_runs(self)), Labelled())
        _print_suspects(listing)
        _write(self, listing)


def _require_sense(asked: SuspectsCommand) -> None:
    given = {"folds": asked.folds, "sweep": asked.sweep, "resume": asked.own.resume, "right": asked.right or None}
    whose = [name for name, value in given.items() if value is not None]
    if len(whose) > 1:
        raise WorkspaceError(f"--{whose[1]}: must stand without --{whose[0]}")
    if asked.which and whose and whose != ["folds"]:
        raise WorkspaceError(f"--{whose[0]}: must stand without runs, got {' '.join(asked.which)}")
    if asked.folds is None and asked.own.resume is None and (alone := asked.own.list_given()):
        raise WorkspaceError(f"--{alone[0].replace('_', '-')}: must stand with --folds or --resume")
    if (asked.format is None) != (asked.out is None):
        raise WorkspaceError("--as and --out: must be given together, a format and the folder for it")


def _make_overrides(asked: SuspectsCommand) -> list[str]:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.experiments.sweep.plan_jobs import make_overrides

    words = make_overrides(asked.folds or 0)
    variant = read_variant(overrides=asked.which)
    if variant.draft.data is not None and "split" not in variant.draft.data:
        use = variant.composed.tree["data"].get("kind")
        raise WorkspaceError(f"--folds: must be for data with data.split, the variant has {use}")
    return words


def _find_runs(asked: SuspectsCommand) -> list[str]:
    """Return the runs that the user names, or those of a sweep over folds."""
    if asked.folds is None and asked.own.resume is None and asked.sweep is None:
        return list(asked.which)
    from bakeoff.experiments.sweep.plan_jobs import FOLD
    from bakeoff.experiments.sweep.sweep_manifest import find_manifest

    manifest = find_manifest(asked.sweep or asked.own.resume or None)
    others = [job.name for job in manifest.jobs if FOLD not in job.varied]
    if others:
        raise WorkspaceError(f"{manifest.id}: must be a sweep over {FOLD}, got {others[0]}; `--folds 5` trains one")
    if manifest.unfinished:
        raise WorkspaceError(
            f"{manifest.id}: must be done, {manifest.unfinished} of {manifest.expected} jobs are not; "
            f"`bakeoff suspects --resume {manifest.id}` resumes it"
        )
    return [job.experiment for job in manifest.jobs]


def _print_suspects(listing: "LabelErrorReport") -> None:
    quality = f": {listing.findings.quality}" if listing.findings else ""
    print_line(
        f"suspects: {len(listing.suspects):,} in {len(listing.rows):,} examples, {listing.held_out.source}{quality}"
    )
    for remark in listing.remarks:
        print_line(f"  {remark}")
    if listing.suspects:
        shown = listing.suspects[:REMARKS]
        rows = [(str(rank), one.file, one.kind, one.label, one.proposal) for rank, one in enumerate(shown, start=1)]
        print_fitted([("", "example", "kind", "label", "proposal"), *rows], narrow="example")
        if len(listing.suspects) > REMARKS:
            print_line(f"  and {len(listing.suspects) - REMARKS:,} more; --html FILE shows them, --csv FILE lists them")


def _write(asked: SuspectsCommand, listing: "LabelErrorReport") -> None:
    from bakeoff.inference.label_errors.suspects_page import write_page
    from bakeoff.inference.label_errors.tables import write_proposals, write_table

    if asked.html:
        write_page(asked.html, listing, asked.count)
        print_line(f"  page: {asked.html}")
    if asked.csv:
        write_table(asked.csv, listing)
        print_line(f"  table: {asked.csv}")
    if asked.format and asked.out:
        count = write_proposals(asked.out, asked.format, listing)
        print_line(f"  {count:,} pictures with the proposed boxes: {asked.out}; correct them before you train")
