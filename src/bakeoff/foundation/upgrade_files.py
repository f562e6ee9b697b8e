"""A workspace of an older version -> its files as the installed version writes them, with a team's own lines kept.

Of each file three texts count: what the older version wrote (`.dvc/bakeoff.json` has it), what is there, and what this
version writes. Git merges them. dvc.yaml comes after the other files, and the record last: a kill between any two
leaves a workspace that works, and the same command finishes it.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_text, remove_partial, write_whole
from bakeoff.foundation.formatting import format_count, shorten
from bakeoff.foundation.made_by import DIGEST, MadeBy, kept_of
from bakeoff.foundation.new_workspace import GROWN, grown, is_kept_up, workspace_files
from bakeoff.foundation.workspace import MADE_BY

CONFLICT = re.compile(r"(?ms)^<{7} .*?\n(.*?)^\|{7} .*?\n(.*?)^={7}\n.*?^>{7} .*?\n")
TO_THE_END_OF_A_CONFLICT = 128  # exit codes of `git merge-file` below it are numbers of conflicts
LONGEST = 80  # characters of a line in a message


@dataclass(frozen=True)
class FileChange:
    name: str
    content: str
    how: str


@dataclass
class FilePlan:
    """What an upgrade does to the files."""

    changes: list[FileChange] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # files that stay as they are, and why
    refused: list[str] = field(default_factory=list)  # places at which own lines and new ones meet


def plan_files(folder: Path, made_by: MadeBy | None) -> FilePlan:
    """Return what changes. Nothing is written."""
    plan, files = FilePlan(), workspace_files(example=False)
    for name, new in files.items():
        if is_kept_up(name):
            _plan_file(plan, folder, name, new, made_by)
    now = MadeBy.of({name: content for name, content in files.items() if is_kept_up(name)})
    if made_by != now:
        how = f"made by {now.version}" if made_by is None else f"{made_by.version} → {now.version}"
        plan.changes.append(FileChange(MADE_BY.as_posix(), now.text, how))
    return plan


def write_files(folder: Path, plan: FilePlan) -> None:
    """Write the changes in their order. Raises WorkspaceError with the first place that is refused."""
    if plan.refused:
        raise WorkspaceError(plan.refused[0])
    for change in plan.changes:
        remove_partial(folder / change.name)
        write_whole(folder / change.name, change.content, lasting=True)


def _plan_file(plan: FilePlan, folder: Path, name: str, new: str, made_by: MadeBy | None) -> None:
    path = folder / name
    old, there = made_by.files.get(name) if made_by else None, read_text(path)
    if name in GROWN:
        known = (old or "").splitlines()
        content = grown(path, [line for line in new.splitlines(keepends=True) if line.rstrip("\n") not in known])
        if content is not None:
            plan.changes.append(FileChange(name, content, _describe(there or "", content)))
    elif there == new or kept_of(name, new) == old:
        return
    elif there is None:
        if path.exists():
            plan.refused.append(f"{name}: must be a text file, as this version writes it; move yours away")
        elif old is None:
            plan.changes.append(FileChange(name, new, "new"))
        else:
            plan.remarks.append(f"{name}: you removed it, so the new one is not written")
    elif old is not None and kept_of(name, there) == old:
        plan.changes.append(FileChange(name, new, _describe(there, new)))
    elif old is not None and not old.startswith(DIGEST):
        _merge(plan, name, there, old, new)
    elif made_by is None:
        plan.refused.append(f"{name}:{_first_difference(there, new)}: {_unknown_origin()}")
    else:
        plan.remarks.append(f"{name}: is your own, so it stays; this version has another one")


def _merge(plan: FilePlan, name: str, there: str, old: str, new: str) -> None:
    """Merge own lines with new ones; note the places at which that cannot be done."""
    with TemporaryDirectory(prefix="bakeoff-") as place:
        for role, text in (("own", there), ("old", old), ("new", new)):
            (Path(place) / role).write_text(text, encoding="utf-8", newline="\n")
        words = ["git", "merge-file", "-p", "--diff3", "own", "old", "new"]  # its exit code is no failure
        done = subprocess.run(words, cwd=place, capture_output=True, check=False)
    if not 0 <= done.returncode < TO_THE_END_OF_A_CONFLICT:
        raise WorkspaceError(f"{name}: git merge-file: {done.stderr.decode(errors='replace').strip()}")
    merged = done.stdout.decode("utf-8")
    if done.returncode:
        plan.refused += [f"{name}:{place}" for place in _places(merged, there)]
    elif merged != there:
        plan.changes.append(FileChange(name, merged, f"{_describe(there, merged)}, your own lines stay"))


def _places(merged: str, there: str) -> Iterator[str]:
    """Yield of each conflict the line, what stands there, and what stood there before."""
    lines, before = there.splitlines(), 0
    for conflict in CONFLICT.finditer(merged):
        own, old = conflict[1].splitlines(), conflict[2].splitlines()
        spots = (at for at in range(before, len(lines)) if lines[at : at + len(own)] == own)
        at = next(spots, before) if own else before
        before = at + len(own)
        mine, its = (shorten(" / ".join(map(str.strip, part)), LONGEST) or "nothing" for part in (own, old))
        yield f"{at + 1}: is your own where this version writes anew: {mine}; put back {its}, upgrade, then add yours"


def _describe(old: str, new: str) -> str:
    """Return how many lines differ."""
    gone = come = 0
    for kind, a, b, c, d in SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False).get_opcodes():
        if kind != "equal":
            gone, come = gone + b - a, come + d - c
    parts = [f"{format_count(count, 'line')} {what}" for count, what in ((come, "new"), (gone, "gone")) if count]
    return ", ".join(parts)


def _first_difference(there: str, new: str) -> int:
    pairs = enumerate(zip(there.splitlines(), new.splitlines(), strict=False), 1)
    return next((number for number, (one, other) in pairs if one != other), 1)


def _unknown_origin() -> str:
    return (
        f"is not as this version writes it, and {MADE_BY.as_posix()} is missing or damaged, which tells own lines from "
        f"those of an older version; `git log {MADE_BY.as_posix()}` finds it"
    )
