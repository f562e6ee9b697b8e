"""`bakeoff sweep list`, `show`, `best`, `prune`: sweeps that have begun."""

import argparse
import time
from collections.abc import Callable, Sequence

from bakeoff import workspace
from bakeoff.cli.amounts import duration, size
from bakeoff.cli.clean import says_yes
from bakeoff.cli.columns import say_columns
from bakeoff.cli.sweep_search import in_words
from bakeoff.errors import WorkspaceError, choices
from bakeoff.progress import say
from bakeoff.sweep.manifest import Manifest, SweepJob, all_ids, find_manifest, load_manifest


def run_word(word: str, words: Sequence[str], arguments: argparse.Namespace) -> None:
    """`words` are what follows it."""
    if word not in ALL_WORDS:
        raise WorkspaceError(f"{word}: must be a change such as lr=cosine,exponential, or {choices(word, ALL_WORDS)}")
    if len(words) > 1:
        raise WorkspaceError(f"sweep {word}: must be given one id at most, got {' '.join(words)}")
    if word == "list":
        _list()
    else:
        WORDS[word](find_manifest(words[0] if words else None), arguments)


def _list() -> None:
    rows = [("sweep", "began", "jobs", "question")]
    for name in all_ids():
        manifest = load_manifest(workspace.sweeps() / name)
        began = f"{duration(max(0, time.time() - manifest.began))} ago"
        rows.append((name, began, manifest.counts, " ".join(manifest.words)))
    if len(rows) == 1:
        say("no sweep has begun here yet")
    else:
        say_columns(rows)


def _show(manifest: Manifest, arguments: argparse.Namespace) -> None:
    say(f"{manifest.id}: {' '.join(manifest.words)}")
    if manifest.search is not None:
        say(f"{in_words(manifest.search)}; {len(manifest.jobs)} drawn")
    say_columns([("", "point", "experiment", "metric", "state", "attempts", ""), *map(_row, manifest.jobs)])


def _row(job: SweepJob) -> tuple[str, ...]:
    return (str(job.number), job.name, job.experiment, job.metric, job.state.value, str(len(job.attempts)), job.why)


def _best(manifest: Manifest, arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.standing import apply_point, require_best

    job = require_best(manifest)
    left = sum(not other.state.is_final for other in manifest.jobs)
    among = f", of those that are done; {left} are not" if left else ""
    say(f"{job.name}: {job.headline} {job.value:.3f}  ({job.experiment}){among}")
    if arguments.apply:
        apply_point(manifest, job)
        say("it is in the workspace now: params.yaml, run.yaml, weights; `dvc repro` has nothing to do")
    else:
        say("--apply takes it into the workspace")


def _prune(manifest: Manifest, arguments: argparse.Namespace) -> None:
    from bakeoff.sweep.standing import find_prunable

    if arguments.keep < 0:
        raise WorkspaceError(f"--keep: must be 0 or more, got {arguments.keep}")
    found = find_prunable(manifest, arguments.keep)
    going = [item for item in found if item.stays is None]
    if found:
        say_columns(
            ("" if item.stays else "goes", item.job.name, item.what, size(item.bytes), item.stays or "")
            for item in found
        )
    wanted = f"{len(going)} of {len(found)}, {size(sum(item.bytes for item in going))}"
    if not going:
        say("nothing to remove; experiments and their weights are DVC's")
    elif arguments.yes or says_yes(f"remove {wanted}? (yes/no) "):
        say(f"freed {size(sum(item.bytes for item in going if item.remove()))}")
    else:
        say(f"nothing was removed; --yes removes {wanted}")


WORDS: dict[str, Callable[[Manifest, argparse.Namespace], None]] = {"show": _show, "best": _best, "prune": _prune}
ALL_WORDS = ("list", *WORDS)
