"""Data that a configuration of a sweep has in the place of the workspace's: their records, built once for all jobs.

They are built before the first job, as a job would do it: by DVC, in a clone that shares the main workspace's cache.
There every job finds them. Planning reads them in `.bakeoff/choices/<digest>/`, where they stay for later sweeps.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.data_source import parse_source
from bakeoff.experiments.planning.stage_status import DvcState
from bakeoff.experiments.sweep.git_snapshot import Snapshot, take_snapshot
from bakeoff.experiments.sweep.job import make_environment, make_experiment
from bakeoff.experiments.sweep.job_workspace import JobWorkspace
from bakeoff.experiments.sweep.params_diff import list_options
from bakeoff.experiments.sweep.sweep_manifest import SweepJob
from bakeoff.foundation import dvc, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import building
from bakeoff.foundation.git import git
from bakeoff.foundation.progress import print_line
from bakeoff.learning.run_file.parse import flat

RECORDS_STAGE = "build_records"
LAST_LINES = 3  # of a build that failed


class DataChoices:
    """The records of other data than the workspace's, for the configurations of one sweep."""

    def __init__(self, now: Mapping[str, Any], known: DvcState, *, may_build: bool) -> None:
        """`now` is params.yaml. Without `may_build` there are only records that an earlier sweep built."""
        self._now, self._may_build = now, may_build
        self._deps = [str(dep) for dep in known.stages[RECORDS_STAGE].get("deps", [])]
        self._code = known.code.get(RECORDS_STAGE)  # None: it is among the deps
        self._found: dict[str, Path] = {}

    def find(self, overrides: Sequence[str], data: Any) -> Path:
        """Return the folder with the records of `data`, which is the group as the overrides make it.

        Raises ConfigError for data that are none, and WorkspaceError where there are no records.
        """
        key = json.dumps(data, sort_keys=True)
        if key not in self._found:
            composed = compose(workspace.PARAMS, workspace.CONF, groups=["data"], overrides=overrides)
            parse_source(composed.tree.get("data"), composed.problems)
            composed.problems.raise_any()
            self._found[key] = self._find(data)
        return self._found[key]

    def _find(self, data: Any) -> Path:
        snapshot = take_snapshot("records")
        digest = _digest([data, self._code] if self._code else [data], snapshot, self._deps)
        folder = workspace.choices() / digest
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not folder.is_dir():
                if not self._may_build:
                    rule = "must have records to be planned with, and a dry run builds none"
                    raise WorkspaceError(f"data: {_name(data)} {rule}; the sweep itself builds them first")
                print_line(f"sweep: builds the records of data {_name(data)}, once for all jobs")
                _build(digest, list_options(self._now, {**self._now, "data": data}), snapshot, folder)
        return folder


def _build(digest: str, options: Sequence[str], snapshot: Snapshot, folder: Path) -> None:
    name, cache = f"records-{digest}", dvc.cache()
    place = JobWorkspace(name)
    clone = place.prepare(snapshot, cache)
    job = SweepJob(0, name, name, ((),), tuple(options), (RECORDS_STAGE,), 0, 0, "", "")
    done = subprocess.run(
        make_experiment(job, clone), env=make_environment(os.environ, cache, ()), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode:
        last = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        place.remove()
        raise WorkspaceError("\n".join(["data: the records cannot be built:", *last[-LAST_LINES:]]))
    place.settle(cache)
    with building(folder) as partial:
        shutil.copytree(clone / workspace.RECORDS, partial, copy_function=_link, dirs_exist_ok=True)
    place.remove()


def _link(source: str, target: str) -> None:
    """Let a file of DVC's cache stand here too, without taking its place on the disk twice."""
    real = os.path.realpath(source)
    try:
        os.link(real, target)
    except OSError:
        shutil.copyfile(real, target)


def _digest(decides: Sequence[Any], snapshot: Snapshot, deps: Sequence[str]) -> str:
    """Return what is equal where a build in a clone of the snapshot gives the same records."""
    prefix = git("rev-parse", "--show-prefix")
    trees = git("ls-tree", snapshot.commit, "--", *(f"{prefix}{dep}" for dep in deps)).splitlines()
    return hashlib.sha256(json.dumps([*decides, trees], sort_keys=True).encode()).hexdigest()[:16]


def _name(data: Any) -> str:
    """Return `digits (train_examples: 20)`."""
    if not isinstance(data, Mapping):
        return str(data)
    changes = ", ".join(f"{key}: {value}" for key, value in flat(data).items() if key != "use")
    return f"{data.get('use')} ({changes})" if changes else str(data.get("use"))
