"""A run by any of its names -> the statement of it, from the commit that holds it and from DVC's cache.

What is stated is what was computed with: dvc.lock must name the code, the configuration and the outputs of its own
commit. A commit that was made after an edit, without `dvc repro`, is refused.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bakeoff.experiments.certificate.run_statement import PARTS, RunStatement, StatedFile
from bakeoff.experiments.model_card.run_facts import RunFacts
from bakeoff.experiments.planning.stage_status import value_at
from bakeoff.experiments.reproduce.rerun import REPRODUCED, REPRODUCED_AT
from bakeoff.experiments.runs.cleanup import WORKSPACE, named_by
from bakeoff.foundation import git
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.files import hash_file, read_text
from bakeoff.foundation.workspace import CODE
from bakeoff.tracking.find_run import TrackedRun, target_here
from bakeoff.tracking.resolve_name import find_tracked
from bakeoff.tracking.results.cached_outputs import FOLDER, LOCK, find_cached
from bakeoff.tracking.results.results import name_of, parse_yaml, result_here
from bakeoff.tracking.sync.system_metrics import CODE_TAG, INSTALLED_TAG, VERSION_TAG

HERE = "."
TRACKED = {  # part -> the files of git that belong to it
    "code": re.compile(r"(src|parts)/.*|dvc\.yaml|environment\.py|pyproject\.toml|setup\.py"),
    "lock": re.compile(r"dvc\.lock|requirements[^/]*"),
    "config": re.compile(r"params\.yaml|(conf|models/config)/(?!(team|gate|card)\.yaml).*"),  # see .dvcignore
    "data": re.compile(r"data/.*"),
    "metrics": re.compile(r"models/evaluation/.*"),
}
OUTPUTS = {  # stage -> the part that its outputs belong to
    "build_records": "data", "render_config": "config", "train": "weights", "evaluate": "metrics", "export": "export",
}  # fmt: skip
ENVIRONMENT = {
    "versions": "bakeoff.versions", "processor": "bakeoff.processor", "device": "bakeoff.device",
    "threads": "bakeoff.threads", "bakeoff": VERSION_TAG, "installed_from": INSTALLED_TAG, "code_sha256": CODE_TAG,
}  # fmt: skip


def find_commit(name: str) -> str:
    """Return the commit that holds a run's result."""
    if name == HERE:
        return _find_here()
    if commit := git.commit_of(name) or git.commit(name):
        return commit
    try:
        run = find_tracked(name, target_here())
    except WorkspaceError as error:
        if git.is_shallow():
            raise WorkspaceError(
                f"{name}: is not in this clone, which is shallow; `git fetch --unshallow` brings the rest"
            ) from error
        raise
    if run.run_id and run.run_id == result_here().run_id:
        return _find_here()
    for revision in (run.revision, run.experiment, *named_by().get(run.fingerprint, ())):
        if revision and revision != WORKSPACE and (commit := git.commit_of(revision) or git.commit(revision)):
            return commit
    raise WorkspaceError(f"{name}: no branch, tag or DVC experiment here holds its result; commit dvc.lock with it")


def _find_here() -> str:
    """Return the last commit, if the workspace's results are its own."""
    commit, lock = git.commit(), git.file_at("HEAD", LOCK)
    if commit is None or lock is None or lock.strip() != (read_text(Path(LOCK)) or "").strip():
        raise WorkspaceError(f"{LOCK}: the last commit has another; commit it with what `dvc repro` changed")
    return commit


def state_run(commit: str, facts: RunFacts, run: TrackedRun | None) -> RunStatement:
    """Gather what is known of the run that a commit holds. Raises DataError where dvc.lock is of other files."""
    blobs = {name: blob for name, blob in git.list_blobs(commit).items() if _part_of(name)}
    texts = dict(zip(blobs, git.read_blobs(blobs.values()), strict=True))
    lock = parse_yaml(texts.get(LOCK)).get("stages") or {}
    files: dict[str, list[StatedFile]] = {part: [] for part in PARTS}
    for name, text in texts.items():
        files[_part_of(name)].append(StatedFile(name, hashlib.sha256(text).hexdigest(), blob=blobs[name]))
    for stage, entry in lock.items():
        for output in entry.get("outs", []):
            if output["path"] not in texts and stage in OUTPUTS:
                files[OUTPUTS[stage]] += _state_output(commit, stage, Path(output["path"]))
    outputs = {one.name: one.md5 for part in files.values() for one in part if one.md5}
    for stage, path in _find_stale(lock, texts, outputs):
        raise DataError(
            f"{LOCK}: {stage}: was not run with the {path} of commit {commit[:12]}; run `dvc repro` and commit {LOCK}"
        )
    tags = run.tags if run else {}
    installed: dict[str, str] = {}
    for entry in lock.values():
        installed |= _params(entry).get(CODE.as_posix(), {})
    state = facts.result.state
    read = {one["path"]: one["md5"] for entry in lock.values() for one in entry.get("deps", [])}
    raw = {path: digest for path, digest in read.items() if _is_raw(path) and path not in outputs}
    known: dict[str, Mapping[str, Any]] = {
        "run": {
            "name": name_of(facts.result.variant), "fingerprint": state.lineage.fingerprint,
            "id": run.run_id if run else None, "weights_sha256": state.weights_sha256,
        },
        "environment": {name: tags[tag] for name, tag in ENVIRONMENT.items() if tag in tags},
        "reproduction": {"verdict": tags.get(REPRODUCED), "at": tags.get(REPRODUCED_AT)},
        "code": {"commit": commit, "installed": installed},
        "data": {"digest": facts.manifest.digest, "raw": raw},
        "metrics": {"values": facts.result.metrics},
    }  # fmt: skip
    return RunStatement(known, {part: tuple(some) for part, some in files.items()})


def _part_of(name: str) -> str:
    return next((part for part, pattern in TRACKED.items() if pattern.fullmatch(name)), "")


def _state_output(commit: str, stage: str, output: Path) -> Iterator[StatedFile]:
    cached = find_cached(commit, stage, output)
    if not cached.is_whole:
        raise DataError(f"{output.as_posix()}: DVC's cache lacks that of commit {commit[:12]}; `dvc fetch {stage}`")
    is_file = cached.digests.keys() == {output.name}
    for name, path in sorted(cached.compared().items()):
        place = output if is_file else output / name
        yield StatedFile(place.as_posix(), hash_file(path), md5=cached.digests[name])


def _find_stale(
    lock: Mapping[str, Any], texts: Mapping[str, bytes], outputs: Mapping[str, str | None]
) -> Iterator[tuple[str, str]]:
    """Yield each stage with what it read or wrote, where the commit or the cache has another."""
    md5 = {name: _hash(text) for name, text in texts.items()}
    made = {one["path"]: one["md5"] for entry in lock.values() for one in entry.get("outs", [])}
    for stage, entry in lock.items():
        for one in [*entry.get("deps", []), *entry.get("outs", [])]:
            path = one["path"]
            there = md5.get(path) or outputs.get(path) or made.get(path)
            there = there or (None if _is_raw(path) else _hash_folder(path, md5))
            if there and there != one["md5"]:
                yield stage, path
        for file, read in _params(entry).items():
            tree = parse_yaml(texts.get(file))
            yield from ((stage, f"{key} of {file}") for key in read if tree and value_at(tree, key) != read[key])


def _hash_folder(path: str, md5: Mapping[str, str]) -> str | None:
    """Return the digest that DVC gives a folder of these files; None if git has no such folder."""
    inside = {name.removeprefix(f"{path}/"): digest for name, digest in md5.items() if name.startswith(f"{path}/")}
    listing = [{"md5": digest, "relpath": name} for name, digest in sorted(inside.items())]
    return _hash(json.dumps(listing).encode()) + FOLDER if listing else None


def _hash(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _is_raw(path: str) -> bool:
    """Tell whether a folder holds files of the user, of which git has only some."""
    return path.startswith("data/")


def _params(entry: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return entry.get("params") or {}
