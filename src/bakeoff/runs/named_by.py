"""Which results came from which run in flight: of the workspace, of branches, of DVC experiments.

`models/train/state.json` holds the fingerprint. DVC has that file in its cache, under the digest in dvc.lock.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from bakeoff import workspace
from bakeoff.tracking import git

LOCK = "dvc.lock"
CACHE = Path(".dvc/cache/files/md5")
STATE = "state.json"
WORKSPACE = "workspace"


def named_by() -> dict[str, list[str]]:
    """Fingerprint -> the workspace, branches, tags and experiments whose weights it trained, as far as DVC has them."""
    found: dict[str, list[str]] = {}
    seen: dict[str, str | None] = {}  # by digest of an output, for many commits have the same
    own = _fingerprint_in(workspace.TRAINED / STATE)
    if own is not None:
        found[own] = [WORKSPACE]
    for name, lock in git.file_at_refs(LOCK).items():
        for digest in _outputs(lock):
            if digest not in seen:
                seen[digest] = _fingerprint_of(digest)
            fingerprint = seen[digest]
            if fingerprint is not None:
                found.setdefault(fingerprint, []).append(name)
    return found


def _outputs(lock: str) -> Iterator[str]:
    """Digests of what train wrote."""
    try:
        stage = yaml.load(lock, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["stages"]["train"]
        yield from [out["md5"] for out in stage["outs"] if out["path"] == workspace.TRAINED.as_posix()]
    except (yaml.YAMLError, KeyError, TypeError):
        return


def _fingerprint_of(digest: str) -> str | None:
    entries: Any = _json(_cached(digest))
    try:
        [file] = [entry["md5"] for entry in entries or [] if entry["relpath"] == STATE]
    except (ValueError, KeyError, TypeError):
        return None
    return _fingerprint_in(_cached(file))


def _fingerprint_in(state: Path) -> str | None:
    try:
        return str(_json(state)["lineage"]["fingerprint"])
    except (KeyError, TypeError):
        return None


def _cached(digest: str) -> Path:
    return workspace.main_workspace() / CACHE / digest[:2] / digest[2:]


def _json(file: Path) -> Any:
    """None of a file that is not there, or holds something else."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
