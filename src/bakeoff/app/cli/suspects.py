"""`bakeoff suspects`: examples whose label is probably wrong, by models that did not train on them."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.internal_sweep import add_sweep_options, train_or_resume
from bakeoff.app.cli.terminal import RUN
from bakeoff.app.cli.terminal_table import print_fitted
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.inference.label_errors.rank import LabelErrorReport

FORMATS = ("voc", "coco")
REMARKS, SHOWN = 10, 100
OF_A_SWEEP = (
    "dry_run", "yes", "as_begun", "note", "person", "on", "jobs", "follow", "quiet", "fail_fast", "retries",
)  # fmt: skip


def add_to(commands: Any) -> None:
    command = commands.add_parser("suspects")
    add = command.add_argument
    add(
        "which",
        nargs="*",
        metavar="RUN",
        help=f"{RUN}; several if they are folds; default: what this workspace trained. With --folds: changes of the "
        "variant, such as train.steps=500",
    )
    add(
        "--folds",
        type=int,
        metavar="N",
        help="first train N models as a sweep; each judges the part that it did not train on",
    )
    add("--sweep", nargs="?", const="", metavar="ID", help="judge by the folds of the last sweep, or of sweep ID")
    add("--count", type=int, default=SHOWN, metavar="N", help=f"number of suspects on the page ({SHOWN})")
    command.add_path("--html", metavar="FILE", type=Path, help="write a page with the pictures, which needs no network")
    command.add_path("--csv", metavar="FILE", type=Path, help="write a row for each suspect")
    add("--as", dest="format", choices=FORMATS, help="write corrected boxes to --out; your own labels stay as they are")
    command.add_path("--out", metavar="FOLDER", type=Path, help="folder for --as")
    add("--right", nargs="+", metavar="NAME", help="remember that the labels of these examples are right as they are")
    add_sweep_options(command)
    command.set_defaults(run=show_suspects)


def show_suspects(arguments: argparse.Namespace) -> None:
    _require_sense(arguments)
    if arguments.right:
        from bakeoff.inference.label_errors.confirmed import FILE, mark_right
        from bakeoff.inference.label_errors.labelled import Labelled

        count = mark_right(arguments.right, Labelled())
        print_line(f"{FILE.as_posix()}: {count:,} labels are right as they are; commit it")
        return
    if arguments.folds is not None or arguments.resume is not None:
        train_or_resume(arguments, arguments.which, lambda: _make_overrides(arguments))
        if arguments.dry_run:
            return
    from bakeoff.inference.label_errors.labelled import Labelled
    from bakeoff.inference.label_errors.out_of_fold import read_held_out
    from bakeoff.inference.label_errors.rank import list_suspects

    listing = list_suspects(read_held_out(_find_runs(arguments)), Labelled())
    _print_suspects(listing)
    _write(arguments, listing)


def _require_sense(arguments: argparse.Namespace) -> None:
    whose = [name for name in ("folds", "sweep", "resume", "right") if getattr(arguments, name) is not None]
    if len(whose) > 1:
        raise WorkspaceError(f"--{whose[1]}: must stand without --{whose[0]}")
    if arguments.which and whose and whose != ["folds"]:
        raise WorkspaceError(f"--{whose[0]}: must stand without runs, got {' '.join(arguments.which)}")
    alone = [name for name in OF_A_SWEEP if getattr(arguments, name)]
    if alone and arguments.folds is None and arguments.resume is None:
        raise WorkspaceError(f"--{alone[0].replace('_', '-')}: must stand with --folds or --resume")
    if arguments.count < 1:
        raise WorkspaceError(f"--count: must be 1 or more, got {arguments.count}")
    if (arguments.format is None) != (arguments.out is None):
        raise WorkspaceError("--as and --out: must be given together, a format and the folder for it")


def _make_overrides(arguments: argparse.Namespace) -> list[str]:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.experiments.sweep.folds import make_overrides

    words = make_overrides(arguments.folds)
    variant = read_variant(overrides=arguments.which)
    if variant.draft.data is not None and "split" not in variant.draft.data:
        use = variant.composed.tree["data"].get("kind")
        raise WorkspaceError(f"--folds: must be for data with data.split, the variant has {use}")
    return words


def _find_runs(arguments: argparse.Namespace) -> list[str]:
    """Return the runs that the user names, or those of a sweep over folds."""
    if arguments.folds is None and arguments.resume is None and arguments.sweep is None:
        return list(arguments.which)
    from bakeoff.experiments.sweep.folds import FOLD
    from bakeoff.experiments.sweep.sweep_manifest import find_manifest

    manifest = find_manifest(arguments.sweep or arguments.resume or None)
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


def _write(arguments: argparse.Namespace, listing: "LabelErrorReport") -> None:
    from bakeoff.inference.label_errors.suspects_page import write_page
    from bakeoff.inference.label_errors.tables import write_proposals, write_table

    if arguments.html:
        write_page(arguments.html, listing, arguments.count)
        print_line(f"  page: {arguments.html}")
    if arguments.csv:
        write_table(arguments.csv, listing)
        print_line(f"  table: {arguments.csv}")
    if arguments.format:
        count = write_proposals(arguments.out, arguments.format, listing)
        print_line(f"  {count:,} pictures with the proposed boxes: {arguments.out}; correct them before you train")
