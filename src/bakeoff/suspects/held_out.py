"""What models said of examples that they did not train on: the validation and the test of a run, or every fold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import workspace
from bakeoff.compare.contender import Contender
from bakeoff.compare.examples import Judged, find_examples
from bakeoff.compare.gather import gather
from bakeoff.compare.selection import select_named
from bakeoff.config.variant import choose_source
from bakeoff.errors import DataError, WorkspaceError
from bakeoff.records.record import TEST
from bakeoff.sources.dataset import Dataset, Split
from bakeoff.suspects.suspect import Row
from bakeoff.sweep.manifest import JobState, Manifest, load_manifest
from bakeoff.tracking.result import result_here

if TYPE_CHECKING:
    from bakeoff.compare.gather import Gathered

FOLD = "data.split.fold"
MOST_FOLDS = 100


@dataclass(frozen=True)
class HeldOut:
    kind: str
    classes: tuple[str, ...]
    rows: tuple[Row, ...]
    words: str  # whose validation it is
    model: str  # what proposes


def words_of_folds(folds: int) -> tuple[str, ...]:
    """Return the words of a sweep that trains the workspace's variant on each of the folds. Raises DataError."""
    if not 2 <= folds <= MOST_FOLDS:
        raise WorkspaceError(f"--folds: must be between 2 and {MOST_FOLDS}, got {folds}")
    source = choose_source(workspace.PARAMS, workspace.CONF).source
    if not isinstance(source, Dataset):
        what = "several folders or options" if isinstance(source, list) else "data that are drawn"
        raise DataError(f"--folds: needs one folder of files to split, got {what} (data of params.yaml)")
    rule = source.split
    if rule.by == "blocks":
        remedy = "set data.split.by: fraction, and data.split.group, which keeps what belongs together"
        raise DataError(f"--folds: data.split.by: blocks has none; {remedy}")
    parts = ",".join(f"{number}/{folds}" for number in range(1, folds + 1))
    return (f"+{FOLD}={parts}", *_undo(rule))


def _undo(rule: Split) -> list[str]:
    """Take from the split what would keep examples out of every fold."""
    by = [] if rule.by in ("auto", "fraction") else ["++data.split.by=fraction"]
    lists = [f"++data.split.{key}=null" for key in ("train_list", "validation_list", "test_list") if getattr(rule, key)]
    return [*by, *lists, *(["++data.split.test=0"] if rule.test else [])]


def read_held_out(name: str | None) -> HeldOut:
    """Read what the user names: a run, or a sweep of folds; without a name the run of this workspace."""
    if name and (workspace.sweeps() / name).is_dir():
        return read_folds(load_manifest(workspace.sweeps() / name))
    if name is None and not result_here().run_id:
        raise WorkspaceError("nothing has been trained here; run `dvc repro`, name a run, or train --folds 5")
    gathered = gather()
    found = select_named(gathered, [name or "."])
    if len(found) != 1:
        raise WorkspaceError(f"{name}: must name one run, got {len(found)}; a sweep of folds goes by its id")
    files, splits = [_find(found[0], gathered)], ["validation"]
    if TEST in found[0].judged_on:
        files.append(find_examples(found[0], gathered.target.address, TEST))
        splits.append(TEST)
    return _join([Judged.read(file) for file in files], f"{' and '.join(splits)} of {found[0].label}", found[0].label)


def read_folds(manifest: Manifest) -> HeldOut:
    """Read every fold of a sweep. Raises WorkspaceError if one is not done, or if they are no folds."""
    if any(FOLD not in job.varied for job in manifest.jobs):
        raise WorkspaceError(f"{manifest.id}: must be a sweep of folds, as `bakeoff suspects --folds 5` trains it")
    left = [job.varied[FOLD] for job in manifest.jobs if job.state != JobState.DONE]
    if left:
        raise WorkspaceError(
            f"{manifest.id}: fold {left[0]} is not done; `bakeoff sweep --resume {manifest.id}` goes on"
        )
    gathered = gather()
    found = select_named(gathered, [job.experiment for job in manifest.jobs])
    judged = [Judged.read(_find(one, gathered)) for one in found]
    if len(judged) != len(manifest.jobs):
        raise WorkspaceError(f"{manifest.id}: {len(manifest.jobs)} folds have {len(judged)} runs; train them anew")
    return _join(judged, f"{len(judged)} folds, {manifest.id}", manifest.id)


def join_files(files: Sequence[Path], words: str) -> HeldOut:
    """Read folds from their files."""
    return _join([Judged.read(file) for file in files], words, words)


def _find(contender: Contender, gathered: "Gathered") -> Path:
    """The run whose result DVC's cache gave to this one has the files."""
    made = [run for run in gathered.project_runs() if run.run_id == contender.reused_from]
    return find_examples(gathered.fill(made)[0] if made else contender, gathered.target.address)


def _join(judged: Sequence[Judged], words: str, model: str) -> HeldOut:
    kinds = {one.kind for one in judged}
    if len(kinds) != 1:
        raise DataError(f"{words}: must be of one task, got answers of {' and of '.join(sorted(kinds))}")
    rows = [row for one in judged for row in one.rows.values()]
    again = [file for file, count in Counter(row["file"] for row in rows).items() if count > 1]
    if again:
        raise DataError(f"{words}: {again[0]} was judged {Counter(row['file'] for row in rows)[again[0]]} times")
    classes = dict.fromkeys(label for one in judged for label in one.classes)
    return HeldOut(kinds.pop(), tuple(classes), tuple(rows), words, model)
